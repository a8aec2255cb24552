/** What `crypto.ts` is where there is no Node: the same names, by noble's curve and hashes. */
import { assertEd25519Canaries, nobleCrypto } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { underTheRule } from "./ed25519-rule.ts";

export const crypto: Crypto = nobleCrypto;

/** @returns 32 bytes */
export function sha256(bytes: Uint8Array): Uint8Array {
  return crypto.sha256(bytes);
}

/**
 * Whether a signature is good by the rule of docs/PROTOCOL.md, "Ed25519", which is stricter than most libraries.
 * @throws VerificationError `ed25519_canary` if this runtime does not follow the rule
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return underTheRule(() => crypto.ed25519Verify(publicKey, message, signature));
}

/**
 * Runs the canaries: three public signatures on which verifiers differ. Every verifier here runs them by itself.
 * @throws VerificationError `ed25519_canary`
 */
export function checkCanaries(): void {
  underTheRule(() => assertEd25519Canaries(crypto.ed25519Verify));
}
