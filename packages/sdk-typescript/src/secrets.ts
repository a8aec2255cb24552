/** Randomness and private keys, by Node's OpenSSL. In the build for browsers `web-secrets.ts` takes its place. */
import { createPrivateKey, createPublicKey, randomFillSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { inspect } from "node:util";
import { concatBytes, hexToBytes } from "@event-anchoring/protocol";
import type { SecretKey } from "./secret-key.ts";

const SEED_BYTES = 32;
/** RFC 8410: PKCS #8 of an Ed25519 key, up to the 32 bytes of its seed. */
const PKCS8_PREFIX = hexToBytes("302e020100300506032b657004220420");

/** What Node's console asks an object for. Its type is not Node's, whose types a user may not have. */
export const INSPECT: unique symbol = inspect.custom as never;

/** From the operating system's random source. */
export function randomBytes(count: number): Uint8Array {
  return randomFillSync(new Uint8Array(count));
}

class OpensslKey implements SecretKey {
  readonly publicKey: Uint8Array;
  readonly #key: KeyObject;

  constructor(key: KeyObject) {
    this.#key = key;
    const spki = createPublicKey(key).export({ format: "der", type: "spki" });
    this.publicKey = Uint8Array.from(spki.subarray(spki.length - 32));
  }

  sign(payload: Uint8Array): Uint8Array {
    return Uint8Array.from(sign(null, payload, this.#key));
  }

  exportSeed(): Uint8Array {
    const der = this.#key.export({ format: "der", type: "pkcs8" });
    const seed = Uint8Array.from(der.subarray(der.length - SEED_BYTES));
    der.fill(0);
    return seed;
  }

  /** OpenSSL overwrites its copy when the object is collected: nothing here can do it earlier. */
  destroy(): void {}
}

/** @param seed the private key of RFC 8032, 32 bytes; the caller overwrites it afterwards */
export function secretKeyOf(seed: Uint8Array): SecretKey {
  const der = concatBytes(PKCS8_PREFIX, seed);
  try {
    // Over the same bytes: the overwritten copy is the only one.
    const key = Buffer.from(der.buffer, der.byteOffset, der.byteLength);
    return new OpensslKey(createPrivateKey({ key, format: "der", type: "pkcs8" }));
  } finally {
    der.fill(0);
  }
}
