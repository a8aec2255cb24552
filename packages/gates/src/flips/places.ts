import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Seeded } from "@event-anchoring/simulator";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { NodeFiles } from "@event-anchoring/testkit/cluster";

/** Which bits of a node are altered in one round. */
export type Flipped = "tables" | "catalogue" | "small files" | "log ahead" | "promise file" | "identity";

/** A byte of which a bit is to be altered. */
export interface Place {
  readonly path: string;
  readonly offset: number;
}

/** In different files: what one hides, another may show. */
const TABLES_AT_ONCE = 8;
const OWN_SCHEMAS = "('state', 'node')";
/** What `pg_control` uses of its file. */
const CONTROL_BYTES = 300;

/**
 * Bits of a node that runs, chosen by the dice; each byte of a kind is as likely as any other.
 * - `tables`: tables and indexes of the service, each bit in another file.
 * - `catalogue`: what Postgres keeps about tables.
 * - `small files`: `pg_control`, the maps of files, and what says which transactions were committed.
 * - `log ahead`: the write-ahead log since the last checkpoint, which a killed server reads.
 * - `promise file`, `identity`: what a node has promised; its keys, certificates and trust root.
 */
export async function placesOf(what: Flipped, files: NodeFiles, dice: Seeded): Promise<readonly Place[]> {
  const { promiseFile, identityDir, databaseDir, databaseUrl } = files;
  if (what === "promise file") return [placeIn([extentOf(promiseFile)], dice)];
  if (what === "identity") {
    return [
      placeIn(
        readdirSync(identityDir).map((name) => extentOf(join(identityDir, name))),
        dice,
      ),
    ];
  }
  const session = await SqlSession.open(databaseUrl);
  try {
    if (what === "log ahead") return [await placeInLog(session, databaseDir, dice)];
    if (what === "small files") return [placeIn(await smallFiles(session, databaseDir), dice)];
    return placesIn(await relations(session, databaseDir, what), what === "tables" ? TABLES_AT_ONCE : 1, dice);
  } finally {
    await session.close();
  }
}

interface Extent {
  readonly path: string;
  readonly from: number;
  readonly bytes: number;
}

function extentOf(path: string): Extent {
  const found = statSync(path);
  return { path, from: 0, bytes: found.isFile() ? found.size : 0 };
}

function placeIn(extents: readonly Extent[], dice: Seeded): Place {
  const [place] = placesIn(extents, 1, dice);
  if (place === undefined) throw new Error("there is nothing to alter");
  return place;
}

/** @returns at most so many, each in another file */
function placesIn(extents: readonly Extent[], count: number, dice: Seeded): readonly Place[] {
  const left = [...extents];
  const places: Place[] = [];
  while (places.length < count && left.some(({ bytes }) => bytes > 0)) {
    let at = dice.below(left.reduce((sum, { bytes }) => sum + bytes, 0));
    const found = left.findIndex(({ bytes }) => (at -= bytes) < 0);
    const [extent] = left.splice(found, 1);
    if (extent !== undefined) places.push({ path: extent.path, offset: extent.from + extent.bytes + at });
  }
  return places;
}

async function relations(session: SqlSession, dir: string, what: Flipped): Promise<readonly Extent[]> {
  const rows = await session.rows(
    `SELECT pg_relation_filepath(c.oid) AS path, pg_relation_size(c.oid)::int AS bytes
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_class AS o ON o.reltoastrelid = c.oid
    LEFT JOIN pg_namespace AS p ON p.oid = o.relnamespace
    WHERE c.relkind IN ('r', 'i', 't') AND NOT c.relisshared AND pg_relation_size(c.oid) > 0
      AND (coalesce(p.nspname, n.nspname) IN ${OWN_SCHEMAS}) = $1
    ORDER BY path`,
    [what === "tables"],
  );
  return rows.map(({ path, bytes }) => ({ path: join(dir, String(path)), from: 0, bytes: Number(bytes) }));
}

async function smallFiles(session: SqlSession, dir: string): Promise<readonly Extent[]> {
  const [row] = await session.rows(
    `SELECT oid, pg_snapshot_xmax(pg_current_snapshot())::text AS next
    FROM pg_database WHERE datname = current_database()`,
  );
  const statusBytes = Math.ceil(Number(row?.["next"]) / 4);
  return [
    { path: join(dir, "global/pg_control"), from: 0, bytes: CONTROL_BYTES },
    extentOf(join(dir, "global/pg_filenode.map")),
    extentOf(join(dir, `base/${String(row?.["oid"])}/pg_filenode.map`)),
    { path: join(dir, "pg_xact/0000"), from: 0, bytes: statusBytes },
  ];
}

async function placeInLog(session: SqlSession, dir: string, dice: Seeded): Promise<Place> {
  const [row] = await session.rows(
    `WITH span AS (
      SELECT redo_lsn AS low, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) AS bytes
      FROM pg_control_checkpoint()
    )
    SELECT file_name, file_offset
    FROM span, pg_walfile_name_offset(low + trunc(bytes * $1::numeric))`,
    [dice.unit()],
  );
  return { path: join(dir, "pg_wal", String(row?.["file_name"])), offset: Number(row?.["file_offset"]) };
}
