/** Files that are envelopes: what they say, and whether the content beside them is theirs. */
import { statSync } from "node:fs";
import { EnvelopeError, ENVELOPE_FORMAT, ENVELOPE_LIMITS, parseEnvelope } from "@event-anchoring/bundle";
import type { Envelope } from "@event-anchoring/bundle";
import { bytesToHex } from "@event-anchoring/protocol";
import { hashFile, readBytes } from "./read-input.ts";

const ENDING = /\.json$/u;

/** What is known of a file that says that it is an envelope. */
export interface EnvelopeFile {
  /** Null: it says that it is one, and cannot be read as one. */
  readonly envelope: Envelope | null;
  readonly code: string | null;
  /** The content beside it, as a recorder keeps it; null: there is none. */
  readonly content: { readonly path: string; readonly isIts: boolean } | null;
}

/** Null: the file does not say that it is an envelope. */
export async function readEnvelopeFile(path: string): Promise<EnvelopeFile | null> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size > ENVELOPE_LIMITS.bytesMax) return null;
  const bytes = readBytes(path, ENVELOPE_LIMITS.bytesMax);
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(`"${ENVELOPE_FORMAT}"`)) return null;
  try {
    const envelope = parseEnvelope(bytes);
    return { envelope, code: null, content: await contentOf(path, envelope) };
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error;
    // It only mentions the format: a file like any other.
    return error.code === "envelope_format_unknown" ? null : { envelope: null, code: error.code, content: null };
  }
}

async function contentOf(path: string, { content }: Envelope): Promise<EnvelopeFile["content"]> {
  const beside = path.replace(ENDING, ".content");
  if ("json" in content || beside === path) return null;
  const size = statSync(beside, { throwIfNoEntry: false })?.size;
  if (size === undefined) return null;
  return { path: beside, isIts: size === content.size && bytesToHex(await hashFile(beside)) === content.hash };
}
