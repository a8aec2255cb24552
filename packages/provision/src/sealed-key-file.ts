/** Root keys and operators' keys in files, sealed with a passphrase or plain. docs/operating/trust-root.md. */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  formatVkey,
  hexToBytes,
  isNodeId,
  isRootLabel,
  makeVkey,
  operatorKeyName,
  rootKeyName,
} from "@event-anchoring/protocol";
import type { Vkey } from "@event-anchoring/protocol";
import { PrivateFileError, fileExists, readPrivateFile, writePrivateFile, writeSeed } from "./files.ts";

const FORMAT = "event-anchoring/v4.2/sealed-key";
/** About a third of a second and 128 MiB for each guess at a passphrase (RFC 7914). */
const SCRYPT = { N: 131_072, r: 8, p: 1 } as const;
const SCRYPT_MEMORY_MAX = 256 * 1024 * 1024;
const SEED_LINE = /^[0-9a-f]{64}\n?$/u;
export const PASSPHRASE_CHARACTERS_MIN = 8;

/** What the holder of a key hands out: the key's name and its public half. */
export interface DrawnKey {
  readonly vkey: Vkey;
  readonly isSealed: boolean;
}

interface SealedKey {
  readonly format: typeof FORMAT;
  /** The public key, so that a file says whose it is. */
  readonly vkey: string;
  readonly salt: string;
  readonly nonce: string;
  /** Seed and tag of AES-256-GCM, the vkey as additional bytes. */
  readonly sealed: string;
}

/** Where a new key goes. */
export interface NewKeyFile {
  readonly path: string;
  readonly clusterName: string;
  /** Whose key it is. */
  readonly label: string;
  /** Null writes the 32 bytes as they are, as 64 hex digits. */
  readonly passphrase: string | null;
}

/**
 * Draws a root key and writes it to `path`, mode 0600, and its vkey to `<path>.pub`. Nothing is overwritten.
 * @throws PrivateFileError `exists`; RangeError for a label or passphrase that will not do
 */
export async function createRootKey(key: NewKeyFile): Promise<DrawnKey> {
  if (!isRootLabel(key.label)) throw new RangeError("a label is 1 to 32 of a–z, 0–9 and hyphens");
  return createKey(key, rootKeyName(key.clusterName, key.label));
}

/** As createRootKey, a key that signs an operator's acts. */
export async function createOperatorKey(key: NewKeyFile): Promise<DrawnKey> {
  if (!isNodeId(key.label)) throw new RangeError("a name is 1 to 32 of a–z, 0–9 and hyphens, a letter first");
  return createKey(key, operatorKeyName(key.clusterName, key.label));
}

async function createKey({ path, passphrase }: NewKeyFile, name: string): Promise<DrawnKey> {
  if (passphrase !== null && passphrase.length < PASSPHRASE_CHARACTERS_MIN) {
    throw new RangeError(`a passphrase has ${PASSPHRASE_CHARACTERS_MIN} characters at least`);
  }
  for (const taken of [path, `${path}.pub`]) {
    if (await fileExists(taken)) throw new PrivateFileError("exists", taken, "keys are never overwritten");
  }
  const seed = generateSeed();
  try {
    const { publicKey } = createSigner(seed);
    const vkey = makeVkey(name, VKEY_TYPE.ed25519, publicKey, nodeCrypto.sha256);
    if (passphrase === null) await writeSeed(path, seed);
    else await writePrivateFile(path, `${JSON.stringify(seal(seed, vkey, passphrase), null, 2)}\n`);
    await writePrivateFile(`${path}.pub`, `${formatVkey(vkey)}\n`);
    return { vkey, isSealed: passphrase !== null };
  } finally {
    seed.fill(0);
  }
}

/**
 * Reads a key to sign with.
 * @param passphrase asked for only if the file is sealed
 * @throws PrivateFileError `missing`, `mode_too_wide`, `malformed` (a wrong passphrase included)
 */
export async function readSealedKey(path: string, passphrase: () => Promise<string>): Promise<Signer> {
  const text = await readPrivateFile(path);
  const seed = SEED_LINE.test(text) ? hexToBytes(text.trimEnd(), 32) : await unseal(path, text, passphrase);
  try {
    return createSigner(seed);
  } finally {
    seed.fill(0);
  }
}

function seal(seed: Uint8Array, vkey: Vkey, passphrase: string): SealedKey {
  const salt = randomBytes(32);
  const nonce = randomBytes(12);
  const vkeyText = formatVkey(vkey);
  const cipher = createCipheriv("aes-256-gcm", wrappingKey(passphrase, salt), nonce);
  cipher.setAAD(Buffer.from(vkeyText, "utf8"));
  const sealed = Buffer.concat([cipher.update(seed), cipher.final(), cipher.getAuthTag()]);
  const hex = (bytes: Buffer): string => bytes.toString("hex");
  return { format: FORMAT, vkey: vkeyText, salt: hex(salt), nonce: hex(nonce), sealed: hex(sealed) };
}

async function unseal(path: string, text: string, passphrase: () => Promise<string>): Promise<Uint8Array> {
  const { vkey, salt, nonce, sealed } = parseSealed(path, text);
  const key = wrappingKey(await passphrase(), salt);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce);
  decipher.setAAD(Buffer.from(vkey, "utf8"));
  decipher.setAuthTag(sealed.subarray(32));
  try {
    return Uint8Array.from(Buffer.concat([decipher.update(sealed.subarray(0, 32)), decipher.final()]));
  } catch {
    // What OpenSSL says of it tells nothing more.
    throw new PrivateFileError("malformed", path, "the passphrase is wrong, or the file was changed");
  }
}

function parseSealed(path: string, text: string): { vkey: string; salt: Buffer; nonce: Buffer; sealed: Buffer } {
  const damaged = new PrivateFileError("malformed", path, "no key: 64 hex digits, or a sealed key");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged;
  }
  if (typeof value !== "object" || value === null) throw damaged;
  const { format, vkey, salt, nonce, sealed }: Partial<Record<keyof SealedKey, unknown>> = value;
  if (format !== FORMAT || typeof vkey !== "string") throw damaged;
  return {
    vkey,
    salt: bytesOf(salt, 32, damaged),
    nonce: bytesOf(nonce, 12, damaged),
    sealed: bytesOf(sealed, 48, damaged),
  };
}

function bytesOf(value: unknown, length: number, damaged: PrivateFileError): Buffer {
  if (typeof value !== "string" || !/^[0-9a-f]*$/u.test(value) || value.length !== length * 2) throw damaged;
  return Buffer.from(value, "hex");
}

/** NFKC, so that a passphrase typed on another keyboard gives the same key. */
function wrappingKey(passphrase: string, salt: Buffer): Buffer {
  return scryptSync(passphrase.normalize("NFKC"), salt, 32, { ...SCRYPT, maxmem: SCRYPT_MEMORY_MAX });
}
