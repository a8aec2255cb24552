/** C2SP tlog-tiles arithmetic: which tile holds which hash, and what the tile is called. */
import type { Sha256 } from "./crypto.ts";
import { interiorHash, shiftRight } from "./merkle.ts";

/** Levels of the tree in one tile. */
const TILE_HEIGHT = 8;
/** Hashes in a full tile, and leaves in a full entry bundle. */
export const TILE_WIDTH = 256;
const HASH_BYTES = 32;

/** Where a perfect subtree lies: its root is the fold of hashes [start, end) of that tile. */
export interface TilePosition {
  readonly tileLevel: number;
  readonly tileIndex: number;
  /** First hash in the tile, 0 to 255. */
  readonly start: number;
  /** One past the last hash; end − start is a power of two. */
  readonly end: number;
}

/** The tile of the subtree (level, index). */
export function tileOf(level: number, index: number): TilePosition {
  const tileLevel = Math.floor(level / TILE_HEIGHT);
  const width = 2 ** (level % TILE_HEIGHT);
  const first = index * width;
  const start = first % TILE_WIDTH;
  return { tileLevel, tileIndex: shiftRight(first, TILE_HEIGHT), start, end: start + width };
}

/** How many hashes the tile holds in a tree of `treeSize` leaves: 0 (it does not exist) to 256 (it is full). */
export function tileWidthAt(tileLevel: number, tileIndex: number, treeSize: number): number {
  const hashes = shiftRight(treeSize, tileLevel * TILE_HEIGHT) - tileIndex * TILE_WIDTH;
  return Math.max(0, Math.min(TILE_WIDTH, hashes));
}

function numberPath(index: number): string {
  const groups: string[] = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return groups.join("/");
}

function partialSuffix(width: number): string {
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH) throw new RangeError(`not a tile width: ${width}`);
  return width === TILE_WIDTH ? "" : `.p/${width}`;
}

/** `tile/<L>/<N>[.p/<W>]`, for example `tile/0/x001/x234/067.p/112`. @param width hashes in it; 256 is a full tile */
export function tilePath(tileLevel: number, tileIndex: number, width: number = TILE_WIDTH): string {
  return `tile/${tileLevel}/${numberPath(tileIndex)}${partialSuffix(width)}`;
}

/** `tile/entries/<N>[.p/<W>]`: the entry bundle of leaves 256 · N and after. */
export function entriesPath(tileIndex: number, width: number = TILE_WIDTH): string {
  return `tile/entries/${numberPath(tileIndex)}${partialSuffix(width)}`;
}

/**
 * Root of the subtree that is hashes [start, end) of a tile.
 * @param tile the tile's bytes, full or partial
 * @throws RangeError if the tile does not hold all of them, or their number is not a power of two
 */
export function subtreeHashInTile(tile: Uint8Array, start: number, end: number, sha256: Sha256): Uint8Array {
  if (start < 0 || end > TILE_WIDTH || end * HASH_BYTES > tile.length) {
    throw new RangeError(`hashes ${start} to ${end} are not in a tile of ${tile.length} bytes`);
  }
  let hashes: Uint8Array[] = [];
  for (let position = start; position < end; position++) {
    hashes.push(tile.slice(position * HASH_BYTES, (position + 1) * HASH_BYTES));
  }
  while (hashes.length > 1) {
    const parents: Uint8Array[] = [];
    for (let position = 0; position < hashes.length; position += 2) {
      const left = hashes[position];
      const right = hashes[position + 1];
      if (left === undefined || right === undefined) throw new RangeError(`${end - start} is not a power of two`);
      parents.push(interiorHash(left, right, sha256));
    }
    hashes = parents;
  }
  const root = hashes[0];
  if (root === undefined) throw new RangeError("an empty range has no root");
  return root;
}
