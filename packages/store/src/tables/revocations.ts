/** state.revocations: which revocation revokes which record. */
import type { RevocationWrite } from "@event-anchoring/ledger";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bigint, insertOf } from "./table.ts";
import type { Columns } from "./table.ts";

const COLUMNS: Columns<RevocationWrite> = { sequence: bigint("sequence"), target: bigint("target") };

const arrays = arraysOf(COLUMNS);
const INSERT = { name: "revocations", sql: insertOf("state.revocations", COLUMNS) };

export function addRevocations(statement: GuardedStatement, revocations: readonly RevocationWrite[]): void {
  statement.add(INSERT, arrays(revocations, {}));
}
