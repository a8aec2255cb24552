/** The text form of an API key. README.md, "API keys". */
import { apiKeyHash } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import { crc32 } from "./crc32.ts";

/**
 * `ank_` ‖ 43 base62 characters of the 256-bit secret ‖ 6 base62 characters of its CRC-32. The prefix lets scanners of
 * leaked secrets recognise a key, the checksum lets them (and us) drop typing errors without a look-up.
 */
const API_KEY_PREFIX = "ank_";
export const API_KEY_SECRET_BYTES = 32;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 > 2^256 > 62^42. */
const SECRET_CHARACTERS = 43;
/** 62^6 > 2^32 > 62^5. */
const CHECKSUM_CHARACTERS = 6;
const TEXT = /^ank_[0-9A-Za-z]{49}$/;

/** @throws RangeError unless the secret has 32 bytes */
export function formatApiKey(secret: Uint8Array): string {
  if (secret.length !== API_KEY_SECRET_BYTES) throw new RangeError("an API key secret has 32 bytes");
  const digits = toBase62(bytesToInteger(secret), SECRET_CHARACTERS);
  const checksum = toBase62(BigInt(crc32(secret)), CHECKSUM_CHARACTERS);
  return API_KEY_PREFIX + digits + checksum;
}

/**
 * The secret of a key, or null for anything that is not exactly what formatApiKey prints: other prefix or length, a
 * wrong checksum, a number above 2^256 − 1. Attacker-controlled input; it is bounded before any arithmetic.
 */
export function parseApiKey(text: string): Uint8Array | null {
  if (!TEXT.test(text)) return null;
  const digits = text.slice(API_KEY_PREFIX.length, API_KEY_PREFIX.length + SECRET_CHARACTERS);
  const value = fromBase62(digits);
  if (value >> 256n !== 0n) return null;
  const secret = integerToBytes(value);
  return formatApiKey(secret) === text ? secret : null;
}

/** What the cluster stores and looks up of a key: its hash, and the first 16 bytes of that as its id. */
export function apiKeyIdentity(secret: Uint8Array, sha256: Sha256): { keyHash: Uint8Array; keyId: Uint8Array } {
  const keyHash = apiKeyHash(secret, sha256);
  return { keyHash, keyId: keyHash.slice(0, 16) };
}

function bytesToInteger(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}

function integerToBytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(API_KEY_SECRET_BYTES);
  let rest = value;
  for (let index = bytes.length - 1; index >= 0; index--) {
    bytes[index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

function toBase62(value: bigint, characters: number): string {
  let text = "";
  let rest = value;
  for (let index = 0; index < characters; index++) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

function fromBase62(text: string): bigint {
  let value = 0n;
  for (const character of text) value = value * 62n + BigInt(ALPHABET.indexOf(character));
  return value;
}
