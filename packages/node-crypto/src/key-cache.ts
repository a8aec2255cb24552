import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";

/** RFC 8410: SubjectPublicKeyInfo of an Ed25519 key, up to the 32 key bytes. */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
/** About 1 KiB each: some MB at most. */
const KEYS_KEPT_MAX = 4096;

/** Public keys by their raw bytes, least recently used first: each costs a parse of its DER form. */
const keys = new Map<string, KeyObject>();

/** The KeyObject of 32 raw bytes. Bytes that are no point give a key under which nothing verifies. */
export function publicKeyOf(raw: Uint8Array): KeyObject {
  const name = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("latin1");
  let key = keys.get(name);
  if (key === undefined) {
    key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: "der", type: "spki" });
    const oldest = keys.keys().next();
    if (keys.size >= KEYS_KEPT_MAX && !oldest.done) keys.delete(oldest.value);
  } else {
    keys.delete(name);
  }
  keys.set(name, key);
  return key;
}
