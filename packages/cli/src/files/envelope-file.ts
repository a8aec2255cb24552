/** Files that are envelopes: what they say, and whether the content beside them is theirs. */
import { statSync } from "node:fs";
import { ENVELOPE_LIMITS, readEnvelope } from "@event-anchoring/bundle";
import type { Envelope, ReadEnvelope } from "@event-anchoring/bundle";
import { bytesToHex } from "@event-anchoring/protocol";
import type { HeldFile, HeldFiles } from "@event-anchoring/verdicts";
import { hashFile, readBytes } from "./read-input.ts";

const ENDING = /\.json$/u;

/** What is known of a file that says that it is an envelope, and of the content beside it, as a recorder keeps it. */
export interface EnvelopeFile {
  readonly read: ReadEnvelope;
  /** Attachments are not looked for: a name in an envelope is no path. */
  readonly held: HeldFiles;
}

/** Null: the file does not say that it is an envelope. */
export async function readEnvelopeFile(path: string): Promise<EnvelopeFile | null> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size > ENVELOPE_LIMITS.bytesMax) return null;
  const read = readEnvelope(readBytes(path, ENVELOPE_LIMITS.bytesMax));
  if (read === null) return null;
  const content = read.envelope === null ? null : await contentOf(path, read.envelope);
  return { read, held: { content, attachments: [] } };
}

async function contentOf(path: string, { content }: Envelope): Promise<HeldFile | null> {
  const beside = path.replace(ENDING, ".content");
  if ("json" in content || beside === path) return null;
  const size = statSync(beside, { throwIfNoEntry: false })?.size;
  if (size === undefined) return null;
  return { name: beside, isIts: size === content.size && bytesToHex(await hashFile(beside)) === content.hash };
}
