/** Ed25519 keys in files: PKCS #8 PEM, 32 raw bytes, or 64 hex digits. Private ones are never printed. */
import { createPrivateKey, createPublicKey } from "node:crypto";
import { existsSync, fstatSync, openSync, closeSync, readSync, statSync, writeFileSync } from "node:fs";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { asCliError, readText } from "./read-input.ts";

const SEED_BYTES = 32;
const KEY_FILE_BYTES_MAX = 8192;
const OTHERS_MAY_READ = 0o077;
const OWNER_ONLY = 0o600;
const HEX_32 = /^[0-9a-fA-F]{64}$/u;
/** RFC 8410: PKCS #8 and SubjectPublicKeyInfo of Ed25519, up to the 32 bytes of the key. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

export type KeyFormat = "pem" | "seed";

/** @throws CliError `key_file_open` unless the file is its owner's alone; `key_malformed` */
export function readSigner(path: string): Signer {
  const bytes = readPrivate(path);
  try {
    const seed = seedOf(bytes, path);
    try {
      return createSigner(seed);
    } finally {
      seed.fill(0);
    }
  } finally {
    bytes.fill(0);
  }
}

function readPrivate(path: string): Buffer {
  // Its hex digits could pass for a seed: a private key that everybody knows.
  if (path.endsWith(".pub")) {
    throw new CliError(EXIT.usage, "key_malformed", `${path} is a public key: the private one is needed`);
  }
  try {
    const file = openSync(path, "r");
    try {
      const { size, mode } = fstatSync(file);
      if ((mode & OTHERS_MAY_READ) !== 0) {
        const octal = (mode & 0o777).toString(8);
        throw new CliError(EXIT.usage, "key_file_open", `others can read ${path} (mode ${octal}): chmod 600 ${path}`);
      }
      if (size > KEY_FILE_BYTES_MAX) throw malformed(path);
      const bytes = Buffer.alloc(size);
      readSync(file, bytes, 0, size, 0);
      return bytes;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}

function malformed(path: string): CliError {
  const message = `${path} is no Ed25519 private key: PKCS #8 PEM, 32 raw bytes or 64 hex digits`;
  return new CliError(EXIT.usage, "key_malformed", message);
}

/** A copy, which the caller overwrites. */
function seedOf(bytes: Buffer, path: string): Uint8Array {
  if (bytes.length === SEED_BYTES) return Uint8Array.from(bytes);
  const text = bytes.toString("latin1").trimEnd();
  if (HEX_32.test(text)) return hexToBytes(text.toLowerCase(), SEED_BYTES);
  const der = derOf(bytes);
  if (der === null) throw malformed(path);
  const seed = Uint8Array.from(der.subarray(PKCS8_PREFIX.length));
  der.fill(0);
  return seed;
}

/** Null unless it is an Ed25519 key. */
function derOf(pem: Buffer): Buffer | null {
  try {
    const key = createPrivateKey({ key: pem, format: "pem" });
    if (key.asymmetricKeyType !== "ed25519") return null;
    return key.export({ format: "der", type: "pkcs8" });
  } catch {
    // Whatever OpenSSL says of it may quote the key.
    return null;
  }
}

/**
 * From 64 hex digits, a file with them, or an SPKI PEM file (`openssl pkey -pubout`).
 * @throws CliError `key_malformed`
 */
export function readPublicKey(option: string, given: string): Uint8Array {
  if (HEX_32.test(given)) return hexToBytes(given.toLowerCase(), 32);
  if (!existsSync(given)) {
    throw new CliError(EXIT.usage, "key_malformed", `${option} takes 64 hex digits, or a file with a public key`);
  }
  const text = readText(given, KEY_FILE_BYTES_MAX).trimEnd();
  if (HEX_32.test(text)) return hexToBytes(text.toLowerCase(), 32);
  // A private key has a public one, too; it is not looked at, so that it need not be here.
  const spki = text.startsWith("-----BEGIN PUBLIC KEY-----") ? spkiOf(text) : null;
  if (spki !== null) return Uint8Array.from(spki.subarray(SPKI_PREFIX.length));
  throw new CliError(EXIT.usage, "key_malformed", `${given} holds no Ed25519 public key: 64 hex digits or SPKI PEM`);
}

function spkiOf(pem: string): Buffer | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key.export({ format: "der", type: "spki" }) : null;
  } catch {
    // The caller says that it is no key.
    return null;
  }
}

/**
 * Writes a new key to `path`, mode 600, and its public half to `<path>.pub` as 64 hex digits. Nothing is overwritten.
 * @param seed the caller overwrites it afterwards
 * @throws CliError `key_exists`
 */
export function writeKeyFiles(path: string, seed: Uint8Array, format: KeyFormat): Uint8Array {
  const publicPath = `${path}.pub`;
  for (const taken of [path, publicPath]) {
    if (statSync(taken, { throwIfNoEntry: false }) === undefined) continue;
    throw new CliError(EXIT.usage, "key_exists", `${taken} exists already, and keys are never overwritten`);
  }
  const { publicKey } = createSigner(seed);
  const content = format === "seed" ? Buffer.from(seed) : pemOf(seed);
  try {
    writeFileSync(path, content, { mode: OWNER_ONLY, flag: "wx" });
    writeFileSync(publicPath, `${bytesToHex(publicKey)}\n`, { flag: "wx" });
  } catch (error) {
    throw asCliError(path, "write", error);
  } finally {
    content.fill(0);
  }
  return publicKey;
}

function pemOf(seed: Uint8Array): Buffer {
  const base64 = Buffer.concat([PKCS8_PREFIX, seed]).toString("base64");
  return Buffer.from(`-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`, "latin1");
}
