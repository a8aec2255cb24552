import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { BUNDLE_FORMAT, BUNDLE_LIMITS, BundleError, parseBundle } from "@event-anchoring/bundle";
import type { Bundle } from "@event-anchoring/bundle";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { readText } from "./read-input.ts";
import { receiptPathOf } from "./receipt-file.ts";

const HEAD_BYTES = 256;
export const BUNDLE_ENDING = ".bundle.json";

/** Whether a file is called or begins as a bundle does, unless it was anchored itself. */
export function looksLikeBundle(path: string): boolean {
  if (existsSync(receiptPathOf(path))) return false;
  if (path.endsWith(BUNDLE_ENDING)) return true;
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      const length = readSync(file, head, 0, HEAD_BYTES, 0);
      const text = head.subarray(0, length).toString("latin1").trimStart();
      return text.startsWith("{") && text.includes(`"${BUNDLE_FORMAT}"`);
    } finally {
      closeSync(file);
    }
  } catch {
    // The reader of the whole bundle reports what is wrong with it.
    return false;
  }
}

/** @throws CliError `invalid` for what is no bundle */
export function readBundle(path: string): Bundle {
  try {
    return parseBundle(readText(path, BUNDLE_LIMITS.bytesMax));
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new CliError(EXIT.invalid, error.code, `${path} is not a bundle: ${error.message} (${error.code})`);
  }
}
