import { KeyObject, createPrivateKey, createPublicKey, randomBytes, sign as signWithKey } from "node:crypto";
import { InvalidBytesError } from "@event-anchoring/protocol";

/** RFC 8410: PKCS #8 of an Ed25519 key, up to the 32 seed bytes. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SEED_BYTES = 32;

/** An Ed25519 private key that can sign and does not print. */
export interface Signer {
  readonly publicKey: Uint8Array;
  /** @returns 64 bytes (RFC 8032 section 5.1.6); the same message always gives the same signature */
  sign(message: Uint8Array): Uint8Array;
}

/** 32 bytes from the operating system's random source: the private key of RFC 8032. Secret. */
export function generateSeed(): Uint8Array {
  return Uint8Array.from(randomBytes(SEED_BYTES));
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) {
    throw new InvalidBytesError("length_invalid", `an Ed25519 seed has ${SEED_BYTES} bytes, got ${seed.length}`);
  }
  return createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: "der",
    type: "pkcs8",
  });
}

function rawPublicKeyOf(key: KeyObject): Uint8Array {
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return Uint8Array.from(spki.subarray(spki.length - 32));
}

/** Signs with a seed or with a key made from one. For more than one signature, createSigner is three times as fast. */
export function sign(seedOrKey: Uint8Array | KeyObject, message: Uint8Array): Uint8Array {
  const key = seedOrKey instanceof KeyObject ? seedOrKey : privateKeyOf(seedOrKey);
  if (key.type !== "private" || key.asymmetricKeyType !== "ed25519") {
    throw new TypeError("not an Ed25519 private key");
  }
  const signature = signWithKey(null, message, key);
  return new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength);
}

/** @param seed 32 bytes; they are copied into OpenSSL and can be overwritten afterwards */
export function createSigner(seed: Uint8Array): Signer {
  const key = privateKeyOf(seed);
  return Object.freeze({
    publicKey: rawPublicKeyOf(key),
    sign: (message: Uint8Array): Uint8Array => sign(key, message),
  });
}
