import pg from "pg";
import { StoreError } from "./errors.ts";
import { LaneStatement } from "./lane-statement.ts";
import type { TextRow } from "./lane-statement.ts";
import { toStoreError } from "./sqlstate.ts";
import type { Phase } from "./sqlstate.ts";

/** Each name stands for one text: the server keeps its plan. Statements without a name run rarely. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

export type Parameter = Uint8Array | string | number | bigint | boolean | null;

/** Columns by name, parsed from the server's text by `parseColumn`. */
export type Row = Readonly<Record<string, unknown>>;

export interface Rows<R extends object> {
  readonly rows: R[];
  readonly command: string;
  readonly rowCount: number;
}

const BOOLEAN = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;

function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw new StoreError("corrupt", `an integer column holds ${text}, beyond 2^53 − 1`);
  }
  return value;
}

/** A plain Uint8Array, because `slice` of a Buffer does not copy, and pure code relies on a copy. */
function parseBytes(text: string): Uint8Array {
  const buffer = Buffer.from(text.slice(2), "hex");
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}

function parserOf(oid: number): (text: string) => unknown {
  switch (oid) {
    case BOOLEAN:
      return (text) => text === "t";
    case BYTEA:
      return parseBytes;
    case INT8:
    case INT4:
    case INT2:
      return parseInteger;
    default:
      return (text) => text;
  }
}

/** int2, int4, int8 → number (exact or an error), bytea → Uint8Array, bool → boolean, everything else text. */
export const COLUMN_TYPES: pg.CustomTypesConfig = { getTypeParser: parserOf };

/** Runs statements that change nothing. */
export interface Reader {
  read<R extends object = Row>(statement: Statement, values?: readonly Parameter[]): Promise<R[]>;
}

/** One session; while a transaction is open, that transaction. */
export interface Session extends Reader {
  /** A statement that changes something. Outside a transaction it commits by itself. */
  write<R extends object = Row>(statement: Statement, values?: readonly Parameter[]): Promise<R[]>;
  /** As `write`, for a statement that runs for every entry: one row at most, its columns as text. */
  writeLane(statement: Required<Statement>, values: readonly Parameter[]): Promise<TextRow | null>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Server settings of the session, as `-c` options; they win over those of role and database. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** How long to wait for the server to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Milliseconds an old session may take to leave before its successor gives up with `locked`. */
const LOCK_TIMEOUT_DEFAULT_MS = 10_000;

function optionsText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `-c ${key}=${value.replaceAll(/[\\ ]/g, "\\$&")}`)
    .join(" ");
}

/**
 * One database session whose statements run one after another, in call order; a transaction keeps its turn until it
 * ends, so no other statement gets into it. When the session is lost, `onLost` handlers are called once, every waiting
 * and later call fails, and the object cannot be used any more.
 */
export class Connection {
  readonly #client: pg.Client;
  readonly #lostHandlers: ((cause: Error) => void)[] = [];
  /** Names of statements that have run in this session. */
  readonly #prepared = new Set<string>();
  #tail: Promise<unknown> = Promise.resolve();
  #lost: Error | null = null;
  #isClosing = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on("error", (cause: Error) => this.#noteLost(cause));
    client.on("end", () => this.#noteLost(new Error("the server closed the connection")));
  }

  /** @throws StoreError `unavailable` (no server, not ready), `schema` (no such database or role) */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const client = new pg.Client({
      connectionString: options.url,
      application_name: options.name,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      options: optionsText(options.settings ?? {}),
      types: COLUMN_TYPES,
    });
    const connection = new Connection(client);
    try {
      await client.connect();
    } catch (cause) {
      throw toStoreError(cause, "read", "cannot connect to the database");
    }
    return connection;
  }

  /** The handler is called once, soon if the session is already lost; never because of close(). */
  onLost(handler: (cause: Error) => void): void {
    const lost = this.#lost;
    if (lost !== null) queueMicrotask(() => handler(lost));
    else this.#lostHandlers.push(handler);
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  #noteLost(cause: Error): void {
    if (this.#lost !== null || this.#isClosing) return;
    this.#lost = cause;
    for (const handler of this.#lostHandlers.splice(0)) handler(cause);
  }

  #assertThere(what: string): void {
    if (this.#lost === null && !this.#isClosing) return;
    throw new StoreError("unavailable", `${what}: the connection is gone`, { cause: this.#lost ?? undefined });
  }

  async #run<R extends object>(statement: Statement, values: readonly Parameter[], phase: Phase): Promise<Rows<R>> {
    const what = statement.name ?? statement.text.slice(0, 60);
    this.#assertThere(what);
    try {
      const result = await this.#client.query<R & pg.QueryResultRow>({
        ...(statement.name === undefined ? {} : { name: statement.name }),
        text: statement.text,
        values: [...values],
      });
      if (statement.name !== undefined) this.#prepared.add(statement.name);
      return { rows: result.rows, command: result.command, rowCount: result.rowCount ?? 0 };
    } catch (cause) {
      throw toStoreError(cause, phase, what);
    }
  }

  /** The first time, pg's own query prepares the statement and keeps the books if that fails. */
  async #runLane(statement: Required<Statement>, values: readonly Parameter[], phase: Phase): Promise<TextRow | null> {
    const { name } = statement;
    if (!this.#prepared.has(name)) {
      const [row] = (await this.#run(statement, values, phase)).rows;
      return row === undefined ? null : Object.values(row).map((value) => (value === null ? null : String(value)));
    }
    this.#assertThere(name);
    try {
      return await new Promise<TextRow | null>((resolve, reject) => {
        this.#client.query(new LaneStatement(name, values, { resolve, reject }));
      });
    } catch (cause) {
      throw toStoreError(cause, phase, name);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work);
    // The failure goes to the caller; it must not stop the calls that wait behind.
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** A statement that changes nothing. */
  async read<R extends object = Row>(statement: Statement, values: readonly Parameter[] = []): Promise<R[]> {
    return this.#inTurn(async () => (await this.#run<R>(statement, values, "read")).rows);
  }

  /**
   * A statement that commits by itself.
   * @throws StoreError `unknown_outcome` when the connection is lost before the answer
   */
  async write<R extends object = Row>(statement: Statement, values: readonly Parameter[] = []): Promise<R[]> {
    return this.#inTurn(async () => (await this.#run<R>(statement, values, "write")).rows);
  }

  /** @throws as `write` */
  async writeLane(statement: Required<Statement>, values: readonly Parameter[]): Promise<TextRow | null> {
    return this.#inTurn(() => this.#runLane(statement, values, "write"));
  }

  /**
   * Runs `work` in one transaction. A failure before COMMIT is sent has changed nothing; a COMMIT that fails or is not
   * answered is `unknown_outcome`.
   * @param begin the opening statement
   */
  async transaction<T>(work: (session: Session) => Promise<T>, begin = "BEGIN"): Promise<T> {
    return this.#inTurn(async () => {
      await this.#run({ text: begin }, [], "read");
      const session: Session = {
        read: async (statement, values = []) => (await this.#run<never>(statement, values, "read")).rows,
        write: async (statement, values = []) => (await this.#run<never>(statement, values, "read")).rows,
        writeLane: (statement, values) => this.#runLane(statement, values, "read"),
      };
      let result: T;
      try {
        result = await work(session);
      } catch (cause) {
        await this.#rollBack();
        throw cause;
      }
      const { command } = await this.#run({ text: "COMMIT" }, [], "commit");
      if (command !== "COMMIT") {
        throw new StoreError("unavailable", `COMMIT was answered with ${command}`);
      }
      return result;
    });
  }

  /** A session that cannot roll back is dropped: its transaction ends with it. The first failure is reported. */
  async #rollBack(): Promise<void> {
    if (this.#lost !== null) return;
    try {
      await this.#run({ text: "ROLLBACK" }, [], "read");
    } catch (cause) {
      this.#noteLost(cause instanceof Error ? cause : new Error(String(cause)));
      await this.#client.end();
    }
  }

  /**
   * Takes an advisory lock that this session holds until it ends. It waits for a predecessor to leave: the lock is
   * free only once that session's last transaction has ended, so nothing of it can be committed after we have loaded.
   * @throws StoreError `locked` after that time
   */
  async lock(key: bigint, timeoutMs = LOCK_TIMEOUT_DEFAULT_MS): Promise<void> {
    await this.#inTurn(async () => {
      await this.#run({ text: `SET lock_timeout = ${timeoutMs}` }, [], "read");
      try {
        await this.#run({ text: "SELECT pg_advisory_lock($1)" }, [key], "read");
      } catch (cause) {
        if (isLockTimeout(cause)) {
          throw new StoreError("locked", "another process holds this database", { cause });
        }
        throw cause;
      }
      await this.#run({ text: "SET lock_timeout = 0" }, [], "read");
    });
  }

  /** Ends the session after all earlier calls. Calling it again is allowed. */
  async close(): Promise<void> {
    await this.#tail;
    if (this.#isClosing || this.#lost !== null) return;
    this.#isClosing = true;
    await this.#client.end();
  }
}

function isLockTimeout(error: unknown): boolean {
  if (!(error instanceof StoreError) || !(error.cause instanceof Error)) return false;
  return "code" in error.cause && error.cause.code === "55P03";
}
