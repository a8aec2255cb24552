/** Keys and hashes that every vector is made of. Nothing here is secret or random. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { utf8ToBytes } from "@event-anchoring/protocol";

export const { sha256 } = nodeCrypto;

/** Equal bytes. */
export function fill(byte: number, length = 32): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

/** A hash that stands for some content. */
export function hashOf(content: string): Uint8Array {
  return sha256(utf8ToBytes(content));
}

/** A key with the seed that it is made of: 32 equal bytes. */
export interface FixedKey extends Signer {
  readonly seed: Uint8Array;
}

export function fixedKey(byte: number): FixedKey {
  const seed = fill(byte);
  return { ...createSigner(seed), seed };
}
