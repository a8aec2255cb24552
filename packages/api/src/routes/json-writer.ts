/**
 * Writes JSON straight into the bytes of an answer. Objects, their texts and JSON.stringify take twice to three times
 * as long, and allocate three to four times as much.
 */

/** By a byte: the two digits of its lower-case hex. */
const HEX_DIGITS = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0")).join(""));
const BASE64_DIGITS = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const BASE64_PADDING = 0x3d;
const QUOTE = 0x22;

export class JsonWriter {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity bytes to reserve; more are taken when they are needed */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** @returns where the bytes begin that are now part of the text */
  #take(count: number): number {
    const start = this.#length;
    const needed = start + count;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, start);
      this.#bytes = grown;
    }
    this.#length = needed;
    return start;
  }

  /** Bytes that are JSON: brackets, commas, keys, whole values. */
  part(bytes: Uint8Array): this {
    const start = this.#take(bytes.length);
    this.#bytes.set(bytes, start);
    return this;
  }

  /** Any value, as JSON.stringify writes it. */
  value(value: object | string | number | boolean | null): this {
    return this.part(Buffer.from(JSON.stringify(value)));
  }

  /** An integer, 0 or more. */
  count(value: number): this {
    const digits = String(value);
    let at = this.#take(digits.length);
    for (let index = 0; index < digits.length; index++) this.#bytes[at++] = digits.charCodeAt(index);
    return this;
  }

  /** A string of lower-case hex digits. */
  hex(value: Uint8Array): this {
    let at = this.#take(value.length * 2 + 2);
    const bytes = this.#bytes;
    bytes[at++] = QUOTE;
    for (let index = 0; index < value.length; index++) {
      const digits = (value[index] ?? 0) * 2;
      bytes[at++] = HEX_DIGITS[digits] ?? 0;
      bytes[at++] = HEX_DIGITS[digits + 1] ?? 0;
    }
    bytes[at] = QUOTE;
    return this;
  }

  /** A string of standard base64 with padding. */
  base64(value: Uint8Array): this {
    let at = this.#take(Math.ceil(value.length / 3) * 4 + 2);
    const bytes = this.#bytes;
    bytes[at++] = QUOTE;
    const left = value.length % 3;
    const whole = value.length - left;
    for (let index = 0; index < whole; index += 3, at += 4) {
      const word = ((value[index] ?? 0) << 16) | ((value[index + 1] ?? 0) << 8) | (value[index + 2] ?? 0);
      bytes[at] = BASE64_DIGITS[word >> 18] ?? 0;
      bytes[at + 1] = BASE64_DIGITS[(word >> 12) & 63] ?? 0;
      bytes[at + 2] = BASE64_DIGITS[(word >> 6) & 63] ?? 0;
      bytes[at + 3] = BASE64_DIGITS[word & 63] ?? 0;
    }
    if (left > 0) {
      const word = ((value[whole] ?? 0) << 16) | ((value[whole + 1] ?? 0) << 8);
      bytes[at++] = BASE64_DIGITS[word >> 18] ?? 0;
      bytes[at++] = BASE64_DIGITS[(word >> 12) & 63] ?? 0;
      bytes[at++] = left === 2 ? (BASE64_DIGITS[(word >> 6) & 63] ?? 0) : BASE64_PADDING;
      bytes[at++] = BASE64_PADDING;
    }
    bytes[at] = QUOTE;
    return this;
  }

  /** A list, with commas between its items. */
  list<T>(items: readonly T[], write: (item: T) => void): this {
    this.part(LIST);
    let isFirst = true;
    for (const item of items) {
      if (!isFirst) this.part(COMMA);
      isFirst = false;
      write(item);
    }
    return this.part(LIST_END);
  }

  /** The bytes written. The writer is not used any more. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

const LIST = Buffer.from("[");
const LIST_END = Buffer.from("]");
const COMMA = Buffer.from(",");
