import { ProofError, parseProof } from "@event-anchoring/protocol";
import type { Receipt } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { readText } from "./read-input.ts";

const RECEIPT_BYTES_MAX = 4 * 1024 * 1024;

export const RECEIPT_ENDING = ".tlog-proof";

/** Where the receipt of a file lies, unless somebody says otherwise. */
export const receiptPathOf = (file: string): string => `${file}${RECEIPT_ENDING}`;

/** @throws CliError `invalid` for what is no receipt */
export function readReceipt(path: string): Receipt {
  try {
    return parseProof(readText(path, RECEIPT_BYTES_MAX));
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw new CliError(EXIT.invalid, error.code, `${path} is not a receipt: ${error.message} (${error.code})`);
  }
}
