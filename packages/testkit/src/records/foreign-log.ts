import { createHash } from "node:crypto";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_ROOT,
  VKEY_TYPE,
  formatAddCheckpoint,
  formatCheckpoint,
  formatNote,
  formatVkey,
  interiorHash,
  makeVkey,
  noteMessage,
  noteSignatureLine,
  proveConsistency,
  subtreesOfSize,
} from "@event-anchoring/protocol";
import type { SignatureLine } from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;

/**
 * A log of nobody in particular, of any size. It signs what it is asked to: two with one origin and other leaves
 * contradict each other.
 */
export class ForeignLog {
  readonly origin: string;
  readonly vkey: string;
  readonly #signer: ReturnType<typeof createSigner>;
  readonly #leafOf: (index: number) => string;
  readonly #hashes = new Map<string, Uint8Array>();

  /** @param leafOf what its leaves say */
  constructor(origin: string, leafOf: (index: number) => string = String) {
    this.origin = origin;
    this.#leafOf = leafOf;
    this.#signer = createSigner(createHash("sha256").update(`key of ${origin}`).digest());
    this.vkey = formatVkey(makeVkey(origin, VKEY_TYPE.ed25519, this.#signer.publicKey, sha256));
  }

  rootAt(treeSize: number): Uint8Array {
    let root: Uint8Array | null = null;
    for (const { level, index } of subtreesOfSize(treeSize).toReversed()) {
      const hash = this.#hashAt(level, index);
      root = root === null ? hash : interiorHash(hash, root, sha256);
    }
    return root ?? EMPTY_ROOT;
  }

  /** A signed note. @param lines further lines behind the log's */
  checkpoint(treeSize: number, { extension = "", lines = [] as readonly SignatureLine[] } = {}): string {
    const text = formatCheckpoint({ origin: this.origin, treeSize, rootHash: this.rootAt(treeSize) }) + extension;
    const { publicKey } = this.#signer;
    const line = { name: this.origin, publicKey, signature: this.#signer.sign(noteMessage(text)) };
    return formatNote(text, [noteSignatureLine(line, sha256), ...lines]);
  }

  proof(oldSize: number, treeSize: number): Uint8Array[] {
    if (oldSize === 0) return [];
    return proveConsistency(oldSize, treeSize, (level, index) => this.#hashAt(level, index), sha256);
  }

  /** Body of an add-checkpoint request. */
  request(oldSize: number, treeSize: number): string {
    return formatAddCheckpoint({
      oldSize,
      proof: this.proof(oldSize, treeSize),
      checkpoint: this.checkpoint(treeSize),
    });
  }

  #hashAt(level: number, index: number): Uint8Array {
    const name = `${level} ${index}`;
    const known = this.#hashes.get(name);
    if (known !== undefined) return known;
    const hash =
      level === 0
        ? sha256(Buffer.from(`\0${this.#leafOf(index)}`))
        : interiorHash(this.#hashAt(level - 1, index * 2), this.#hashAt(level - 1, index * 2 + 1), sha256);
    this.#hashes.set(name, hash);
    return hash;
  }
}
