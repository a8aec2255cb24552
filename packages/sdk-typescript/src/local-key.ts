import { inspect } from "node:util";
import { createPrivateKey, createPublicKey, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { SigningFailed } from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { Signer } from "./signing.ts";

const SEED_BYTES = 32;
/** RFC 8410: PKCS #8 of an Ed25519 key, up to the 32 bytes of its seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

function privateKeyOf(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

/**
 * An Ed25519 private key in this process. It never prints: neither `console.log` nor JSON shows more than its public
 * key. The secret lives in OpenSSL alone; `destroy` lets go of it, and OpenSSL overwrites its copy when it frees it.
 */
export class LocalKey implements Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  #key: KeyObject | null;

  private constructor(key: KeyObject) {
    const spki = createPublicKey(key).export({ format: "der", type: "spki" });
    this.publicKey = Uint8Array.from(spki.subarray(spki.length - 32));
    this.#key = key;
  }

  /** A new key from the operating system's random source. */
  static generate(): LocalKey {
    const seed = randomBytes(SEED_BYTES);
    try {
      return new LocalKey(privateKeyOf(seed));
    } finally {
      seed.fill(0);
    }
  }

  /** @param seed the private key of RFC 8032. Overwrite your copy afterwards. @throws InvalidInput */
  static fromSeed(seed: Bytes32): LocalKey {
    const copy = bytes32("seed", seed);
    try {
      return new LocalKey(privateKeyOf(copy));
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
    return Uint8Array.from(sign(null, payload, this.#held()));
  }

  /** The seed, to be kept somewhere safe: 32 secret bytes. Overwrite them when done. @throws SigningFailed */
  exportSeed(): Uint8Array {
    const der = this.#held().export({ format: "der", type: "pkcs8" });
    const seed = Uint8Array.from(der.subarray(der.length - SEED_BYTES));
    der.fill(0);
    return seed;
  }

  /** Lets go of the secret. Signing fails from now on. */
  destroy(): void {
    this.#key = null;
  }

  toString(): string {
    return `LocalKey(${this.publicKeyHex})`;
  }

  /** The public key alone. */
  toJSON(): string {
    return this.publicKeyHex;
  }

  [inspect.custom](): string {
    return this.toString();
  }

  #held(): KeyObject {
    if (this.#key === null) throw new SigningFailed(`the key ${this.publicKeyHex} was destroyed`);
    return this.#key;
  }
}
