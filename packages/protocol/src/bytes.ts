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

const HEX_PAIRS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Lower-case hex, two digits a byte. */
export function bytesToHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX_PAIRS[byte];
  return text;
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
  for (const byte of bytes) if (byte !== 0) return false;
  return true;
}

const BASE64_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_VALUES: Int8Array = (() => {
  const values = new Int8Array(128).fill(-1);
  for (let index = 0; index < 64; index++) values[BASE64_ALPHABET.charCodeAt(index)] = index;
  return values;
})();

/** Standard base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const word = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    text += BASE64_ALPHABET.charAt(word >> 18) + BASE64_ALPHABET.charAt((word >> 12) & 63);
    text += left > 1 ? BASE64_ALPHABET.charAt((word >> 6) & 63) : "=";
    text += left > 2 ? BASE64_ALPHABET.charAt(word & 63) : "=";
  }
  return text;
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
  let text = "";
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (byte > 0x7f) throw new InvalidBytesError("text_invalid", `not ASCII at byte ${index}`);
    text += String.fromCharCode(byte);
  }
  return text;
}

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
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    const last = 0x80 | (point & 63);
    if (point >= 0xd800 && point <= 0xdfff) throw new InvalidBytesError("text_invalid", "lone surrogate");
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), last);
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), last);
    else bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63), 0x80 | ((point >> 6) & 63), last);
  }
  return Uint8Array.from(bytes);
}

/** Smallest code point that needs 2, 3 and 4 bytes: a smaller one in that form is overlong and refused. */
const UTF8_MINIMUM: readonly number[] = [0, 0, 0x80, 0x800, 0x10000];

function utf8SequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

/** Strict UTF-8. @throws InvalidBytesError `text_invalid` for overlong forms, surrogates, and anything malformed */
export function bytesToUtf8(bytes: Uint8Array): string {
  let text = "";
  let offset = 0;
  while (offset < bytes.length) {
    const lead = bytes[offset] ?? 0;
    const length = utf8SequenceLength(lead);
    if (length === 0 || offset + length > bytes.length) {
      throw new InvalidBytesError("text_invalid", `not UTF-8 at byte ${offset}`);
    }
    let point = length === 1 ? lead : lead & (0xff >> (length + 1));
    for (let index = 1; index < length; index++) {
      const next = bytes[offset + index] ?? 0;
      if ((next & 0xc0) !== 0x80) throw new InvalidBytesError("text_invalid", `not UTF-8 at byte ${offset + index}`);
      point = point * 64 + (next & 63);
    }
    const isSurrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < (UTF8_MINIMUM[length] ?? 0) || point > 0x10ffff || isSurrogate) {
      throw new InvalidBytesError("text_invalid", `not UTF-8 at byte ${offset}`);
    }
    text += String.fromCodePoint(point);
    offset += length;
  }
  return text;
}
