/**
 * What the SDK's own module of this name is, in a browser: there is no node:crypto. The build of the page puts this one
 * in its place, so the monitor and its verifiers run as they are.
 */
import { assertEd25519Canaries, nobleCrypto } from "@event-anchoring/protocol";
import { rememberVerdicts } from "@event-anchoring/records";

/** A head that is shown again and again is verified once. */
export const crypto = rememberVerdicts(nobleCrypto);
export const { sha256 } = nobleCrypto;
export const verifySignature = nobleCrypto.ed25519Verify;

export function checkCanaries(): void {
  assertEd25519Canaries(nobleCrypto.ed25519Verify);
}
