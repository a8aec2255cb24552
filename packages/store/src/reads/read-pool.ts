import pg from "pg";
import { COLUMN_TYPES } from "../postgres/connection.ts";
import type { Parameter, Reader, Row, Statement } from "../postgres/connection.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { toStoreError } from "../postgres/sqlstate.ts";

export interface ReadPoolOptions {
  readonly url: string;
  /** Connections, opened as needed. Default 4. */
  readonly max?: number;
  /** The server cancels a statement after this many ms. Default 5,000. */
  readonly statementTimeoutMs?: number;
  /** Called for sessions that were lost while idle; statements under way fail by themselves. */
  readonly onError?: (cause: Error) => void;
}

const POOL_MAX_DEFAULT = 4;
const STATEMENT_TIMEOUT_DEFAULT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;

const SETTINGS = {
  ...INDEXED_PLANS,
  default_transaction_read_only: "on",
};

/** Connections that can only read. A lost one is replaced when it is next needed. */
export class ReadPool implements Reader {
  readonly #pool: pg.Pool;

  constructor(options: ReadPoolOptions) {
    this.#pool = new pg.Pool({
      connectionString: options.url,
      application_name: "event-anchoring reads",
      max: options.max ?? POOL_MAX_DEFAULT,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_DEFAULT_MS,
      keepAlive: true,
      options: Object.entries(SETTINGS)
        .map(([key, value]) => `-c ${key}=${value}`)
        .join(" "),
      types: COLUMN_TYPES,
    });
    // Without a handler, an idle connection that the server ends would end the process.
    this.#pool.on("error", options.onError ?? (() => undefined));
  }

  async read<R extends object = Row>(statement: Statement, values: readonly Parameter[] = []): Promise<R[]> {
    try {
      const result = await this.#pool.query<R & pg.QueryResultRow>({
        ...(statement.name === undefined ? {} : { name: statement.name }),
        text: statement.text,
        values: [...values],
      });
      return result.rows;
    } catch (cause) {
      throw toStoreError(cause, "read", statement.name ?? statement.text.slice(0, 60));
    }
  }

  /** A consistent view over several statements. */
  async snapshot<T>(work: (session: Reader) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let failure: Error | undefined;
    const run = async <R extends object>(statement: Statement, values: readonly Parameter[] = []): Promise<R[]> => {
      try {
        const result = await client.query<R & pg.QueryResultRow>({ text: statement.text, values: [...values] });
        return result.rows;
      } catch (cause) {
        failure = cause instanceof Error ? cause : new Error(String(cause));
        throw toStoreError(cause, "read", statement.name ?? statement.text.slice(0, 60));
      }
    };
    try {
      await run({ text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" });
      const result = await work({ read: run });
      await run({ text: "COMMIT" });
      return result;
    } catch (cause) {
      failure ??= cause instanceof Error ? cause : new Error(String(cause));
      throw cause;
    } finally {
      // A session whose transaction did not end well is not used again.
      client.release(failure);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (cause) {
      throw toStoreError(cause, "read", "cannot connect to the database");
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
