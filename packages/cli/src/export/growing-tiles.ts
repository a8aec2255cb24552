import { TILE_WIDTH, concatBytes, frontierRoot, subtreeHashInTile, tileWidthAt } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";

/** A tile of hashes. */
export interface HashTile {
  readonly level: number;
  readonly index: number;
  /** Hashes in it. */
  readonly width: number;
  readonly bytes: Uint8Array;
}

/** 8 of them hold 2^64 leaves. */
const LEVELS = 8;

/** The hash tiles of a tree to which leaves are added: of each level, the tile that is not full yet. */
export class GrowingTiles {
  readonly #levels: Uint8Array[][];
  readonly #sha256: Sha256;
  #size: number;

  private constructor(size: number, levels: Uint8Array[][], sha256: Sha256) {
    this.#size = size;
    this.#levels = levels;
    this.#sha256 = sha256;
  }

  /** @param readTile the bytes of a tile of the tree of `size` leaves */
  static open(size: number, readTile: (tile: Omit<HashTile, "bytes">) => Uint8Array, sha256: Sha256): GrowingTiles {
    const levels = Array.from({ length: LEVELS }, (_, level) => {
      const index = Math.floor(size / TILE_WIDTH ** (level + 1));
      const width = tileWidthAt(level, index, size);
      const bytes = width === 0 ? new Uint8Array(0) : readTile({ level, index, width });
      return Array.from({ length: width }, (_hash, at) => bytes.slice(at * 32, at * 32 + 32));
    });
    return new GrowingTiles(size, levels, sha256);
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the tiles that are full by it */
  append(leafHash: Uint8Array): HashTile[] {
    const full: HashTile[] = [];
    let hash = leafHash;
    this.#size += 1;
    for (const [level, hashes] of this.#levels.entries()) {
      hashes.push(hash);
      if (hashes.length < TILE_WIDTH) break;
      const bytes = concatBytes(...hashes.splice(0));
      full.push({ level, index: this.#size / TILE_WIDTH ** (level + 1) - 1, width: TILE_WIDTH, bytes });
      hash = subtreeHashInTile(bytes, 0, TILE_WIDTH, this.#sha256);
    }
    return full;
  }

  /** The tiles that are not full. */
  partial(): HashTile[] {
    return this.#levels.flatMap((hashes, level) => {
      const index = Math.floor(this.#size / TILE_WIDTH ** (level + 1));
      return hashes.length === 0 ? [] : [{ level, index, width: hashes.length, bytes: concatBytes(...hashes) }];
    });
  }

  root(): Uint8Array {
    const hashes = this.partial()
      .toReversed()
      .flatMap(({ width, bytes }) => perfectSubtrees(width).map(([start, end]) => [bytes, start, end] as const))
      .map(([bytes, start, end]) => subtreeHashInTile(bytes, start, end, this.#sha256));
    return frontierRoot({ size: this.#size, hashes }, this.#sha256);
  }
}

/** `width` split into powers of two, the largest first. */
function perfectSubtrees(width: number): [number, number][] {
  const parts: [number, number][] = [];
  let start = 0;
  for (let length = TILE_WIDTH; length >= 1; length /= 2) {
    if (start + length > width) continue;
    parts.push([start, start + length]);
    start += length;
  }
  return parts;
}
