/** state.operators: the newest act of each operator. */
import type { OperatorAct } from "@event-anchoring/ledger";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bigint, insertOf, selectOf, text } from "./table.ts";
import type { Columns } from "./table.ts";

const COLUMNS: Columns<OperatorAct> = { operator: text("operator"), counter: bigint("counter") };

const arrays = arraysOf(COLUMNS);
const INSERT = {
  name: "operators",
  sql: insertOf("state.operators", COLUMNS, "ON CONFLICT (operator) DO UPDATE SET counter = excluded.counter"),
};

export function addOperatorActs(statement: GuardedStatement, acts: readonly OperatorAct[]): void {
  if (acts.length > 0) statement.add(INSERT, arrays(acts, {}));
}

/** By name. */
export async function loadOperatorActs(session: Reader): Promise<OperatorAct[]> {
  return session.read<OperatorAct>({
    text: `SELECT ${selectOf("o", COLUMNS)} FROM state.operators o ORDER BY o.operator`,
  });
}
