/** state.origins: the origins that trust roots list, and their short numbers in other tables. */
import type { EntryWrites } from "@event-anchoring/ledger";
import type { OriginStatus } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import type { OriginNumbers } from "./origin-numbers.ts";
import { arraysOf, bytea, insertOf, selectOf, smallint, text } from "./table.ts";

const COLUMNS = {
  origin: smallint("origin"),
  originFingerprint: bytea("origin_fingerprint"),
  status: text("status"),
};

const arrays = arraysOf(COLUMNS);
const INSERT = {
  name: "origins",
  sql: insertOf("state.origins", COLUMNS, "ON CONFLICT (origin) DO UPDATE SET status = excluded.status"),
};

export function addOrigins(
  statement: GuardedStatement,
  statuses: EntryWrites["originStatuses"],
  numbers: OriginNumbers,
): void {
  if (statuses.length > 0) statement.add(INSERT, arrays(statuses, { origin: numbers.of(statuses) }));
}

export interface OriginRow {
  readonly origin: number;
  readonly originFingerprint: Uint8Array;
  readonly status: OriginStatus;
  /** null: no leaf. */
  readonly maxDepth: number | null;
}

/** With the newest leaf of each, which its index gives without a scan. */
const LOAD = {
  name: "origins",
  text: `SELECT ${selectOf("o", COLUMNS)},
      (SELECT max(a.depth) FROM state.anchors a WHERE a.origin = o.origin) AS "maxDepth"
    FROM state.origins o ORDER BY o.origin_fingerprint`,
};

export async function loadOriginRows(session: Reader): Promise<OriginRow[]> {
  return session.read<OriginRow>(LOAD);
}
