/** The upper half of 2^53 - 1. */
export const SAFE_HIGH_MAX = 0x1fffff;
export const TWO_32 = 0x1_0000_0000;

/** Builds big-endian, fixed-width bytes in memory that is reused; `take` copies them out. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  reset(): void {
    this.#length = 0;
  }

  #reserve(count: number): number {
    const at = this.#length;
    this.#length = at + count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }

  u8(value: number): void {
    const at = this.#reserve(1);
    this.#view.setUint8(at, value);
  }

  u32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value);
  }

  /** A whole number in [0, 2^53), as 8 bytes. */
  u53(value: number): void {
    const at = this.#reserve(8);
    this.#view.setUint32(at, Math.floor(value / TWO_32));
    this.#view.setUint32(at + 4, value >>> 0);
  }

  u64(value: bigint): void {
    const at = this.#reserve(8);
    this.#view.setBigUint64(at, value);
  }

  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#bytes.set(value, at);
  }

  /** A copy of what was written. */
  take(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** What was written, until the next write. */
  borrow(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Reads what ByteWriter wrote. The bytes may be attacker-controlled; `fail` makes the error for what is wrong. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #fail: (reason: string) => Error;
  #at = 0;

  constructor(bytes: Uint8Array, fail: (reason: string) => Error) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#fail = fail;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  fail(reason: string): Error {
    return this.#fail(reason);
  }

  #advance(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) throw this.#fail("the bytes end too early");
    this.#at = at + count;
    return at;
  }

  u8(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4));
  }

  u53(): number {
    const at = this.#advance(8);
    const high = this.#view.getUint32(at);
    if (high > SAFE_HIGH_MAX) throw this.#fail("a number is 2^53 or larger");
    return high * TWO_32 + this.#view.getUint32(at + 4);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#advance(8));
  }

  /** A copy, so that it outlives the bytes it was read from. */
  bytes(count: number): Uint8Array {
    const at = this.#advance(count);
    return this.#bytes.slice(at, at + count);
  }

  /** A count of things that take at least `bytesEach`: bounded by what is there, before anything is allocated. */
  count(bytesEach: number): number {
    const count = this.u32();
    if (count * bytesEach > this.remaining) throw this.#fail("a count exceeds the bytes");
    return count;
  }

  end(): void {
    if (this.remaining !== 0) throw this.#fail(`${this.remaining} bytes after the end`);
  }
}
