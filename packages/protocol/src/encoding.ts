/** One fixed-width big-endian writer and reader. docs/PROTOCOL.md, "Integers and byte strings". */

export type DecodeCode =
  | "truncated"
  | "trailing_bytes"
  | "integer_unsafe"
  | "tag_unknown"
  | "kind_unknown"
  | "length_wrong"
  | "value_invalid";

/** Bytes that are not what a codec expects. Match on `code`; the message is for people. */
export class DecodeError extends Error {
  readonly code: DecodeCode;
  constructor(code: DecodeCode, message: string) {
    super(message);
    this.name = "DecodeError";
    this.code = code;
  }
}

const TWO_32 = 0x1_0000_0000;
const SHORT_BYTES = 64;

function assertInteger(value: number, max: number): void {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RangeError(`expected an integer from 0 to ${max}, got ${value}`);
  }
}

function writeU32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

/** An unsigned 64-bit integer, at most 2^53 − 1, as ByteWriter writes it. */
export function writeU64(bytes: Uint8Array, offset: number, value: number): void {
  assertInteger(value, Number.MAX_SAFE_INTEGER);
  writeU32(bytes, offset, Math.floor(value / TWO_32));
  writeU32(bytes, offset + 4, value % TWO_32);
}

/**
 * Appends fixed-width big-endian values to a growing buffer. Methods return the writer, so that a format reads as one
 * list. A value out of range, or of another length than stated, is a mistake of the caller: RangeError.
 */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  /** @param capacity bytes to reserve; the exact final length avoids every copy */
  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  #reserve(count: number): number {
    const offset = this.#length;
    const needed = offset + count;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, offset));
      this.#bytes = grown;
    }
    this.#length = needed;
    return offset;
  }

  u8(value: number): this {
    assertInteger(value, 0xff);
    const offset = this.#reserve(1);
    this.#bytes[offset] = value;
    return this;
  }

  u16(value: number): this {
    assertInteger(value, 0xffff);
    const offset = this.#reserve(2);
    this.#bytes[offset] = value >>> 8;
    this.#bytes[offset + 1] = value;
    return this;
  }

  u32(value: number): this {
    assertInteger(value, 0xffff_ffff);
    const offset = this.#reserve(4);
    writeU32(this.#bytes, offset, value);
    return this;
  }

  /** An unsigned 64-bit integer, at most 2^53 − 1. */
  u64(value: number): this {
    const offset = this.#reserve(8);
    writeU64(this.#bytes, offset, value);
    return this;
  }

  /** Raw bytes with no length before them. @param byteLength the length the format fixes, checked if given */
  bytes(value: Uint8Array, byteLength?: number): this {
    if (byteLength !== undefined && value.length !== byteLength) {
      throw new RangeError(`expected ${byteLength} bytes, got ${value.length}`);
    }
    const offset = this.#reserve(value.length);
    this.#bytes.set(value, offset);
    return this;
  }

  /** u16 length, then the bytes. */
  lengthPrefixed16(value: Uint8Array): this {
    return this.u16(value.length).bytes(value);
  }

  /** u32 length, then the bytes. */
  lengthPrefixed32(value: Uint8Array): this {
    return this.u32(value.length).bytes(value);
  }

  /** The bytes written. They are no longer shared with the writer. */
  finish(): Uint8Array {
    if (this.#length === this.#bytes.length) {
      const whole = this.#bytes;
      this.#bytes = new Uint8Array(0);
      this.#length = 0;
      return whole;
    }
    return this.#bytes.slice(0, this.#length);
  }
}

/**
 * Reads what ByteWriter writes. The input may be attacker-controlled: every read is bounded, byte strings are copied
 * out, and finish() refuses what is left over. All failures are DecodeError.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  #take(count: number): number {
    const offset = this.#offset;
    if (count > this.#bytes.length - offset) {
      throw new DecodeError("truncated", `need ${count} bytes at offset ${offset}, have ${this.remaining}`);
    }
    this.#offset = offset + count;
    return offset;
  }

  u8(): number {
    return this.#bytes[this.#take(1)] ?? 0;
  }

  u16(): number {
    const offset = this.#take(2);
    return (this.#bytes[offset] ?? 0) * 256 + (this.#bytes[offset + 1] ?? 0);
  }

  u32(): number {
    return this.#word(this.#take(4));
  }

  /** @throws DecodeError `integer_unsafe` above 2^53 − 1 */
  u64(): number {
    const offset = this.#take(8);
    const high = this.#word(offset);
    if (high > 0x1f_ffff) throw new DecodeError("integer_unsafe", `integer above 2^53 - 1 at offset ${offset}`);
    return high * TWO_32 + this.#word(offset + 4);
  }

  #word(offset: number): number {
    const bytes = this.#bytes;
    const high = ((bytes[offset] ?? 0) << 8) | (bytes[offset + 1] ?? 0);
    return high * 0x1_0000 + (((bytes[offset + 2] ?? 0) << 8) | (bytes[offset + 3] ?? 0));
  }

  /** A copy of the next `count` bytes. */
  bytes(count: number): Uint8Array {
    const copy = new Uint8Array(this.#checkedCount(count));
    const offset = this.#take(count);
    const bytes = this.#bytes;
    // Most are hashes and signatures: for these a loop costs less than the view that `set` needs.
    if (count > SHORT_BYTES) copy.set(bytes.subarray(offset, offset + count));
    else for (let at = 0; at < count; at++) copy[at] = bytes[offset + at] ?? 0;
    return copy;
  }

  /** The next `count` bytes without a copy: they alias the input, and must not outlive or change it. */
  view(count: number): Uint8Array {
    const offset = this.#take(this.#checkedCount(count));
    return this.#bytes.subarray(offset, offset + count);
  }

  /** The count is checked before anything is allocated for it. */
  #checkedCount(count: number): number {
    if (count > this.remaining) {
      throw new DecodeError("truncated", `need ${count} bytes at offset ${this.#offset}, have ${this.remaining}`);
    }
    return count;
  }

  lengthPrefixed16(): Uint8Array {
    return this.bytes(this.u16());
  }

  lengthPrefixed32(): Uint8Array {
    return this.bytes(this.u32());
  }

  /** Refuses trailing bytes. @throws DecodeError `trailing_bytes` */
  finish(): void {
    if (this.remaining !== 0) throw new DecodeError("trailing_bytes", `${this.remaining} bytes left over`);
  }
}
