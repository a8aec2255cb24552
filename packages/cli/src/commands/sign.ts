import { existsSync, readFileSync, statSync } from "node:fs";
import { equalBytes, hexToBytes } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { nextSignature, parseDraft, withSignature } from "../drafts/draft.ts";
import type { NextSignature } from "../drafts/draft.ts";
import { readSigner } from "../files/key-files.ts";
import type { Printer } from "../terminal/printer.ts";
import { asCliError, readText } from "../files/read-input.ts";
import { showDraft, writeDraft } from "./prepare.ts";

export interface SignOptions {
  readonly path: string;
  /** File of the private key; null: a signature made elsewhere is given. */
  readonly key: string | null;
  /** 128 hex digits, or a file with them or with the 64 bytes. */
  readonly signature: string | null;
  readonly isJson: boolean;
}

export const DRAFT_BYTES_MAX = 256 * 1024;
const SIGNATURE_BYTES = 64;
const HEX_64 = /^[0-9a-fA-F]{128}$/u;

/**
 * `anchorctl sign`: adds the next signature. The bytes are computed anew from what the request says, whatever stands in
 * the files beside it, and the signature is verified before it is kept.
 */
export function signCommand({ path, key, signature, isJson }: SignOptions, printer: Printer): ExitCode {
  const draft = parseDraft(readText(path, DRAFT_BYTES_MAX), path);
  const next = nextSignature(draft);
  if (next === null) throw new CliError(EXIT.usage, "already_signed", `everybody who signs ${path} has signed`);
  if ((key === null) === (signature === null)) {
    throw new CliError(EXIT.usage, "signature_missing", "give one of --key and --signature");
  }
  const bytes = key === null ? readSignature(signature ?? "") : signWith(key, next);
  const signed = withSignature(draft, bytes);
  writeDraft(signed, path);
  if (!isJson) printer.check("pass", next.party, "has signed");
  showDraft(signed, path, isJson, printer);
  return EXIT.ok;
}

function signWith(key: string, { party, publicKey, payload }: NextSignature): Uint8Array {
  const signer = readSigner(key);
  if (equalBytes(signer.publicKey, publicKey)) return signer.sign(payload);
  throw new CliError(EXIT.usage, "key_differs", `${key} is not the key of the ${party}, who signs next`);
}

function readSignature(given: string): Uint8Array {
  if (HEX_64.test(given)) return hexToBytes(given.toLowerCase(), SIGNATURE_BYTES);
  const content = existsSync(given) ? readSmall(given) : null;
  if (content?.length === SIGNATURE_BYTES) return Uint8Array.from(content);
  const text = content?.toString("latin1").trim() ?? "";
  if (HEX_64.test(text)) return hexToBytes(text.toLowerCase(), SIGNATURE_BYTES);
  const message = "--signature takes 128 hex digits, or a file with them or with the 64 bytes";
  throw new CliError(EXIT.usage, "signature_malformed", message);
}

function readSmall(path: string): Buffer {
  try {
    return statSync(path).size > DRAFT_BYTES_MAX ? Buffer.alloc(0) : readFileSync(path);
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}
