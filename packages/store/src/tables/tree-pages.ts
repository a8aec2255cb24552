/** state.tree_pages: pages of the state tree. */
import { StatePage } from "@event-anchoring/ledger";
import type { StateTreeUpdate } from "@event-anchoring/ledger";
import { DecodeError } from "@event-anchoring/protocol";
import { textArray } from "../postgres/binary-array.ts";
import type { Parameter, Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bytea, insertOf, selectOf, text } from "./table.ts";
import type { Columns } from "./table.ts";

interface TreePageRow {
  readonly prefix: string;
  /** Encoded. */
  readonly slots: Uint8Array;
}

const COLUMNS: Columns<TreePageRow> = { prefix: text("prefix"), slots: bytea("slots") };

const arrays = arraysOf(COLUMNS);
const INSERT = {
  name: "state_pages",
  sql: insertOf("state.tree_pages", COLUMNS, "ON CONFLICT (prefix) DO UPDATE SET slots = excluded.slots"),
};

const LOAD = {
  name: "state_pages",
  text: `SELECT ${selectOf("p", COLUMNS)} FROM state.tree_pages p WHERE p.prefix = ANY($1::text[])`,
};

/** Prefixes, then slots. */
export function statePageParameters(pages: StateTreeUpdate["pages"]): Parameter[] {
  const rows = [...pages].map(([prefix, page]) => ({ prefix, slots: page.bytes }));
  return arrays(rows, {});
}

export function addStatePages(statement: GuardedStatement, pages: StateTreeUpdate["pages"]): void {
  if (pages.size > 0) statement.add(INSERT, statePageParameters(pages));
}

/** The existing ones, by prefix. @throws StoreError `corrupt` */
export async function loadStatePages(session: Reader, prefixes: readonly string[]): Promise<Map<string, StatePage>> {
  const rows = await session.read<TreePageRow>(LOAD, [textArray(prefixes)]);
  return new Map(rows.map(({ prefix, slots }) => [prefix, decodePage(prefix, slots)]));
}

function decodePage(prefix: string, slots: Uint8Array): StatePage {
  try {
    return StatePage.decode(slots);
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new StoreError("corrupt", `page "${prefix}" of the state tree cannot be decoded`, { cause });
  }
}
