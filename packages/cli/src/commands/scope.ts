/** `anchorctl scope`: what a grant allows, as statements that are disclosed one by one. No service is asked. */
import { randomBytes } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { discloseScope, formatScope, makeScope, verifyScope } from "@event-anchoring/bundle";
import type { Scope } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { disclosedText, statementText } from "@event-anchoring/verdicts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import { assertWritable, writeWhole } from "../files/read-input.ts";
import { ofFile, readScope, readStatements, writeSecretScope } from "../files/scope-files.ts";

const { sha256 } = nodeCrypto;
const SALT_BYTES = 32;

function scopeAnswer(path: string, { scopeHash, statements, withheld }: Scope): object {
  return {
    scope: path,
    scope_hash: bytesToHex(scopeHash),
    statements: Object.fromEntries(statements.map(({ name, value }) => [name, value])),
    withheld: withheld.length,
  };
}

function printScope({ scopeHash, statements, withheld }: Scope, printer: Printer): void {
  printer.check("skip", "scope_hash", bytesToHex(scopeHash));
  printer.check("skip", "statements", disclosedText(statements.length, withheld.length));
  for (const statement of statements) printer.check("skip", "", statementText(statement));
}

export interface ScopeMakeOptions {
  /** JSON: values by names. */
  readonly statements: string;
  readonly out: string;
  readonly isJson: boolean;
}

/** A file with new salts, which only its owner reads. */
export function scopeMakeCommand({ statements, out, isJson }: ScopeMakeOptions, printer: Printer): ExitCode {
  const values = readStatements(statements);
  const scope = ofFile(statements, () => makeScope(values, () => Uint8Array.from(randomBytes(SALT_BYTES)), sha256));
  writeSecretScope(out, scope);
  if (isJson) {
    printer.json(scopeAnswer(out, scope));
    return EXIT.ok;
  }
  printScope(scope, printer);
  printer.verdict("pass", `Scope written to ${out}, readable by you alone; keep it as long as the grant matters.`);
  printer.line(`Who holds it can show every statement. To show some: ${nextDisclosure(out, printer)}`);
  return EXIT.ok;
}

function nextDisclosure(path: string, printer: Printer): string {
  return printer.next("scope", "disclose", path, "--only", "<names>", "--out", "<file>");
}

export interface ScopeShowOptions {
  readonly scope: string;
  /** That of a grant, 64 hex digits; null: nothing is compared. */
  readonly scopeHash: string | null;
  readonly isJson: boolean;
}

/** What is in a file, which proves nothing by itself. */
export function scopeShowCommand({ scope: path, scopeHash, isJson }: ScopeShowOptions, printer: Printer): ExitCode {
  const scope = readScope(path);
  if (scopeHash !== null) ofFile(path, () => verifyScope(scope, sha256, hexToBytes(scopeHash, 32)));
  if (isJson) {
    printer.json({ ...scopeAnswer(path, scope), compared: scopeHash !== null });
    return EXIT.ok;
  }
  printScope(scope, printer);
  const said =
    scopeHash === null
      ? "The file fits together, which proves nothing yet: compare its scope_hash with that of a proved grant, " +
        `or: ${printer.next("verify", "<bundle>", "--scope", path)}`
      : "The file makes this scope_hash. Who has granted it, a receipt or a bundle of the grant proves.";
  printer.verdict("skip", said);
  return EXIT.ok;
}

export interface ScopeDiscloseOptions {
  readonly scope: string;
  readonly only: readonly string[];
  readonly out: string;
  readonly isJson: boolean;
}

/** A file that others may read: some statements, and digests of the others. */
export function scopeDiscloseCommand(
  { scope: path, only, out, isJson }: ScopeDiscloseOptions,
  printer: Printer,
): ExitCode {
  const scope = readScope(path);
  const disclosure = ofFile(path, () => discloseScope(scope, only, sha256));
  assertWritable(out);
  if (existsSync(out) && realpathSync(out) === realpathSync(path)) {
    const message = `${out} is the document itself: a disclosure goes into another file`;
    throw new CliError(EXIT.usage, "scope_exists", message);
  }
  writeWhole(out, formatScope(disclosure));
  if (isJson) {
    printer.json(scopeAnswer(out, disclosure));
    return EXIT.ok;
  }
  printScope(disclosure, printer);
  printer.verdict("pass", `Disclosure written to ${out}: it shows these statements, and says how many it withholds.`);
  return EXIT.ok;
}
