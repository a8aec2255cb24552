/** The keys that the vectors of this repository are made with: what was changed can be signed and hashed again. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  DecodeError,
  InvalidBytesError,
  NoteError,
  VKEY_TYPE,
  anchorIdOf,
  base64ToBytes,
  bytesToBase64,
  bytesToHex,
  cosignatureLine,
  cosignatureMessage,
  formatSignatureLine,
  hexToBytes,
  interiorHash,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  parseCosignatureLine,
  parseSignatureLine,
  parseVkey,
  stateHeadLine,
  stateHeadMessage,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { ReceiptJson, SignatureLine, Vkey } from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;
const VKEY = /[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*/gu;
const ORIGIN_OF_NAME = /\/origin\/(?<fingerprint>[0-9a-f]{64})$/u;
/** As the builders of the vectors have it. */
const LOG_SEED = new Uint8Array(32).fill(0x5e);

/** A key that signs, by what a line of it is called. */
interface Known {
  readonly vkey: Vkey;
  readonly signer: Signer;
  /** A state head's line has a key id and a message of its own. */
  readonly isOfStateHead: boolean;
}

export class VectorKeys {
  readonly #fixed = new Map<string, Signer>();
  readonly #known = new Map<string, Known>();

  /** @param documents trust roots, which name the keys */
  constructor(documents: readonly string[]) {
    for (let byte = 0; byte < 256; byte++) this.#add(new Uint8Array(32).fill(byte));
    const texts = new Set(documents.flatMap((document) => document.match(VKEY) ?? []));
    for (const text of texts) this.#learn(parseVkey(text, sha256));
  }

  /** How many keys of the documents can sign. */
  get size(): number {
    return this.#known.size;
  }

  #add(seed: Uint8Array): void {
    const signer = createSigner(seed);
    this.#fixed.set(bytesToHex(signer.publicKey), signer);
  }

  #learn(vkey: Vkey): void {
    const { name, keyId, publicKey } = vkey;
    const fingerprint = ORIGIN_OF_NAME.exec(name)?.groups?.["fingerprint"];
    if (fingerprint !== undefined) {
      this.#add(logKeySeed(LOG_SEED, toOriginFingerprint(hexToBytes(fingerprint, 32)), sha256));
    }
    // The root keys of the bundles' clusters: "<cluster name> root <label>".
    this.#add(sha256(utf8ToBytes(name.replace(/\/root\/([^/]+)$/u, " root $1"))));
    const signer = this.#fixed.get(bytesToHex(publicKey));
    if (signer === undefined) return;
    this.#known.set(`${name}+${keyId}`, { vkey, signer, isOfStateHead: false });
    if (vkey.type !== VKEY_TYPE.cosignature) return;
    const { keyId: headKeyId } = stateHeadLine({ name, publicKey, signature: new Uint8Array(64) }, sha256);
    this.#known.set(`${name}+${headKeyId}`, { vkey, signer, isOfStateHead: true });
  }

  /**
   * The note over this text, with the same lines made anew. A line whose key is not at hand stays as it is.
   * @param timeS of the cosignatures; null: theirs
   */
  signed(text: string, lines: readonly string[], timeS: number | null = null): string {
    return `${text}\n${lines.map((line) => `${this.#lineOver(text, line, timeS)}\n`).join("")}`;
  }

  #lineOver(text: string, line: string, timeS: number | null): string {
    const old = readLine(line);
    const known = old === null ? undefined : this.#known.get(`${old.name}+${old.keyId}`);
    return old === null || known === undefined ? line : lineBy(known, text, timeS ?? timeOf(old));
  }

  /** A trust root that all root keys have signed that it names itself. */
  rootSigned(text: string): string {
    const vkeys = (text.match(VKEY) ?? []).flatMap((vkey) => readVkey(vkey) ?? []);
    const known = vkeys.flatMap(({ name, keyId }) => this.#known.get(`${name}+${keyId}`) ?? []);
    const lines = known.filter(({ vkey }) => vkey.name.includes("/root/")).map((key) => `${lineBy(key, text, 0)}\n`);
    return `${text}\n${lines.join("")}`;
  }

  /** A receipt whose hashes and signatures are right for what it says. @returns null: its leaf or path is no bytes */
  sealed(receipt: ReceiptJson): ReceiptJson | null {
    const { leaf, index, tree_size: size, inclusion, checkpoint } = receipt;
    const bytes = [leaf, ...inclusion].map(readBase64);
    const [leafBytes, ...path] = bytes.flatMap((each) => each ?? []);
    const split = checkpoint.lastIndexOf("\n\n");
    if (leafBytes === undefined || bytes.includes(null) || split < 0) return null;
    const anchorId = anchorIdOf(leafBytes, sha256);
    const [origin = ""] = checkpoint.split("\n", 1);
    const text = `${origin}\n${size}\n${bytesToBase64(rootOfPath(anchorId, index, size, path))}\n`;
    const lines = checkpoint.slice(split + 2, -1).split("\n");
    return { ...receipt, anchor_id: bytesToHex(anchorId), checkpoint: this.signed(text, lines) };
  }
}

/** RFC 9162, section 2.1.3.2, without its last comparison. */
function rootOfPath(leafHash: Uint8Array, index: number, size: number, path: readonly Uint8Array[]): Uint8Array {
  let [place, last, hash] = [index, size - 1, leafHash];
  for (const sibling of path) {
    const isRight = place % 2 === 1 || place === last;
    hash = isRight ? interiorHash(sibling, hash, sha256) : interiorHash(hash, sibling, sha256);
    if (isRight) while (place % 2 === 0 && place > 0) [place, last] = [place / 2, Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return hash;
}

function lineBy({ vkey, signer, isOfStateHead }: Known, text: string, timeS: number): string {
  const { publicKey } = signer;
  const { name } = vkey;
  const sign = (message: Uint8Array): Uint8Array => signer.sign(message);
  return formatSignatureLine(made()).slice(0, -1);

  function made(): SignatureLine {
    if (isOfStateHead) return stateHeadLine({ name, publicKey, signature: sign(stateHeadMessage(text)) }, sha256);
    if (vkey.type === VKEY_TYPE.ed25519) {
      return noteSignatureLine({ name, publicKey, signature: sign(noteMessage(text)) }, sha256);
    }
    return cosignatureLine({ name, publicKey, timeS, signature: sign(cosignatureMessage(timeS, text)) }, sha256);
  }
}

/** null: it is no signature line. */
function readLine(line: string): SignatureLine | null {
  return orNull(() => parseSignatureLine(line), NoteError);
}

/** null: no key of ours. */
function readVkey(text: string): Vkey | null {
  return orNull(() => parseVkey(text, sha256), NoteError);
}

/** 0: it is no cosignature. */
function timeOf(line: SignatureLine): number {
  return orNull(() => parseCosignatureLine(line).timeS, DecodeError) ?? 0;
}

/** null: it is no base64. */
function readBase64(text: string): Uint8Array | null {
  return orNull(() => base64ToBytes(text), InvalidBytesError);
}

function orNull<Value>(read: () => Value, Refusal: new (...args: never[]) => Error): Value | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
