import { EnvelopeError } from "./envelope-error.ts";
import type { EnvelopeErrorCode } from "./envelope-error.ts";
import { ENVELOPE_FORMAT, ENVELOPE_LIMITS } from "./envelope.ts";
import type { Envelope } from "./envelope.ts";
import { parseEnvelope } from "./parse-envelope.ts";

/** A file that says that it is an envelope: what it says, or why it cannot be read as one. */
export type ReadEnvelope =
  | { readonly envelope: Envelope; readonly code: null }
  | { readonly envelope: null; readonly code: EnvelopeErrorCode };

const MARK = `"${ENVELOPE_FORMAT}"`;

/** Whether the bytes hold the name of the format in quotes, which is ASCII. */
function namesFormat(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(MARK.charCodeAt(0)); at >= 0; at = bytes.indexOf(MARK.charCodeAt(0), at + 1)) {
    if (String.fromCharCode(...bytes.subarray(at, at + MARK.length)) === MARK) return true;
  }
  return false;
}

/** @returns null if the bytes do not say that they are an envelope: a file like any other */
export function readEnvelope(bytes: Uint8Array): ReadEnvelope | null {
  if (bytes.length > ENVELOPE_LIMITS.bytesMax || !namesFormat(bytes)) return null;
  try {
    return { envelope: parseEnvelope(bytes), code: null };
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error;
    // It only mentions the format.
    return error.code === "envelope_format_unknown" ? null : { envelope: null, code: error.code };
  }
}
