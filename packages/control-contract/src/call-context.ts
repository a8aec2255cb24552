/**
 * What a write carries besides its command: the request's id, and its place in a trace. Never written to the Raft log.
 */
import { DecodeError, asciiToBytes, bytesToAscii, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { readOptional, writeOptional } from "./fields.ts";

/** A span that is recorded, by the ids of W3C Trace Context. Only sampled contexts travel between processes. */
export interface TraceContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
}

/** The context of one API request. It is never part of a command, of a log entry, or of anything that is hashed. */
export interface CallContext {
  /** What the client finds in `X-Request-Id`: 1 to 64 of A-Z a-z 0-9 . _ - */
  readonly requestId: string;
  /** null: not traced. */
  readonly trace: TraceContext | null;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const REQUEST_ID_BYTES_MAX = 64;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** @throws RangeError for ids that are not of that form */
export function writeTraceContext(writer: ByteWriter, { traceId, spanId }: TraceContext): void {
  writer.bytes(idBytes(traceId, TRACE_ID_BYTES), TRACE_ID_BYTES);
  writer.bytes(idBytes(spanId, SPAN_ID_BYTES), SPAN_ID_BYTES);
}

/** @throws DecodeError `value_invalid` for an id of zeros, which means none */
export function readTraceContext(reader: ByteReader): TraceContext {
  return { traceId: readId(reader, TRACE_ID_BYTES), spanId: readId(reader, SPAN_ID_BYTES) };
}

export function writeCallContext(writer: ByteWriter, { requestId, trace }: CallContext): void {
  if (!REQUEST_ID.test(requestId)) throw new RangeError("not a request id");
  writer.lengthPrefixed16(asciiToBytes(requestId));
  writeOptional(writer, trace, (context) => writeTraceContext(writer, context));
}

/** @throws DecodeError */
export function readCallContext(reader: ByteReader): CallContext {
  const bytes = reader.lengthPrefixed16();
  const requestId = bytes.length <= REQUEST_ID_BYTES_MAX && bytes.every(isAscii) ? bytesToAscii(bytes) : "";
  if (!REQUEST_ID.test(requestId)) throw new DecodeError("value_invalid", "not a request id");
  return { requestId, trace: readOptional(reader, () => readTraceContext(reader)) };
}

function isAscii(byte: number): boolean {
  return byte < 0x80;
}

function idBytes(hex: string, length: number): Uint8Array {
  const bytes = hex.length === 2 * length ? hexToBytes(hex, length) : new Uint8Array(length);
  if (isZero(bytes)) throw new RangeError("not a trace or span id");
  return bytes;
}

function readId(reader: ByteReader, length: number): string {
  const bytes = reader.bytes(length);
  if (isZero(bytes)) throw new DecodeError("value_invalid", "a trace or span id of zeros");
  return bytesToHex(bytes);
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
