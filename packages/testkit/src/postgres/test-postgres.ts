import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  EmbeddedPostgres,
  OWNER_ROLE,
  READER_ROLE,
  ROLES_SQL,
  openPostgresInstallation,
  postgresUser,
} from "@event-anchoring/dev-cluster";
import type { StopMode } from "@event-anchoring/dev-cluster";
import pg from "pg";
import { fillFromTemplate } from "./postgres-templates.ts";

export interface TestDatabase {
  /** Connects as the owner of the database. */
  readonly url: string;
  /** Connects as the role that migrations may let read (`TestPostgres.readOnlyRole`). */
  readonly readOnlyUrl: string;
}

/** A real Postgres server for one test file. Stop it in `afterAll`; its files go with it. */
export interface TestPostgres {
  readonly readOnlyRole: string;
  /** Process id of the running server; throws while it is stopped. */
  readonly pid: number;
  /** Connects as superuser, to `postgres` unless told otherwise. */
  url(database?: string): string;
  /** A new empty database. */
  createDatabase(): Promise<TestDatabase>;
  /** Stops the server and keeps its files for `start`. */
  stop(options: { mode: StopMode }): Promise<void>;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Stops the server and deletes its files. */
  close(): Promise<void>;
}

export interface TestPostgresOptions {
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Starts a server in a folder of its own (a quarter of a second, once there is a template). It ends with this process,
 * however that ends.
 */
export async function startTestPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-test-"));
  chmodSync(folder, 0o755);
  const user = postgresUser();
  const installation = openPostgresInstallation({ cacheDir: folder, user });
  const dir = join(folder, "database");
  await fillFromTemplate("n1", dir, { installation, user });
  const server = new EmbeddedPostgres({
    dir,
    socketDir: join(folder, "socket"),
    port: 5432,
    installation,
    user,
    bootstrapSql: ROLES_SQL,
    settings: { max_connections: "64", ...options.settings },
  });
  const removeFiles = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    await server.start();
  } catch (error) {
    removeFiles();
    throw error;
  }
  process.once("exit", removeFiles);
  let databases = 0;
  return {
    readOnlyRole: READER_ROLE,
    get pid() {
      if (server.pid === null) throw new Error("this Postgres server is stopped");
      return server.pid;
    },
    url: (database = "postgres") => server.url("postgres", database),
    createDatabase: async () => {
      databases += 1;
      const name = `test_${databases}`;
      await execute(server.url("postgres", "postgres"), `CREATE DATABASE ${name} OWNER ${OWNER_ROLE} STRATEGY wal_log`);
      return { url: server.url(OWNER_ROLE, name), readOnlyUrl: server.url(READER_ROLE, name) };
    },
    stop: (mode) => server.stop(mode),
    start: () => server.start(),
    kill: () => server.kill(),
    close: async () => {
      await server.stop({ mode: "immediate" });
      process.off("exit", removeFiles);
      removeFiles();
    },
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
