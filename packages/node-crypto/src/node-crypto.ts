/** Node's own cryptography behind the seam of the protocol package, under the same Ed25519 rule. */
import { hash, verify } from "node:crypto";
import { createEd25519Verify, passesEd25519Prefilter } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { publicKeyOf } from "./key-cache.ts";

/** Through a string of one character a byte: half the cost of a Buffer from `hash`, which is memory of its own. */
function sha256(bytes: Uint8Array): Uint8Array {
  const text = hash("sha256", bytes, "binary");
  const digest = new Uint8Array(32);
  for (let at = 0; at < 32; at++) digest[at] = text.charCodeAt(at);
  return digest;
}

const ed25519Verify = createEd25519Verify((publicKey, message, signature) =>
  verify(null, message, publicKeyOf(publicKey), signature),
);

/** Synchronous: about 0.1 ms of the event loop per verify. Use verifyAsync where many arrive. */
export const nodeCrypto: Crypto = { sha256, ed25519Verify };

const NO_KEY = new Uint8Array(0);

/**
 * The verdict of `nodeCrypto.ed25519Verify`, computed in the thread pool. The arrays must not change before it settles.
 * @throws Ed25519CanaryError (as a rejection) if this build of Node does not follow the rule
 */
export async function verifyAsync(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  // Runs the canaries on the first call; the prefilter answers it without a verify.
  ed25519Verify(NO_KEY, NO_KEY, NO_KEY);
  if (!passesEd25519Prefilter(publicKey, signature)) return false;
  const key = publicKeyOf(publicKey);
  return new Promise((resolve, reject) => {
    verify(null, message, key, signature, (error, isValid) => {
      if (error === null) resolve(isValid);
      else reject(error);
    });
  });
}
