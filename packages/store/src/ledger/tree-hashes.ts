/** Interior hashes of origins' trees, from complete tiles and, at the right edge, from the level below. */
import { TILE_WIDTH, bytesToHex, interiorHash, subtreesOfSize, tileOf } from "@event-anchoring/protocol";
import type { Frontier, HashAt, Subtree } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bigintArray, byteaArray, smallintArray } from "../postgres/binary-array.ts";
import type { Parameter, Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";

const HASH_BYTES = 32;

/** Hashes [start, end) of the tile (level, index) of an origin, whether or not that tile is complete. */
export interface HashRange {
  readonly level: number;
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

export interface HashRangesOfOrigin {
  readonly originFingerprint: Uint8Array;
  readonly ranges: readonly HashRange[];
}

interface HashRangeRow {
  readonly applied_index: number;
  /** Position among all ranges, from 1; null if none was asked for. */
  readonly n: number | null;
  readonly tree_size: number;
  readonly hashes: Uint8Array | null;
}

/**
 * One row for each range of a known origin. A tile that is not complete is not stored: its hashes are the anchor ids,
 * or the roots of the tiles below.
 */
const HASH_RANGES = {
  name: "hash_ranges",
  text: `
    WITH listed (place, origin, tree_size) AS (
      SELECT u.place, o.origin,
        (SELECT coalesce(max(a.depth) + 1, 0) FROM state.anchors a WHERE a.origin = o.origin)
      FROM unnest($1::bytea[]) WITH ORDINALITY AS u (origin_fingerprint, place)
      JOIN state.origins o ON o.origin_fingerprint = u.origin_fingerprint
    ), found AS (
      SELECT u.n, x.tree_size, CASE
        WHEN t.hashes IS NOT NULL THEN substring(t.hashes FROM u.first * 32 + 1 FOR (u.past - u.first) * 32)
        WHEN u.level = 0 THEN (
          SELECT string_agg(a.anchor_id, ''::bytea ORDER BY a.depth) FROM state.anchors a
          WHERE a.origin = x.origin AND a.depth >= u.index * 256 + u.first AND a.depth < u.index * 256 + u.past)
        ELSE (
          SELECT string_agg(b.root, ''::bytea ORDER BY b.index) FROM state.tiles b
          WHERE b.origin = x.origin AND b.level = u.level - 1
            AND b.index >= u.index * 256 + u.first AND b.index < u.index * 256 + u.past)
        END AS hashes
      FROM unnest($2::smallint[], $3::smallint[], $4::bigint[], $5::smallint[], $6::smallint[])
        WITH ORDINALITY AS u (place, level, index, first, past, n)
      JOIN listed x ON x.place = u.place
      LEFT JOIN state.tiles t ON t.origin = x.origin AND t.level = u.level AND t.index = u.index
    )
    SELECT l.applied_index, found.* FROM state.ledger l LEFT JOIN found ON true ORDER BY found.n`,
};

/** Leaves that must be there for the range to be complete. */
function leavesNeeded(range: HashRange): number {
  return (range.index * TILE_WIDTH + range.end) * TILE_WIDTH ** range.level;
}

function rangeParameters(requests: readonly HashRangesOfOrigin[]): Parameter[] {
  const flat = requests.flatMap(({ ranges }, position) => ranges.map((range) => ({ place: position + 1, ...range })));
  return [
    byteaArray(requests.map(({ originFingerprint }) => originFingerprint)),
    smallintArray(flat.map(({ place }) => place)),
    smallintArray(flat.map(({ level }) => level)),
    bigintArray(flat.map(({ index }) => index)),
    smallintArray(flat.map(({ start }) => start)),
    smallintArray(flat.map(({ end }) => end)),
  ];
}

function hashesOfRange(range: HashRange, row: HashRangeRow): Uint8Array {
  if (leavesNeeded(range) > row.tree_size) {
    const what = `hashes up to ${range.end} of tile ${range.level}/${range.index}`;
    throw new StoreError("out_of_order", `${what} are not complete in a tree of ${row.tree_size} leaves`);
  }
  const hashes = row.hashes ?? new Uint8Array(0);
  if (hashes.length !== (range.end - range.start) * HASH_BYTES) {
    const what = `tile ${range.level}/${range.index}`;
    throw new StoreError("corrupt", `${what}: ${hashes.length} bytes of hashes ${range.start} to ${range.end}`);
  }
  return hashes;
}

export interface LoadedRanges {
  readonly appliedIndex: number;
  /** Parallel to the requests and their ranges. */
  readonly hashes: readonly (readonly Uint8Array[])[];
}

/**
 * One statement for any number of ranges of any number of origins.
 * @throws StoreError `out_of_order` if a range is not complete in what is applied, or an origin is unknown; `corrupt`
 * if required hashes are missing
 */
export async function loadHashRanges(session: Reader, requests: readonly HashRangesOfOrigin[]): Promise<LoadedRanges> {
  const rows = await session.read<HashRangeRow>(HASH_RANGES, rangeParameters(requests));
  const byPosition = new Map(rows.map((row) => [row.n, row]));
  let position = 0;
  const hashes = requests.map(({ originFingerprint, ranges }) =>
    ranges.map((range) => {
      const row = byPosition.get(++position);
      if (row === undefined) {
        throw new StoreError("out_of_order", `origin ${bytesToHex(originFingerprint)} is unknown`);
      }
      return hashesOfRange(range, row);
    }),
  );
  const first = rows[0];
  if (first === undefined) throw new StoreError("corrupt", "the row of the ledger is missing");
  return { appliedIndex: first.applied_index, hashes };
}

export function splitHashes(hashes: Uint8Array): Uint8Array[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, position) =>
    hashes.slice(position * HASH_BYTES, (position + 1) * HASH_BYTES),
  );
}

/** For each tile that holds a hash of one of the subtrees, the range that covers all of them in it. */
export function rangesOfSubtrees(subtrees: Iterable<Subtree>): HashRange[] {
  const ranges = new Map<string, HashRange>();
  for (const { level, index } of subtrees) {
    const { tileLevel, tileIndex, start, end } = tileOf(level, index);
    const key = `${tileLevel}/${tileIndex}`;
    const known = ranges.get(key) ?? { level: tileLevel, index: tileIndex, start, end };
    ranges.set(key, { ...known, start: Math.min(known.start, start), end: Math.max(known.end, end) });
  }
  return [...ranges.values()];
}

/** Hashes of a part of one tile; their folds are computed on demand, once each. */
class LoadedTile {
  readonly #range: HashRange;
  readonly #hashes: Uint8Array;
  readonly #folds = new Map<number, Uint8Array>();

  constructor(range: HashRange, hashes: Uint8Array) {
    this.#range = range;
    this.#hashes = hashes;
  }

  /** Root of the hashes [start, end), whose number is a power of two; undefined if they are not all here. */
  fold(start: number, end: number): Uint8Array | undefined {
    const { start: first, end: past } = this.#range;
    return start < first || end > past ? undefined : this.#fold(start, end);
  }

  #fold(start: number, end: number): Uint8Array {
    if (end - start === 1) {
      const offset = (start - this.#range.start) * HASH_BYTES;
      return this.#hashes.slice(offset, offset + HASH_BYTES);
    }
    const key = start * TILE_WIDTH * 2 + end;
    const known = this.#folds.get(key);
    if (known !== undefined) return known;
    const middle = (start + end) / 2;
    const folded = interiorHash(this.#fold(start, middle), this.#fold(middle, end), nodeCrypto.sha256);
    this.#folds.set(key, folded);
    return folded;
  }
}

/** The tiles of one origin, or parts of them, that were loaded for some proofs. */
export class LoadedTiles {
  readonly #tiles = new Map<string, LoadedTile>();

  constructor(ranges: readonly HashRange[], hashes: readonly Uint8Array[]) {
    ranges.forEach((range, position) => {
      const loaded = hashes[position];
      if (loaded !== undefined) this.#tiles.set(`${range.level}/${range.index}`, new LoadedTile(range, loaded));
    });
  }

  /** For proveInclusion and proveConsistency. @throws StoreError `out_of_order` for hashes that were not loaded */
  readonly hashAt: HashAt = (level, index) => {
    const { tileLevel, tileIndex, start, end } = tileOf(level, index);
    const root = this.#tiles.get(`${tileLevel}/${tileIndex}`)?.fold(start, end);
    if (root === undefined) throw new StoreError("out_of_order", `subtree (${level}, ${index}) was not loaded`);
    return root;
  };

  frontier(treeSize: number): Frontier {
    const hashes = subtreesOfSize(treeSize).map(({ level, index }) => this.hashAt(level, index));
    return { size: treeSize, hashes };
  }
}
