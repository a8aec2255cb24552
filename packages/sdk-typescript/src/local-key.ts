import { bytesToHex } from "@event-anchoring/protocol";
import { SigningFailed } from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { SecretKey } from "./secret-key.ts";
import { INSPECT, randomBytes, secretKeyOf } from "./secrets.ts";
import type { Signer } from "./signing.ts";

const SEED_BYTES = 32;
/**
 * An Ed25519 private key in this process. It never prints: neither `console.log` nor JSON shows more than its public
 * key. On Node the secret lives in OpenSSL alone; `destroy` lets go of it, and OpenSSL overwrites it when it frees
 * that copy. In a browser it is an array in memory, which `destroy` overwrites.
 */
export class LocalKey implements Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  #key: SecretKey | null;

  private constructor(key: SecretKey) {
    this.publicKey = key.publicKey;
    this.#key = key;
  }

  /** A new key from the operating system's random source. */
  static generate(): LocalKey {
    const seed = randomBytes(SEED_BYTES);
    try {
      return new LocalKey(secretKeyOf(seed));
    } finally {
      seed.fill(0);
    }
  }

  /** @param seed the private key of RFC 8032. Overwrite your copy afterwards. @throws InvalidInput */
  static fromSeed(seed: Bytes32): LocalKey {
    const copy = bytes32("seed", seed);
    try {
      return new LocalKey(secretKeyOf(copy));
    } finally {
      copy.fill(0);
    }
  }

  /** 64 lower-case hex digits. */
  get publicKeyHex(): string {
    return bytesToHex(this.publicKey);
  }

  get isDestroyed(): boolean {
    return this.#key === null;
  }

  /** @returns 64 bytes (RFC 8032); the same payload always gives the same. @throws SigningFailed once destroyed */
  sign(payload: Uint8Array): Uint8Array {
    return this.#held().sign(payload);
  }

  /** The seed, to be kept somewhere safe: 32 secret bytes. Overwrite them when done. @throws SigningFailed */
  exportSeed(): Uint8Array {
    return this.#held().exportSeed();
  }

  /** Lets go of the secret. Signing fails from now on. */
  destroy(): void {
    this.#key?.destroy();
    this.#key = null;
  }

  toString(): string {
    return `LocalKey(${this.publicKeyHex})`;
  }

  /** The public key alone. */
  toJSON(): string {
    return this.publicKeyHex;
  }

  [INSPECT](): string {
    return this.toString();
  }

  #held(): SecretKey {
    if (this.#key === null) throw new SigningFailed(`the key ${this.publicKeyHex} was destroyed`);
    return this.#key;
  }
}
