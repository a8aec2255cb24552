/** Complete tiles of an origin (C2SP tlog-tiles, height 8): immutable once made, and all that is stored of its tree. */
import { TILE_WIDTH, interiorHash } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";

const HASH_BYTES = 32;

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

  /** Adds a leaf. @returns the tiles that it completes, lowest level first; usually none */
  append(leafHash: Uint8Array): CompletedTile[] {
    const completed: CompletedTile[] = [];
    this.#push(leafHash, (level, open) => {
      const root = foldTile(open, this.#sha256);
      const index = Math.floor(this.#treeSize / TILE_WIDTH ** (level + 1)) - 1;
      completed.push({ level, index, root, hashes: joinHashes(open) });
      return root;
    });
    return completed;
  }

  /**
   * Adds leaves whose tiles a fork has completed before, without hashing them again.
   * @param completed what the fork's append returned for these leaves, in order
   */
  absorb(leafHashes: readonly Uint8Array[], completed: readonly CompletedTile[]): void {
    let next = 0;
    for (const leafHash of leafHashes) {
      this.#push(leafHash, (level) => {
        const tile = completed[next++];
        if (tile === undefined || tile.level !== level) throw new RangeError(`no tile of level ${level} was completed`);
        return tile.root;
      });
    }
    if (next !== completed.length) throw new RangeError(`${completed.length - next} tiles were completed by nothing`);
  }

  #push(leafHash: Uint8Array, close: (level: number, open: readonly Uint8Array[]) => Uint8Array): void {
    this.#treeSize++;
    let hash = leafHash;
    for (let level = 0; ; level++) {
      const open = this.#open[level] ?? [];
      this.#open[level] = open;
      open.push(hash);
      if (open.length < TILE_WIDTH) return;
      hash = close(level, open);
      this.#open[level] = [];
    }
  }
}
