/** Orphan rows: rows that follow from no leaf. */
import type { Reader } from "../postgres/connection.ts";
import type { Findings } from "./findings.ts";

/** `key` names the row; only the first ones of each table are reported. */
interface OrphanQuery {
  readonly table: string;
  readonly should: string;
  readonly sql: string;
}

const ORPHANS_MAX = 100;
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** An origin as every difference names it; an unlisted one by its number. */
const ORIGIN = (alias: string): string => `coalesce(
  (SELECT 'origin ' || encode(o.origin_fingerprint, 'hex') FROM state.origins o WHERE o.origin = ${alias}.origin),
  'origin number ' || ${alias}.origin)`;

/** $1: the next sequence. */
const QUERIES: readonly OrphanQuery[] = [
  ...["anchors", "claims", "grants", "revocations"].map((table) => ({
    table: `state.${table}`,
    should: "no row: the ledger has no such sequence yet",
    // Two ranges of the index; an OR would walk all of it.
    sql: `SELECT 'sequence ' || sequence AS key FROM state.${table} WHERE sequence < 0
      UNION ALL SELECT 'sequence ' || sequence FROM state.${table} WHERE sequence >= $1`,
  })),
  {
    table: "state.certificates",
    should: "no row: there is no tree of that size",
    sql: `SELECT ${ORIGIN("c")} || ', tree_size ' || c.tree_size AS key FROM state.certificates c
      WHERE NOT EXISTS (SELECT 1 FROM state.anchors a WHERE a.origin = c.origin AND a.depth = c.tree_size - 1)
        AND $1::bigint >= 0`,
  },
  {
    table: "state.tiles",
    should: "no row: the tree has no such complete tile",
    sql: `SELECT ${ORIGIN("t")} || ', level ' || t.level || ', index ' || t.index AS key
      FROM state.tiles t LEFT JOIN (
        SELECT o.origin,
          (SELECT coalesce(max(a.depth)::numeric + 1, 0) FROM state.anchors a WHERE a.origin = o.origin) AS size
        FROM state.origins o
      ) AS tree ON tree.origin = t.origin
      WHERE (tree.size IS NULL OR t.level < 0 OR t.index < 0 OR t.level > 6
        OR (t.index::numeric + 1) * 256::numeric ^ (t.level + 1) > tree.size) AND $1::bigint >= 0`,
  },
  {
    table: "state.trust_root_positions",
    should: "no row: no origin has that number",
    sql: `SELECT 'origin number ' || p.origin || ', leaf_index ' || p.leaf_index AS key
      FROM state.trust_root_positions p
      WHERE NOT EXISTS (SELECT 1 FROM state.origins o WHERE o.origin = p.origin) AND $1::bigint >= 0`,
  },
];

export async function judgeOrphanRows(session: Reader, nextSequence: number, findings: Findings): Promise<void> {
  for (const { table, should, sql } of QUERIES) {
    const rows = await session.read<{ key: string }>({ text: `${sql} LIMIT ${ORPHANS_MAX}` }, [nextSequence]);
    for (const { key } of rows) findings.add({ table, key, at: AFTER_ALL }, null, "a row", should);
  }
}
