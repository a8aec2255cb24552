/** The only door from text to bytes, and back. Every function here is strict: what it refuses, nothing later sees. */

export type InvalidBytesCode = "hex_invalid" | "base64_invalid" | "text_invalid" | "length_invalid";

/** Text or bytes that are not what the caller said they are. Match on `code`; the message is for people. */
export class InvalidBytesError extends Error {
  readonly code: InvalidBytesCode;
  constructor(code: InvalidBytesCode, message: string) {
    super(message);
    this.name = "InvalidBytesError";
    this.code = code;
  }
}

/** 32 zero bytes: the empty reference, and the parent of a genesis leaf. Never write to it. */
export const ZERO_32: Uint8Array = new Uint8Array(32);

/** WHATWG Encoding, which browsers, Node and Deno have; the language's own library does not name it. */
const { TextEncoder, TextDecoder } = globalThis as unknown as {
  readonly TextEncoder: new () => { encode(text: string): Uint8Array };
  readonly TextDecoder: new (
    label: "utf-8",
    options: { readonly fatal: true; readonly ignoreBOM: true },
  ) => { decode(bytes: Uint8Array): string };
};
const ENCODER = new TextEncoder();
/** Strict: it refuses overlong forms, surrogates and whatever else is malformed, and keeps a byte order mark. */
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Where the characters of one short text are laid out before it is made in one piece, and not appended one by one. */
const SCRATCH = new Uint8Array(4096);

function spaceFor(length: number): Uint8Array {
  return length <= SCRATCH.length ? SCRATCH.subarray(0, length) : new Uint8Array(length);
}

const HEX_DIGITS = asciiToBytes("0123456789abcdef");

/** Lower-case hex, two digits a byte. */
export function bytesToHex(bytes: Uint8Array): string {
  const digits = spaceFor(bytes.length * 2);
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    digits[index * 2] = HEX_DIGITS[byte >> 4] ?? 0;
    digits[index * 2 + 1] = HEX_DIGITS[byte & 15] ?? 0;
  }
  return DECODER.decode(digits);
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x57;
  if (code >= 0x41 && code <= 0x46) return code - 0x37;
  return -1;
}

/**
 * Reads hex of either case.
 * @param byteLength the exact number of bytes expected, if it is known
 * @throws InvalidBytesError `hex_invalid` (odd length, `0x`, spaces, other characters) or `length_invalid`
 */
export function hexToBytes(hex: string, byteLength?: number): Uint8Array {
  if (byteLength !== undefined && hex.length !== byteLength * 2) {
    throw new InvalidBytesError(
      "length_invalid",
      `expected ${byteLength * 2} hex digits, got ${hex.length} characters`,
    );
  }
  if (hex.length % 2 !== 0) throw new InvalidBytesError("hex_invalid", "hex has an odd number of digits");
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++) {
    const high = hexDigit(hex.charCodeAt(index * 2));
    const low = hexDigit(hex.charCodeAt(index * 2 + 1));
    if (high < 0 || low < 0) throw new InvalidBytesError("hex_invalid", `not hex at digit ${index * 2}`);
    bytes[index] = high * 16 + low;
  }
  return bytes;
}

/** Joins byte strings into one new array. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** Equality of public values. Not constant-time: never compare secrets with it. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Lexicographic order of unsigned bytes: negative, zero or positive, as `Array.prototype.sort` wants it. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** True if every byte is zero (true for no bytes). */
export function isZero(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== 0) return false;
  return true;
}

const BASE64_ALPHABET = asciiToBytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const BASE64_PADDING = "=".charCodeAt(0);
const BASE64_VALUES: Int8Array = (() => {
  const values = new Int8Array(128).fill(-1);
  BASE64_ALPHABET.forEach((code, value) => (values[code] = value));
  return values;
})();

/** Standard base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  const text = spaceFor(Math.ceil(bytes.length / 3) * 4);
  for (let index = 0, at = 0; index < bytes.length; index += 3, at += 4) {
    const left = bytes.length - index;
    const word = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    text[at] = BASE64_ALPHABET[word >> 18] ?? 0;
    text[at + 1] = BASE64_ALPHABET[(word >> 12) & 63] ?? 0;
    text[at + 2] = left > 1 ? (BASE64_ALPHABET[(word >> 6) & 63] ?? 0) : BASE64_PADDING;
    text[at + 3] = left > 2 ? (BASE64_ALPHABET[word & 63] ?? 0) : BASE64_PADDING;
  }
  return DECODER.decode(text);
}

function base64Value(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const value = code < 128 ? (BASE64_VALUES[code] ?? -1) : -1;
  if (value < 0) throw new InvalidBytesError("base64_invalid", `not base64 at character ${index}`);
  return value;
}

/**
 * Reads standard padded base64 that re-encodes to itself: missing padding, spaces, the URL alphabet and non-zero
 * trailing bits are refused, so one value has one text.
 * @throws InvalidBytesError `base64_invalid`, or `length_invalid` if `byteLength` is given and does not match
 */
export function base64ToBytes(text: string, byteLength?: number): Uint8Array {
  if (text.length % 4 !== 0) throw new InvalidBytesError("base64_invalid", "base64 is not padded");
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let word = 0;
  let bits = 0;
  let offset = 0;
  for (let index = 0; index < digits; index++) {
    word = ((word << 6) | base64Value(text, index)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[offset++] = (word >> bits) & 0xff;
    }
  }
  if ((word & ((1 << bits) - 1)) !== 0) throw new InvalidBytesError("base64_invalid", "base64 has loose trailing bits");
  if (byteLength !== undefined && bytes.length !== byteLength) {
    throw new InvalidBytesError("length_invalid", `expected ${byteLength} bytes in base64, got ${bytes.length}`);
  }
  return bytes;
}

/** @throws InvalidBytesError `text_invalid` if a character is above U+007F */
export function asciiToBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) throw new InvalidBytesError("text_invalid", `not ASCII at character ${index}`);
    bytes[index] = code;
  }
  return bytes;
}

/** @throws InvalidBytesError `text_invalid` if a byte is above 0x7f */
export function bytesToAscii(bytes: Uint8Array): string {
  for (let index = 0; index < bytes.length; index++) {
    if ((bytes[index] ?? 0) > 0x7f) throw new InvalidBytesError("text_invalid", `not ASCII at byte ${index}`);
  }
  return DECODER.decode(bytes);
}

/** Half of a pair; quick to look for. */
const SURROGATE = /[\ud800-\udfff]/;
/** With the `u` flag a pair is one character, so this finds lone ones alone. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** UTF-8 of a string. @throws InvalidBytesError `text_invalid` for a lone surrogate, which has no UTF-8 */
export function utf8ToBytes(text: string): Uint8Array {
  const ascii = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return encodeUtf8(text);
    ascii[index] = code;
  }
  return ascii;
}

function encodeUtf8(text: string): Uint8Array {
  if (SURROGATE.test(text) && LONE_SURROGATE.test(text)) throw new InvalidBytesError("text_invalid", "lone surrogate");
  return ENCODER.encode(text);
}

/** Strict UTF-8. @throws InvalidBytesError `text_invalid` for overlong forms, surrogates, and anything malformed */
export function bytesToUtf8(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch {
    throw new InvalidBytesError("text_invalid", "not UTF-8");
  }
}
