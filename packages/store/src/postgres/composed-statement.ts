/** Statements composed of parts: only needed parts are in the statement. */
import type { Statement } from "./connection.ts";

/** `?` is the next parameter of the statement. */
export function numbered(sql: string): string {
  let parameter = 0;
  return sql.replaceAll("?", () => `$${++parameter}`);
}

/** A name has at most 63 bytes; the number of the combination keeps it short and unique. */
export class StatementCache {
  readonly #prefix: string;
  readonly #statements = new Map<string, Required<Statement>>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Few combinations occur, and each is prepared once per session. @param key names the combination */
  statement(key: string, sql: () => string): Required<Statement> {
    const known = this.#statements.get(key);
    if (known !== undefined) return known;
    const statement = { name: `${this.#prefix}_${this.#statements.size}`, text: numbered(sql()) };
    this.#statements.set(key, statement);
    return statement;
  }
}

/** Columns that a part fills, by name, as SQL. */
export type ColumnSql = Readonly<Record<string, string>>;

/** One SELECT among several whose rows come back together. */
export interface SelectPart {
  /** The name of its rows, in the column `what`. */
  readonly what: string;
  readonly columns: ColumnSql;
  /** Everything after the column list. */
  readonly from: string;
}

/** Types of all columns. */
const TYPES: Readonly<Record<string, string>> = {
  anchor_id: "bytea",
  api_client_id: "bytea",
  client_event_id: "text",
  content_hash: "bytea",
  depth: "bigint",
  is_erased: "boolean",
  kind: "smallint",
  origin: "smallint",
  record: "bytea",
  sequence: "bigint",
};

/** The rows of all parts, each with null in the columns of the others. */
export function unionOf(parts: readonly SelectPart[]): string {
  const names = [...new Set(parts.flatMap(({ columns }) => Object.keys(columns)))];
  const selects = parts.map(({ what, columns, from }) => {
    const values = names.map((name) => `${columns[name] ?? `NULL::${TYPES[name]}`} AS ${name}`);
    return `SELECT '${what}' AS what, ${values.join(", ")} ${from}`;
  });
  return selects.join("\nUNION ALL\n");
}
