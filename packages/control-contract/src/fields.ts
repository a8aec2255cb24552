import {
  DecodeError,
  InvalidBytesError,
  asciiToBytes,
  bytesToAscii,
  bytesToUtf8,
  isNodeId,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";

/** Longest `detail` that is sent. A longer one is cut: it is for people, and must not make a frame unsendable. */
const DETAIL_CHARACTERS_MAX = 1000;

export function writeNodeId(writer: ByteWriter, nodeId: string): void {
  if (!isNodeId(nodeId)) throw new RangeError(`not a node id: ${nodeId}`);
  writer.lengthPrefixed16(asciiToBytes(nodeId));
}

/** @throws DecodeError `value_invalid` */
export function readNodeId(reader: ByteReader): string {
  const nodeId = readText(reader.lengthPrefixed16(), bytesToAscii);
  if (!isNodeId(nodeId)) throw new DecodeError("value_invalid", "not a node id");
  return nodeId;
}

export function writeText(writer: ByteWriter, text: string): void {
  writer.lengthPrefixed32(utf8ToBytes(text));
}

/** UTF-8 after a u32 length. @throws DecodeError `value_invalid` for bytes that are not UTF-8 */
export function readLongText(reader: ByteReader): string {
  return readText(reader.lengthPrefixed32(), bytesToUtf8);
}

/** A `detail` for people. Lone surrogates are replaced, and a long text is cut. */
export function writeDetail(writer: ByteWriter, detail: string): void {
  const wellFormed = detail.slice(0, DETAIL_CHARACTERS_MAX).replace(/\p{Surrogate}/gu, "\ufffd");
  writer.lengthPrefixed16(utf8ToBytes(wellFormed));
}

export function readDetail(reader: ByteReader): string {
  const detail = readText(reader.lengthPrefixed16(), bytesToUtf8);
  if (detail.length > DETAIL_CHARACTERS_MAX) throw new DecodeError("value_invalid", "detail is too long");
  return detail;
}

export function writeBoolean(writer: ByteWriter, value: boolean): void {
  writer.u8(value ? 1 : 0);
}

/** One byte, 0 or 1: anything else is refused, so that every message has exactly one encoding. */
export function readBoolean(reader: ByteReader): boolean {
  const byte = reader.u8();
  if (byte > 1) throw new DecodeError("value_invalid", `not a boolean: ${byte}`);
  return byte === 1;
}

/** 0, or 1 and the value. */
export function writeOptional<T>(writer: ByteWriter, value: T | null, write: (value: T) => void): void {
  writeBoolean(writer, value !== null);
  if (value !== null) write(value);
}

export function readOptional<T>(reader: ByteReader, read: () => T): T | null {
  return readBoolean(reader) ? read() : null;
}

/** u16 count, then the items. */
export function writeList<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  writer.u16(items.length);
  for (const item of items) write(item);
}

/**
 * Nothing is reserved for the count a peer claims: the list grows as items are really read.
 * @throws DecodeError `value_invalid` above `countMax`
 */
export function readList<T>(reader: ByteReader, countMax: number, read: () => T): T[] {
  const count = reader.u16();
  if (count > countMax) throw new DecodeError("value_invalid", `list of ${count}, at most ${countMax}`);
  const items: T[] = [];
  for (let index = 0; index < count; index++) items.push(read());
  return items;
}

function readText(bytes: Uint8Array, decode: (bytes: Uint8Array) => string): string {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof InvalidBytesError) throw new DecodeError("value_invalid", error.message);
    throw error;
  }
}
