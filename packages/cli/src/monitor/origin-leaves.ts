/** The leaves of one origin in their order, up to a head that was verified. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  DecodeError,
  TILE_WIDTH,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  decodeLeaf,
  entriesPath,
  frontierRoot,
  tileWidthAt,
} from "@event-anchoring/protocol";
import type { Frontier, Leaf } from "@event-anchoring/protocol";
import {
  UnexpectedAnswer,
  VerificationError,
  leavesOfBundle,
  proofFromTiles,
  verifyConsistency,
} from "@event-anchoring/sdk";
import type { VerifiedCheckpoint } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";

const { sha256 } = nodeCrypto;

/** Where leaves come from. Nothing that it gives is believed. */
export interface LeafSource {
  /** A tile or an entry bundle, by its path in the log; the full one if the partial one is gone. */
  bytes(originFingerprint: string, path: string): Promise<Uint8Array>;
  /** The leaf with this anchor id. */
  leaf(anchorId: string): Promise<Uint8Array>;
}

/** A head that was verified. */
export type ReadableHead = Pick<VerifiedCheckpoint, "originFingerprint" | "treeSize" | "rootHash">;

export interface ReadLeaf {
  readonly anchorId: string;
  readonly leaf: Leaf;
  /** The tree with it. */
  readonly frontier: Frontier;
}

/**
 * Reads bundle by bundle. The tree that a bundle leads to is proved to be the beginning of the head's before any of its
 * leaves is given out: so a log of any length is read within the memory of one bundle, and believed at each step.
 */
export class OriginLeaves {
  readonly #source: LeafSource;
  readonly #head: ReadableHead;
  /** Few: those of the lowest level are of the last leaves alone, and one above stands for 65,536. */
  readonly #tiles = new Map<string, Uint8Array>();
  #frontier: Frontier;
  #ahead: ReadLeaf[] = [];

  /** @param frontier the tree that was read before */
  constructor(source: LeafSource, head: ReadableHead, frontier: Frontier) {
    this.#source = source;
    this.#head = head;
    this.#frontier = frontier;
  }

  get originFingerprint(): string {
    return this.#head.originFingerprint;
  }

  /** How many leaves up to the head were not taken. */
  get unread(): number {
    return this.#head.treeSize - this.#frontier.size;
  }

  /** The tree of the leaves that were taken. */
  get frontier(): Frontier {
    return this.#frontier;
  }

  /** The last leaf that was fetched; null: none is waiting. */
  get newest(): ReadLeaf | null {
    return this.#ahead.at(-1) ?? null;
  }

  /** The next leaf; null at the head. @throws CliError for leaves that are not those of the head */
  async next(): Promise<ReadLeaf | null> {
    if (this.#ahead.length === 0 && this.#frontier.size < this.#head.treeSize) this.#ahead = await this.#readBundle();
    return this.#ahead[0] ?? null;
  }

  take(): void {
    const taken = this.#ahead.shift();
    if (taken !== undefined) this.#frontier = taken.frontier;
  }

  async #readBundle(): Promise<ReadLeaf[]> {
    const { originFingerprint, treeSize } = this.#head;
    const index = Math.floor(this.#frontier.size / TILE_WIDTH);
    const width = tileWidthAt(0, index, treeSize);
    try {
      const bytes = await this.#source.bytes(originFingerprint, entriesPath(index, width));
      const leaves = leavesIn(bytes, width).slice(this.#frontier.size % TILE_WIDTH);
      const read: ReadLeaf[] = [];
      for (const leaf of leaves) {
        const hash = anchorIdOf(leaf, sha256);
        const frontier = appendToFrontier(read.at(-1)?.frontier ?? this.#frontier, hash, sha256);
        read.push({ anchorId: bytesToHex(hash), leaf: decodeLeaf(leaf), frontier });
      }
      await this.#prove(read.at(-1)?.frontier ?? this.#frontier);
      return read;
    } catch (error) {
      if (error instanceof VerificationError || error instanceof DecodeError || error instanceof UnexpectedAnswer) {
        const message = `the leaves that are shown of ${originFingerprint} are not those of its head: ${error.message}`;
        throw new CliError(EXIT.unavailable, "leaves_differ", message);
      }
      throw error;
    }
  }

  async #prove(frontier: Frontier): Promise<void> {
    const { treeSize, originFingerprint } = this.#head;
    const fetchTile = async (path: string): Promise<Uint8Array> => {
      const tile = this.#tiles.get(path) ?? (await this.#source.bytes(originFingerprint, path));
      this.#tiles.set(path, tile);
      return tile;
    };
    const proof = await proofFromTiles(frontier.size, treeSize, fetchTile);
    const read = { treeSize: frontier.size, rootHash: bytesToHex(frontierRoot(frontier, sha256)) };
    verifyConsistency(read, this.#head, proof);
  }
}

/** A full bundle may stand for the partial one that is gone. */
function leavesIn(bytes: Uint8Array, width: number): readonly Uint8Array[] {
  try {
    return leavesOfBundle(bytes, width);
  } catch (error) {
    if (!(error instanceof UnexpectedAnswer)) throw error;
    return leavesOfBundle(bytes, TILE_WIDTH).slice(0, width);
  }
}
