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

/** @returns the bytes of a tile, by its path in the log; null: there is none under this path */
export type FetchTile = (path: string) => Promise<Uint8Array | null>;

/** The tile that holds a subtree of a tree of `size` leaves, and where in it. */
function placeOf(level: number, index: number, size: number) {
  const { tileLevel, tileIndex, start, end } = tileOf(level, index);
  const path = tilePath(tileLevel, tileIndex, tileWidthAt(tileLevel, tileIndex, size));
  return { path, fullPath: tilePath(tileLevel, tileIndex), start, end };
}

/** Who keeps files removes a partial tile once the full one, which begins with it, is there. */
async function tileAt({ path, fullPath }: ReturnType<typeof placeOf>, fetchTile: FetchTile): Promise<Uint8Array> {
  const tile = (await fetchTile(path)) ?? (path === fullPath ? null : await fetchTile(fullPath));
  if (tile === null) throw new UnexpectedAnswer(`there is no ${path}`);
  return tile;
}

/**
 * For a MonitoredService that reads a public log, or files, without a key. Whether it proves anything is for who
 * verifies it.
 * @throws UnexpectedAnswer for a tile that is missing or too short
 */
export async function proofFromTiles(
  fromSize: number,
  toSize: number,
  fetchTile: FetchTile,
): Promise<readonly Uint8Array[]> {
  const places = subtreesForConsistency(fromSize, toSize).map(({ level, index }) => placeOf(level, index, toSize));
  const tiles = new Map<string, Uint8Array>();
  for (const place of places) if (!tiles.has(place.path)) tiles.set(place.path, await tileAt(place, fetchTile));
  const hashAt = (level: number, index: number): Uint8Array => {
    const { path, start, end } = placeOf(level, index, toSize);
    const tile = tiles.get(path) ?? new Uint8Array(0);
    if (tile.length < end * 32) throw new UnexpectedAnswer(`the tile ${path} has ${tile.length} bytes`);
    return subtreeHashInTile(tile, start, end, sha256);
  };
  return proveConsistency(fromSize, toSize, hashAt, sha256);
}
