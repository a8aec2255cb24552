/** state.trust_roots: every version of the trust root, as it was signed. */
import type { EntryWrites, StoredTrustRoot } from "@event-anchoring/ledger";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bigint, bytea, insertOf, selectOf, text } from "./table.ts";
import type { Columns } from "./table.ts";

export interface StoredTrustRootRow {
  readonly version: number;
  readonly rootThk: Uint8Array;
  /** Sequence of the first leaf that announces it. */
  readonly sequence: number;
  /** The whole signed note. */
  readonly document: string;
}

const COLUMNS: Columns<StoredTrustRootRow> = {
  version: bigint("version"),
  rootThk: bytea("root_thk"),
  sequence: bigint("sequence"),
  document: text("document"),
};

const arrays = arraysOf(COLUMNS);
const INSERT = { name: "trust_roots", sql: insertOf("state.trust_roots", COLUMNS) };

export function addTrustRoots(statement: GuardedStatement, trustRoots: EntryWrites["trustRoots"]): void {
  if (trustRoots.length > 0) statement.add(INSERT, arrays(trustRoots, {}));
}

/** Rows are StoredTrustRootRow, ascending by version. */
export const SELECT_TRUST_ROOTS = `SELECT ${selectOf("t", COLUMNS)} FROM state.trust_roots t ORDER BY t.version`;

/** Ascending by version. */
export async function loadTrustRoots(session: Reader): Promise<StoredTrustRoot[]> {
  const { version, document } = COLUMNS;
  return session.read<StoredTrustRoot>({
    text: `SELECT ${selectOf("t", { version, document })} FROM state.trust_roots t ORDER BY t.version`,
  });
}
