/** Node's own cryptography behind the seam of the verifiers, under the one Ed25519 rule. Works from Node 18 on. */
import { createHash, createPublicKey, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { Ed25519CanaryError, assertEd25519Canaries, createEd25519Verify } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { VerificationError } from "./errors.ts";

/** @returns 32 bytes */
export function sha256(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(bytes).digest());
}

/** RFC 8037: OpenSSL takes the raw bytes of a JWK as they are. Bytes that are no point verify nothing. */
function publicKeyOf(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

// Refuses what OpenSSL would accept beyond the rule, and runs the canaries before its first verdict.
const ed25519Verify = createEd25519Verify((publicKey, message, signature) =>
  verify(null, message, publicKeyOf(publicKey), signature),
);

export const crypto: Crypto = { sha256, ed25519Verify };

/** Runs what has to be held to the canaries first. */
function underTheRule<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Ed25519CanaryError)) throw error;
    const message = "this build of Node does not follow the Ed25519 rule";
    throw new VerificationError("canary_failed", message, { cause: error });
  }
}

/**
 * Whether a signature is good by the rule of docs/PROTOCOL.md, "Ed25519", which is stricter than most libraries.
 * @throws VerificationError `canary_failed` if this build of Node does not follow the rule
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return underTheRule(() => ed25519Verify(publicKey, message, signature));
}

/**
 * Runs the canaries: three public signatures on which verifiers differ. Every verifier here runs them by itself.
 * @throws VerificationError `canary_failed`
 */
export function assertCanaries(): void {
  underTheRule(() => assertEd25519Canaries(ed25519Verify));
}
