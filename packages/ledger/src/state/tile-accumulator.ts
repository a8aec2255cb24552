/** Complete tiles of an origin (C2SP tlog-tiles, height 8): immutable once made, and all that is stored of its tree. */
import { TILE_WIDTH, interiorHash } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";

const HASH_BYTES = 32;
/** Levels of the tree in one tile. */
const TILE_HEIGHT = 8;
const NO_TILES: readonly CompletedTile[] = [];

/** A tree that knows the roots of its complete subtrees. */
export interface SubtreeRoots {
  subtree(level: number, index: number): Uint8Array | undefined;
}

export interface CompletedTile {
  /** Tile level: 0 holds leaf hashes, 1 the roots of tiles of level 0, and so on. */
  readonly level: number;
  /** Position among the tiles of its level. */
  readonly index: number;
  /** Fold of the 256 hashes: a hash of the level above, 32 bytes. */
  readonly root: Uint8Array;
  /** 256 hashes of 32 bytes. */
  readonly hashes: Uint8Array;
}

/** How many hashes the open tile of a level holds in a tree of `treeSize` leaves, 0 to 255. */
export function openTileWidth(level: number, treeSize: number): number {
  return Math.floor(treeSize / TILE_WIDTH ** level) % TILE_WIDTH;
}

/** Levels that hold at least one hash in a tree of `treeSize` leaves. */
export function tileLevelsAt(treeSize: number): number {
  let levels = 0;
  for (let rest = treeSize; rest > 0; rest = Math.floor(rest / TILE_WIDTH)) levels++;
  return levels;
}

function foldTile(hashes: readonly Uint8Array[], sha256: Sha256): Uint8Array {
  let row = hashes;
  while (row.length > 1) {
    const above: Uint8Array[] = [];
    for (let position = 0; position < row.length; position += 2) {
      const left = row[position];
      const right = row[position + 1];
      if (left === undefined || right === undefined) throw new RangeError("a full tile has a power of two of hashes");
      above.push(interiorHash(left, right, sha256));
    }
    row = above;
  }
  const root = row[0];
  if (root === undefined) throw new RangeError("a full tile is not empty");
  return root;
}

function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(hashes.length * HASH_BYTES);
  for (const [position, hash] of hashes.entries()) joined.set(hash, position * HASH_BYTES);
  return joined;
}

/**
 * The incomplete tile of each level, and the tiles that arriving leaves complete. Invariant: open[level] holds
 * openTileWidth(level, treeSize) hashes; the hashes of level 0 are anchor ids.
 */
export class TileAccumulator {
  readonly #sha256: Sha256;
  readonly #open: Uint8Array[][];
  #treeSize: number;

  /**
   * @param openTiles hashes of the incomplete tile of each level, level 0 first; levels above may be missing
   * @throws RangeError if their number does not match the size
   */
  constructor(treeSize: number, openTiles: readonly (readonly Uint8Array[])[], sha256: Sha256) {
    const levels = Math.max(tileLevelsAt(treeSize), openTiles.length);
    const open: Uint8Array[][] = [];
    for (let level = 0; level < levels; level++) {
      const hashes = openTiles[level] ?? [];
      if (hashes.length !== openTileWidth(level, treeSize))
        throw new RangeError(`the open tile of level ${level} has ${hashes.length} hashes at size ${treeSize}`);
      open.push([...hashes]);
    }
    this.#sha256 = sha256;
    this.#open = open;
    this.#treeSize = treeSize;
  }

  get treeSize(): number {
    return this.#treeSize;
  }

  /** Copies of the open tiles, level 0 first. */
  openTiles(): Uint8Array[][] {
    return this.#open.map((hashes) => [...hashes]);
  }

  /** An independent copy. */
  fork(): TileAccumulator {
    return new TileAccumulator(this.#treeSize, this.#open, this.#sha256);
  }

  /**
   * Adds a leaf.
   * @param tree with this leaf, if there is one: the roots of complete tiles are read there, and not hashed again
   * @returns the tiles that it completes, lowest level first; usually none
   */
  append(leafHash: Uint8Array, tree: SubtreeRoots | null = null): readonly CompletedTile[] {
    this.#treeSize++;
    if (!this.#fills(0, leafHash)) return NO_TILES;
    const completed: CompletedTile[] = [];
    for (let level = 0; ; level++) {
      const hashes = this.#open[level] ?? [];
      const index = Math.floor(this.#treeSize / TILE_WIDTH ** (level + 1)) - 1;
      const root = tree?.subtree((level + 1) * TILE_HEIGHT, index) ?? foldTile(hashes, this.#sha256);
      completed.push({ level, index, root, hashes: joinHashes(hashes) });
      this.#open[level] = [];
      if (!this.#fills(level + 1, root)) return completed;
    }
  }

  /** Adds a hash to the open tile of a level. True: it is the last one of the tile. */
  #fills(level: number, hash: Uint8Array): boolean {
    const open = (this.#open[level] ??= []);
    open.push(hash);
    return open.length === TILE_WIDTH;
  }
}
