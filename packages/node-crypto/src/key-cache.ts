import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";

/** Some 2 KiB each. Those of a cluster's nodes, and of clients that sign again and again, are among them. */
const KEYS_KEPT_MAX = 1024;

/** Public keys by their raw bytes, least recently used first. */
const keys = new Map<string, KeyObject>();

/** The KeyObject of 32 raw bytes. Bytes that are no point give a key under which nothing verifies. */
export function publicKeyOf(raw: Uint8Array): KeyObject {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const name = bytes.toString("latin1");
  let key = keys.get(name);
  if (key === undefined) {
    // RFC 8037. OpenSSL takes the raw bytes of a JWK as they are; its parser of DER costs almost what a verify does.
    const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
    key = createPublicKey({ key: jwk, format: "jwk" });
    const oldest = keys.keys().next();
    if (keys.size >= KEYS_KEPT_MAX && !oldest.done) keys.delete(oldest.value);
  } else {
    keys.delete(name);
  }
  keys.set(name, key);
  return key;
}
