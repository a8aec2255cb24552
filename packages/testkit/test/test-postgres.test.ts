import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { TestPostgres } from "@event-anchoring/testkit/postgres";
import pg from "pg";

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {
    // The server may be killed under an open connection; the query itself reports that.
  });
  await client.connect();
  try {
    const { rows }: { rows: Record<string, unknown>[] } = await client.query(sql);
    return rows;
  } finally {
    await client.end();
  }
}

describe("startTestPostgres", () => {
  let postgres: TestPostgres;

  beforeAll(async () => {
    postgres = await startTestPostgres();
  });

  afterAll(async () => {
    await postgres.close();
  });

  test("gives every database an owner and a reader without rights over the server", async () => {
    const database = await postgres.createDatabase();
    await query(database.url, "CREATE TABLE fact (n int)");
    await query(database.url, "INSERT INTO fact VALUES (7)");
    await expect(query(database.readOnlyUrl, "SELECT n FROM fact")).rejects.toThrow("permission denied");
    await expect(query(database.url, "CREATE ROLE intruder")).rejects.toThrow("permission denied");
    await expect(query(database.readOnlyUrl, "CREATE TABLE mine (n int)")).rejects.toThrow("permission denied");
  });

  test("keeps two databases apart", async () => {
    const first = await postgres.createDatabase();
    const second = await postgres.createDatabase();
    await query(first.url, "CREATE TABLE fact (n int)");
    await expect(query(second.url, "SELECT n FROM fact")).rejects.toThrow("does not exist");
  });

  test("is durable by its settings", async () => {
    const rows = await query(
      postgres.url(),
      `SELECT name, setting FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name`,
    );
    expect(rows).toEqual([
      { name: "fsync", setting: "on" },
      { name: "full_page_writes", setting: "on" },
      { name: "synchronous_commit", setting: "on" },
    ]);
  });

  test.each(["fast", "immediate", "kill"] as const)("keeps committed rows over an end by %s", async (end) => {
    const database = await postgres.createDatabase();
    await query(database.url, "CREATE TABLE fact AS SELECT 7 AS n");
    const before = postgres.pid;
    if (end === "kill") await postgres.kill();
    else await postgres.stop({ mode: end });
    expect(() => postgres.pid).toThrow("stopped");
    await expect(query(database.url, "SELECT n FROM fact")).rejects.toThrow();
    await postgres.start();
    expect(postgres.pid).not.toBe(before);
    expect(await query(database.url, "SELECT n FROM fact")).toEqual([{ n: 7 }]);
  });

  test("refuses a second start and unknown settings", async () => {
    await expect(postgres.start()).rejects.toThrow("already running");
    await expect(startTestPostgres({ settings: { no_such_setting: "1" } })).rejects.toThrow("no_such_setting");
  });

  test("leaves no files behind", async () => {
    const other = await startTestPostgres();
    const host = new URL(other.url()).searchParams.get("host") ?? "";
    expect(existsSync(host)).toBe(true);
    await other.close();
    expect(existsSync(host)).toBe(false);
  });
});
