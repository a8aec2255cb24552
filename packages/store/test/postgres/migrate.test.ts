import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LedgerStore, RaftLog, Reads, migrate } from "../../src/index.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";

const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));
const NAMES = readdirSync(MIGRATIONS).toSorted();

let server: TestPostgres;
const folders: string[] = [];

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A copy of our migrations with one more, or one changed. */
function migrationsWith(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-migrations-"));
  folders.push(folder);
  cpSync(MIGRATIONS, folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  return folder;
}

describe("migrate", () => {
  test("makes the schema once, and finds nothing left to do the second time", async () => {
    const { url } = await server.createDatabase();
    expect(await migrate(url)).toEqual({ applied: NAMES });
    expect(await migrate(url)).toEqual({ applied: [] });
  });

  test("ten that race leave one schema, made by one of them", async () => {
    const { url } = await server.createDatabase();
    const racing = await Promise.all(
      Array.from({ length: 10 }, () => migrate(url, { readOnlyRole: server.readOnlyRole })),
    );
    expect(racing.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
    const log = await RaftLog.open({ url });
    await log.close();
  });

  test("ten processes that race all succeed", async () => {
    const { url } = await server.createDatabase();
    const store = new URL("../../dist/index.js", import.meta.url).href;
    const program = `const { migrate } = await import(${JSON.stringify(store)});
      const { applied } = await migrate(${JSON.stringify(url)}); process.stdout.write(String(applied.length));`;
    const outputs = await Promise.all(Array.from({ length: 10 }, () => runNode(program)));
    expect(outputs.toSorted()).toEqual([...Array.from({ length: 9 }, () => "0"), String(NAMES.length)]);
  }, 60_000);

  test("goes on from where a database stands", async () => {
    const { url } = await migratedDatabase(server);
    const migrationsDirectory = migrationsWith("999999_more.sql", "CREATE TABLE state.more (one integer);\n");
    expect(await migrate(url, { migrationsDirectory })).toEqual({ applied: ["999999_more.sql"] });
  });

  test("a migration that fails changes nothing, and is made again when it is mended", async () => {
    const { url } = await migratedDatabase(server);
    const bad = migrationsWith("999999_more.sql", "CREATE TABLE state.more (one integer); SELECT 1 / 0;\n");
    expect(await refusalOf(migrate(url, { migrationsDirectory: bad }))).toBe("schema");
    const good = migrationsWith("999999_more.sql", "CREATE TABLE state.more (one integer);\n");
    expect(await migrate(url, { migrationsDirectory: good })).toEqual({ applied: ["999999_more.sql"] });
  });
});

describe("a database that does not fit is refused", () => {
  test("one that a newer program has changed in a breaking way", async () => {
    const { url, readOnlyUrl } = await migratedDatabase(server);
    const newer = migrationsWith("999999_other.sql", "-- breaking\nALTER TABLE node.raft_log RENAME TO log;\n");
    await migrate(url, { migrationsDirectory: newer });
    expect(await refusalOf(migrate(url))).toBe("other_build");
    expect(await refusalOf(RaftLog.open({ url }))).toBe("other_build");
    expect(await refusalOf(LedgerStore.open({ url }))).toBe("other_build");
    expect(await refusalOf(Reads.open({ url: readOnlyUrl }))).toBe("other_build");
  });

  test("but one that a newer program has only added to is used", async () => {
    const { url, readOnlyUrl } = await migratedDatabase(server);
    const newer = migrationsWith("999999_more.sql", "CREATE TABLE state.more (one integer);\n");
    await migrate(url, { migrationsDirectory: newer });
    expect(await migrate(url)).toEqual({ applied: [] });
    const reads = await Reads.open({ url: readOnlyUrl });
    expect((await reads.position()).appliedIndex).toBe(0);
    await reads.close();
  });

  test("one that another build has made", async () => {
    const { url } = await migratedDatabase(server);
    const edited = migrationsWith("000001_initial.sql", "CREATE SCHEMA node;\n");
    expect(await refusalOf(migrate(url, { migrationsDirectory: edited }))).toBe("other_build");
  });

  test("one that was never migrated", async () => {
    const { url, readOnlyUrl } = await server.createDatabase();
    expect(await refusalOf(RaftLog.open({ url }))).toBe("schema");
    expect(await refusalOf(LedgerStore.open({ url }))).toBe("schema");
    expect(await refusalOf(Reads.open({ url: readOnlyUrl }))).toBe("schema");
  });

  test("a role that is not there gets no rights", async () => {
    const { url } = await server.createDatabase();
    expect(await refusalOf(migrate(url, { readOnlyRole: 'no"body' }))).toBe("schema");
  });
});

describe("unsafe settings are refused", () => {
  test.each([
    ["the role commits asynchronously", "ALTER ROLE CURRENT_ROLE SET synchronous_commit = off"],
    ["the role waits for standbys only to receive", "ALTER ROLE CURRENT_ROLE SET synchronous_commit = remote_write"],
  ])("%s", async (_, change) => {
    const { url } = await migratedDatabase(server);
    await sql(url, change);
    try {
      expect(await refusalOf(RaftLog.open({ url }))).toBe("unsafe_settings");
    } finally {
      await sql(url, "ALTER ROLE CURRENT_ROLE RESET synchronous_commit");
    }
  });

  test("a table that is not logged", async () => {
    const database = await migratedDatabase(server);
    const log = await RaftLog.open({ url: database.url });
    await sql(superuserUrl(server, database), "ALTER TABLE state.tiles SET UNLOGGED");
    expect(await refusalOf(log.assertSafeSettings())).toBe("unsafe_settings");
    await log.close();
    expect(await refusalOf(RaftLog.open({ url: database.url }))).toBe("unsafe_settings");
    expect(await refusalOf(LedgerStore.open({ url: database.url }))).toBe("unsafe_settings");
  });

  test.each(["fsync", "full_page_writes", "ignore_checksum_failure", "zero_damaged_pages"])(
    "%s changed, also while the log is open",
    async (setting) => {
      const { url } = await migratedDatabase(server);
      const bad = setting === "fsync" || setting === "full_page_writes" ? "off" : "on";
      const log = await RaftLog.open({ url });
      await sql(server.url(), `ALTER SYSTEM SET ${setting} = ${bad}`);
      await sql(server.url(), "SELECT pg_reload_conf()");
      await untilSetting(setting, bad);
      try {
        expect(await refusalOf(RaftLog.open({ url, lockTimeoutMs: 100 }))).toBe("unsafe_settings");
        expect(await refusalOf(LedgerStore.open({ url }))).toBe("unsafe_settings");
        expect(await refusalOf(log.assertSafeSettings())).toBe("unsafe_settings");
      } finally {
        await sql(server.url(), `ALTER SYSTEM RESET ${setting}`);
        await sql(server.url(), "SELECT pg_reload_conf()");
        await log.close();
      }
      await untilSetting(setting, bad === "on" ? "off" : "on");
    },
  );

  test("a reload of the configuration cannot make an open log commit asynchronously", async () => {
    const { url } = await migratedDatabase(server);
    const log = await RaftLog.open({ url });
    await log.load();
    await sql(server.url(), "ALTER SYSTEM SET synchronous_commit = off");
    await sql(server.url(), "SELECT pg_reload_conf()");
    await untilSetting("synchronous_commit", "off");
    try {
      const { walPosition } = await log.append({ entries: [], hardState: { term: 1, vote: 0n, commit: 0 }, commit: 0 });
      const [row] = await sql(server.url(), "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint::text AS flushed");
      expect(BigInt(String(row?.["flushed"]))).toBeGreaterThanOrEqual(walPosition);
    } finally {
      await sql(server.url(), "ALTER SYSTEM RESET synchronous_commit");
      await sql(server.url(), "SELECT pg_reload_conf()");
      await log.close();
    }
  });
});

/** A reload is noticed by new sessions only a moment later. */
async function untilSetting(name: string, value: string): Promise<void> {
  for (;;) {
    const [row] = await sql(server.url(), "SELECT current_setting($1) AS value", [name]);
    if (row?.["value"] === value) return;
  }
}

async function runNode(program: string): Promise<string> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (text: Buffer) => {
    output += text.toString();
  });
  await new Promise((resolve) => child.once("close", resolve));
  return output;
}
