/** What `secrets.ts` is where there is no Node: the same names, by Web Crypto's randomness and noble's curve. */
import { nobleSigning } from "@event-anchoring/protocol";
import type { SecretKey } from "./secret-key.ts";

/** A browser's console asks for nothing of the kind. */
export const INSPECT: unique symbol = Symbol("inspect");

/** From the operating system's random source. */
export function randomBytes(count: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

class NobleKey implements SecretKey {
  readonly publicKey: Uint8Array;
  readonly #seed: Uint8Array;

  constructor(seed: Uint8Array) {
    this.#seed = seed;
    this.publicKey = nobleSigning.publicKeyOf(seed);
  }

  sign(payload: Uint8Array): Uint8Array {
    return nobleSigning.sign(payload, this.#seed);
  }

  exportSeed(): Uint8Array {
    return this.#seed.slice();
  }

  destroy(): void {
    this.#seed.fill(0);
  }
}

/** @param seed the private key of RFC 8032, 32 bytes; the caller overwrites it afterwards */
export function secretKeyOf(seed: Uint8Array): SecretKey {
  return new NobleKey(seed.slice());
}
