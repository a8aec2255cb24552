/** Rows of state.tiles: complete tiles, each a function of the anchor ids below it. */
import type { CompletedTile } from "@event-anchoring/ledger";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { bigintArray, smallintArray } from "../postgres/binary-array.ts";
import type { Reader } from "../postgres/connection.ts";
import type { Findings, RowName } from "./findings.ts";

const HASH_BYTES = 32;

/** A tile that the leaves complete. */
export interface DerivedTile extends CompletedTile {
  readonly origin: number;
  readonly originFingerprint: Uint8Array;
  /** Sequence of the leaf that completes it. */
  readonly at: number;
}

interface TileRow {
  readonly n: number;
  readonly root: Uint8Array;
  readonly hashes: Uint8Array;
}

function tileRow(tile: { readonly originFingerprint: Uint8Array; level: number; index: number }): Omit<RowName, "at"> {
  const { originFingerprint, level, index } = tile;
  return { table: "state.tiles", key: `origin ${bytesToHex(originFingerprint)}, level ${level}, index ${index}` };
}

/** Names only the first hash that differs: 8 KiB of hex would be useless. */
function judgeHashes(name: RowName, stated: Uint8Array, derived: Uint8Array, findings: Findings): void {
  for (let place = 0; place * HASH_BYTES < derived.length; place++) {
    const [is, shouldBe] = [stated, derived].map((hashes) =>
      hashes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
    );
    if (is === undefined || shouldBe === undefined || equalBytes(is, shouldBe)) continue;
    findings.add(name, "hashes", `${bytesToHex(is)} at place ${place}`, bytesToHex(shouldBe));
    return;
  }
}

export async function judgeTiles(session: Reader, tiles: readonly DerivedTile[], findings: Findings): Promise<void> {
  if (tiles.length === 0) return;
  const rows = await session.read<TileRow>(
    {
      name: "fsck_tiles",
      text: `SELECT u.n, t.root, t.hashes
        FROM unnest($1::smallint[], $2::smallint[], $3::bigint[]) WITH ORDINALITY AS u (origin, level, index, n)
        JOIN state.tiles t ON t.origin = u.origin AND t.level = u.level AND t.index = u.index`,
    },
    [
      smallintArray(tiles.map(({ origin }) => origin)),
      smallintArray(tiles.map(({ level }) => level)),
      bigintArray(tiles.map(({ index }) => index)),
    ],
  );
  const byPlace = new Map(rows.map((row) => [row.n, row]));
  for (const [place, tile] of tiles.entries()) {
    const name: RowName = { ...tileRow(tile), at: tile.at };
    const row = byPlace.get(place + 1);
    findings.checked.tiles += 1;
    if (row === undefined) {
      findings.add(name, null, "missing", `256 hashes under ${bytesToHex(tile.root)}`);
      continue;
    }
    findings.compare(name, { root: row.root }, { root: tile.root });
    judgeHashes(name, row.hashes, tile.hashes, findings);
  }
}
