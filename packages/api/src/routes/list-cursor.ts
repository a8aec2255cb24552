import { ByteReader, ByteWriter, DecodeError, equalBytes, utf8ToBytes } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import { problemError } from "../request/problem-error.ts";

const VERSION = 1;
const FILTER_BYTES = 8;
const CURSOR_BYTES = 1 + FILTER_BYTES + 8;

/** Names a filter inside a cursor. A few bytes are enough: it guards against mistakes, not against attacks. */
function filterMark(filter: string, sha256: Sha256): Uint8Array {
  return sha256(utf8ToBytes(filter)).subarray(0, FILTER_BYTES);
}

/**
 * Where the next page of a list begins: after a sequence. Opaque to clients; valid for its filter alone, on any node
 * and for ever, since sequences never change.
 * @param filter the parameter and its value, as one text
 */
export function formatListCursor(filter: string, afterSequence: number, sha256: Sha256): string {
  const bytes = new ByteWriter(CURSOR_BYTES)
    .u8(VERSION)
    .bytes(filterMark(filter, sha256), FILTER_BYTES)
    .u64(afterSequence)
    .finish();
  return Buffer.from(bytes).toString("base64url");
}

function refuse(detail: string): never {
  throw problemError("invalid_request", [{ parameter: "cursor", code: "wrong_format", detail }]);
}

/** More than a cluster will ever have, and few enough to count with. */
const SEQUENCES_MAX = 2 ** 47;

function readSequence(reader: ByteReader): number {
  try {
    const sequence = reader.u64();
    return sequence < SEQUENCES_MAX ? sequence : refuse("this is no cursor of a list");
  } catch (error) {
    if (error instanceof DecodeError) return refuse("this is no cursor of a list");
    throw error;
  }
}

const FROM_THE_START = -1;

/**
 * The sequence to begin after.
 * @param text attacker-controlled; null: none was given
 * @throws ProblemError `invalid_request` unless it is a cursor of this very filter
 */
export function parseListCursor(text: string | null, filter: string, sha256: Sha256): number {
  if (text === null) return FROM_THE_START;
  const bytes = new Uint8Array(Buffer.from(text, "base64url"));
  // Decoding ignores invalid characters: only the canonical text of these bytes is a cursor.
  const isCanonical = Buffer.from(bytes).toString("base64url") === text;
  if (!isCanonical || bytes.length !== CURSOR_BYTES) refuse("this is no cursor of a list");
  const reader = new ByteReader(bytes);
  if (reader.u8() !== VERSION) refuse("this is no cursor of a list");
  const mark = reader.bytes(FILTER_BYTES);
  if (!equalBytes(mark, filterMark(filter, sha256))) refuse("the cursor belongs to a list with another filter");
  return readSequence(reader);
}
