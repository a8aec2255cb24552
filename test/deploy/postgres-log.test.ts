import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  EMBEDDED_SETTINGS,
  EmbeddedPostgres,
  openPostgresInstallation,
  postgresUser,
} from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import pg from "pg";

// A client's own event id is a parameter of statements. Erased from the tables, it must not live on in Postgres's log.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const CLIENT_EVENT_ID = "order-4711-of-Jane-Doe";

let folder: string;
let server: EmbeddedPostgres | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-log-"));
  chmodSync(folder, 0o755);
});

afterEach(async () => {
  await server?.stop({ mode: "immediate" });
  rmSync(folder, { recursive: true, force: true });
});

/** What a settings file says of the log. */
function logSettings(path: string): Record<string, string> {
  const lines = readFileSync(join(CHECKOUT, path), "utf8").matchAll(/^(log_\w+) = '?([^'\n]*)'?$/gmu);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}

const ownSettings = (): Record<string, string> =>
  Object.fromEntries(Object.entries(EMBEDDED_SETTINGS).filter(([name]) => name.startsWith("log_")));

test.each([
  ["the containers' Postgres", () => logSettings("deploy/postgres/postgresql.conf")],
  ["Postgres beside systemd", () => logSettings("deploy/systemd/postgresql.conf")],
  ["the embedded Postgres", ownSettings],
])(
  "%s logs a slow statement without its parameters",
  async (_name, settings) => {
    const user = postgresUser();
    let log = "";
    server = new EmbeddedPostgres({
      dir: join(folder, "database"),
      socketDir: join(folder, "socket"),
      port: 5432,
      installation: openPostgresInstallation({ cacheDir: folder, user }),
      user,
      // Postgres's own default first. Every statement is a slow one, and the log goes where the test reads it.
      settings: {
        log_parameter_max_length: "-1",
        ...settings(),
        log_destination: "stderr",
        log_min_duration_statement: "0",
      },
      onLog: (chunk) => void (log += Buffer.from(chunk).toString("utf8")),
    });
    await server.start();
    const client = new pg.Client({ host: join(folder, "socket"), port: 5432, user: "postgres", database: "postgres" });
    await client.connect();
    await client.query("SELECT $1::text AS slow_one", [CLIENT_EVENT_ID]);
    await client.query("SELECT 1 AS last_one");
    await client.end();
    await until("the statements are logged", () => log.includes("last_one"));
    expect(log).toContain("slow_one");
    expect(log).not.toContain(CLIENT_EVENT_ID);
  },
  60_000,
);
