/** Scope documents in files. Those that withhold nothing are secrets. */
import { existsSync, writeFileSync } from "node:fs";
import {
  SCOPE_LIMITS,
  ScopeError,
  formatScope,
  parseScope,
  parseStatements,
  verifyScope,
} from "@event-anchoring/bundle";
import type { BundleJson, Scope } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { asCliError, readText } from "./read-input.ts";

const OWNER_ONLY = 0o600;

/** Turns what is wrong with a document into what is wrong with a file. */
export function ofFile<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ScopeError)) throw error;
    throw new CliError(EXIT.invalid, error.code, `${path}: ${error.message} (${error.code})`, error);
  }
}

/** A document that fits together. @throws CliError `scope_…` */
export function readScope(path: string): Scope {
  return ofFile(path, () => {
    const scope = parseScope(readText(path, SCOPE_LIMITS.bytesMax));
    verifyScope(scope, nodeCrypto.sha256);
    return scope;
  });
}

/** An object of values by names. @throws CliError `scope_…` */
export function readStatements(path: string): Readonly<Record<string, BundleJson>> {
  return ofFile(path, () => parseStatements(readText(path, SCOPE_LIMITS.bytesMax)));
}

/**
 * Nothing is overwritten: without its salts nobody can disclose a statement of a grant that was made already.
 * @throws CliError `scope_exists`
 */
export function writeSecretScope(path: string, scope: Scope): void {
  if (existsSync(path)) {
    throw new CliError(EXIT.usage, "scope_exists", `${path} exists already, and scopes are never overwritten`);
  }
  try {
    writeFileSync(path, formatScope(scope), { mode: OWNER_ONLY, flag: "wx" });
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}
