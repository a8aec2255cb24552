import { DecodeError, InvalidBytesError, asciiToBytes, bytesToAscii } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { REJECTION_CODES } from "@event-anchoring/ledger";
import type { Rejection, RejectionCode } from "@event-anchoring/ledger";
import { readDetail, readOptional, writeDetail, writeOptional } from "./fields.ts";

/** A code is sent as its name: both ends are processes of one node, but may be of two releases during an upgrade. */
const CODES: ReadonlySet<string> = new Set(REJECTION_CODES);
const POINTER_CHARACTERS_MAX = 256;

export function writeRejection(writer: ByteWriter, rejection: Rejection): void {
  writer.lengthPrefixed16(asciiToBytes(rejection.code));
  writeOptional(writer, rejection.pointer ?? null, (pointer) => writer.lengthPrefixed16(asciiToBytes(pointer)));
  writeDetail(writer, rejection.detail);
}

/** @throws DecodeError */
export function readRejection(reader: ByteReader): Rejection {
  const code = readAscii(reader);
  if (!isRejectionCode(code)) throw new DecodeError("kind_unknown", "not a rejection code");
  const pointer = readOptional(reader, () => readAscii(reader));
  if (pointer !== null && pointer.length > POINTER_CHARACTERS_MAX) throw new DecodeError("value_invalid", "pointer");
  const detail = readDetail(reader);
  const rejection = { code, detail };
  return pointer === null ? rejection : { ...rejection, pointer };
}

function readAscii(reader: ByteReader): string {
  try {
    return bytesToAscii(reader.lengthPrefixed16());
  } catch (error) {
    if (error instanceof InvalidBytesError) throw new DecodeError("value_invalid", error.message);
    throw error;
  }
}

function isRejectionCode(code: string): code is RejectionCode {
  return CODES.has(code);
}
