/** state.tiles: complete tiles of each origin's tree. An incomplete one is read from the level below it. */
import type { TileWrite } from "@event-anchoring/ledger";
import type { GuardedStatement } from "./guarded-statement.ts";
import type { OriginNumbers } from "./origin-numbers.ts";
import { arraysOf, bigint, bytea, insertOf, smallint } from "./table.ts";
import type { Columns } from "./table.ts";

const COLUMNS: Columns<Omit<TileWrite, "originFingerprint"> & { readonly origin: number }> = {
  origin: smallint("origin"),
  level: smallint("level"),
  index: bigint("index"),
  root: bytea("root"),
  hashes: bytea("hashes"),
};

const arrays = arraysOf(COLUMNS);
const INSERT = { name: "tiles", sql: insertOf("state.tiles", COLUMNS) };

export function addTiles(statement: GuardedStatement, tiles: readonly TileWrite[], numbers: OriginNumbers): void {
  if (tiles.length > 0) statement.add(INSERT, arrays(tiles, { origin: numbers.of(tiles) }));
}
