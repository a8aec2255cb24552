/**
 * Node's own cryptography behind the seam of the verifiers, under the one Ed25519 rule. Works from Node 18 on. In the
 * build for browsers `web-crypto.ts` takes its place.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { assertEd25519Canaries, createEd25519Verify } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { underTheRule } from "./ed25519-rule.ts";

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

/**
 * Whether a signature is good by the rule of docs/PROTOCOL.md, "Ed25519", which is stricter than most libraries.
 * @throws VerificationError `ed25519_canary` if this runtime does not follow the rule
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return underTheRule(() => ed25519Verify(publicKey, message, signature));
}

/**
 * Runs the canaries: three public signatures on which verifiers differ. Every verifier here runs them by itself.
 * @throws VerificationError `ed25519_canary`
 */
export function checkCanaries(): void {
  underTheRule(() => assertEd25519Canaries(ed25519Verify));
}
