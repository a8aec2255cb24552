import { startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { TestDatabase, TestPostgres } from "@event-anchoring/testkit/postgres";
import pg from "pg";
import { StoreError, migrate } from "../../src/index.ts";
import type { StoreErrorCode } from "../../src/index.ts";

export { startTestPostgres };
export type { TestDatabase, TestPostgres };

/** An empty database with the tables of this version, readable by the api's role. */
export async function migratedDatabase(server: TestPostgres): Promise<TestDatabase> {
  const database = await server.createDatabase();
  await migrate(database.url, { readOnlyRole: server.readOnlyRole });
  return database;
}

/** Runs one statement in a session of its own: what an operator, a faulty disk or an attacker might do. */
export async function sql(url: string, text: string, values: readonly unknown[] = []): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query<pg.QueryResultRow>(text, [...values]);
    return result.rows;
  } finally {
    await client.end();
  }
}

/** The code of the StoreError that the promise is refused with; anything else fails the test. */
export async function refusalOf(work: Promise<unknown>): Promise<StoreErrorCode> {
  try {
    await work;
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
  throw new Error("expected a StoreError, but it succeeded");
}

/** The superuser's url of a database that the owner's url names. */
export function superuserUrl(server: TestPostgres, database: TestDatabase): string {
  const name = new pg.Client({ connectionString: database.url }).database;
  return server.url(name);
}

/** Ends every session of that name on the server. */
export async function terminate(server: TestPostgres, name: string): Promise<void> {
  await sql(server.url(), "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1", [
    name,
  ]);
}
