/** The one statement that writes everything that an entry decided, composed of parts. */
import { StatementCache } from "../postgres/composed-statement.ts";
import type { Parameter, Statement } from "../postgres/connection.ts";

/** A part is included if the entry has rows for it. Each reads from `guard`; `?` is the next parameter. */
export interface GuardedPart {
  /** Unique among all parts. */
  readonly name: string;
  readonly sql: string;
}

const STATEMENTS = new StatementCache("apply");

/**
 * Parts with their values, in the order in which they were added. If the guard gives no row, nothing is written at
 * all.
 */
export class GuardedStatement {
  readonly #guard: GuardedPart;
  readonly #parts: GuardedPart[] = [];
  readonly #values: Parameter[];

  constructor(guard: GuardedPart, values: readonly Parameter[]) {
    this.#guard = guard;
    this.#values = [...values];
  }

  add(part: GuardedPart, values: readonly Parameter[]): void {
    this.#parts.push(part);
    this.#values.push(...values);
  }

  finish(): { statement: Required<Statement>; values: readonly Parameter[] } {
    const key = [this.#guard, ...this.#parts].map(({ name }) => name).join(" ");
    return { statement: STATEMENTS.statement(key, () => this.#text()), values: this.#values };
  }

  #text(): string {
    const parts = this.#parts.map(({ name, sql }) => `${name} AS (${sql})`);
    const ctes = [`guard AS (${this.#guard.sql})`, ...parts];
    return `WITH ${ctes.join(",\n")}\nSELECT count(*) AS applied FROM guard`;
  }
}
