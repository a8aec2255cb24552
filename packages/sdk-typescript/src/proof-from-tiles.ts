/** The proof that one tree is the beginning of another, made from tiles: a public log shows these without a key. */
import {
  proveConsistency,
  subtreeHashInTile,
  subtreesForConsistency,
  tileOf,
  tilePath,
  tileWidthAt,
} from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { UnexpectedAnswer } from "./errors.ts";

/** @returns the bytes of a tile, by its path in the log */
export type FetchTile = (path: string) => Promise<Uint8Array>;

/** The path of the tile that holds a subtree of a tree of `size` leaves, and where in it. */
function placeOf(level: number, index: number, size: number) {
  const { tileLevel, tileIndex, start, end } = tileOf(level, index);
  return { path: tilePath(tileLevel, tileIndex, tileWidthAt(tileLevel, tileIndex, size)), start, end };
}

/**
 * For a MonitoredService that reads a public log, or files, without a key. Whether it proves anything is for who
 * verifies it.
 * @throws UnexpectedAnswer for a tile that is too short
 */
export async function proofFromTiles(
  fromSize: number,
  toSize: number,
  fetchTile: FetchTile,
): Promise<readonly Uint8Array[]> {
  const paths = subtreesForConsistency(fromSize, toSize).map(({ level, index }) => placeOf(level, index, toSize).path);
  const tiles = new Map<string, Uint8Array>();
  for (const path of new Set(paths)) tiles.set(path, await fetchTile(path));
  const hashAt = (level: number, index: number): Uint8Array => {
    const { path, start, end } = placeOf(level, index, toSize);
    const tile = tiles.get(path) ?? new Uint8Array(0);
    if (tile.length < end * 32) throw new UnexpectedAnswer(`the tile ${path} has ${tile.length} bytes`);
    return subtreeHashInTile(tile, start, end, sha256);
  };
  return proveConsistency(fromSize, toSize, hashAt, sha256);
}
