/** state.trust_root_positions: the leaf from which a version of the trust root judges an origin. */
import type { EntryWrites, TrustRootPosition } from "@event-anchoring/ledger";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import type { OriginNumbers } from "./origin-numbers.ts";
import { arraysOf, bigint, insertOf, selectOf, smallint } from "./table.ts";
import type { Columns } from "./table.ts";

const COLUMNS: Columns<TrustRootPosition> = { leafIndex: bigint("leaf_index"), version: bigint("version") };

const ALL = { origin: smallint("origin"), ...COLUMNS };

const arrays = arraysOf(ALL);
const INSERT = { name: "positions", sql: insertOf("state.trust_root_positions", ALL) };

export function addPositions(
  statement: GuardedStatement,
  positions: EntryWrites["trustRootPositions"],
  numbers: OriginNumbers,
): void {
  if (positions.length > 0) statement.add(INSERT, arrays(positions, { origin: numbers.of(positions) }));
}

/** The positions of one origin, ascending. */
export async function loadPositions(session: Reader, origin: number): Promise<TrustRootPosition[]> {
  return session.read<TrustRootPosition>(
    {
      text: `SELECT ${selectOf("p", COLUMNS)} FROM state.trust_root_positions p
        WHERE p.origin = $1 ORDER BY p.leaf_index`,
    },
    [origin],
  );
}
