/** The seam through which all cryptography comes in. Functions of this package take what they need as last argument. */
import { concatBytes } from "./bytes.ts";

/** SHA-256 (FIPS 180-4): any bytes in, 32 bytes out. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/**
 * Ed25519 by the rule of docs/PROTOCOL.md, "Ed25519": one verdict everywhere. Never throws for bad input; any wrong
 * length is `false`. Make one with createEd25519Verify, so that the rule and its canaries are in force.
 */
export type Ed25519Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

export interface Crypto {
  readonly sha256: Sha256;
  readonly ed25519Verify: Ed25519Verify;
}

/** Reused: an array of more than 64 bytes lies outside of the JS heap, and costs about as much as its hash. */
const JOINED = new Uint8Array(1024);

/** SHA-256 of byte strings, one after the other. Not for secrets: the last ones stay in memory. */
export function sha256Of(parts: readonly Uint8Array[], sha256: Sha256): Uint8Array {
  let length = 0;
  for (const part of parts) {
    if (length + part.length > JOINED.length) return sha256(concatBytes(...parts));
    JOINED.set(part, length);
    length += part.length;
  }
  return sha256(JOINED.subarray(0, length));
}
