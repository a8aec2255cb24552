/** The slow default behind the crypto seam, for programs without a native one: noble's hashes and curve points. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { concatBytes, equalBytes } from "./bytes.ts";
import type { Crypto } from "./crypto.ts";
import { createEd25519Verify } from "./ed25519.ts";

function littleEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let index = bytes.length - 1; index >= 0; index--) value = value * 256n + BigInt(bytes[index] ?? 0);
  return value;
}

/** A, or null if no point has that encoding. */
function decodePoint(publicKey: Uint8Array): InstanceType<typeof ed25519.Point> | null {
  try {
    return ed25519.Point.fromBytes(publicKey);
  } catch {
    return null;
  }
}

/**
 * RFC 8032 section 5.1.7 without the cofactor, comparing encodings. noble's own `verify` multiplies by the cofactor and
 * would accept more.
 */
function verifyCofactorless(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const point = decodePoint(publicKey);
  if (point === null) return false;
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  const k = littleEndian(sha512(concatBytes(r, publicKey, message))) % ed25519.Point.Fn.ORDER;
  const expected = ed25519.Point.BASE.multiplyUnsafe(s).subtract(point.multiplyUnsafe(k));
  return equalBytes(expected.toBytes(), r);
}

export const nobleCrypto: Crypto = {
  sha256: (bytes) => sha256(bytes),
  ed25519Verify: createEd25519Verify(verifyCofactorless),
};

/** Signing (RFC 8032) for programs without a native one, by the 32 bytes of a seed. */
export const nobleSigning = {
  publicKeyOf: (seed: Uint8Array): Uint8Array => ed25519.getPublicKey(seed),
  sign: (payload: Uint8Array, seed: Uint8Array): Uint8Array => ed25519.sign(payload, seed),
};
