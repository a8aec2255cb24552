/** What ends the writing of look-up runs is said once and costs nothing; whoever opens the tables next goes on. */
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import pg from "pg";
import { LedgerStore } from "../../src/index.ts";
import { migratedDatabase, sql, startTestPostgres, superuserUrl, terminate } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { SMALL_RUNS, runsWritten, storedRuns } from "../support/look-up-runs.ts";
import { StoredLedgerHarness, events } from "../support/stored-ledger.ts";

jest.setTimeout(120_000);

const SESSION = "event-anchoring look-up runs";

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

const FULL = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'";
/** The backend ends itself, and does not come to the end of the wait. */
const LEAVE = "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10)";

/** From now on, this happens to every statement that changes look-up runs in this way. */
async function plant(database: TestDatabase, change: "INSERT" | "DELETE", what: string): Promise<void> {
  await sql(
    superuserUrl(server, database),
    `CREATE FUNCTION state.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${what}; RETURN NULL; END $$;
     CREATE TRIGGER fail AFTER ${change} ON state.lookup_runs EXECUTE FUNCTION state.fail()`,
  );
}

async function mend(database: TestDatabase): Promise<void> {
  await sql(superuserUrl(server, database), "DROP TRIGGER fail ON state.lookup_runs");
}

/** Every run is whole, and begins where the one before it ends. */
async function expectUnbroken(database: TestDatabase): Promise<void> {
  let past = 0;
  for (const run of await storedRuns(database.url)) {
    expect(run.first).toBe(past);
    past = run.past;
  }
}

/** The tables are opened again, and every run that is due is written. */
async function expectGoesOn(database: TestDatabase): Promise<void> {
  const store = await LedgerStore.open({ url: database.url, runSizes: SMALL_RUNS });
  const { ledger } = await store.load();
  await runsWritten(database.url, ledger.nextSequence, SMALL_RUNS);
  await expectUnbroken(database);
  await store.close();
}

test.each([
  ["a full disk under a short run", "INSERT", FULL, 20, { code: "full" }],
  ["a full disk under a long run", "DELETE", FULL, 150, { code: "full" }],
  // The connection and the statement both say so, in either order.
  ["a session that ends in a short run", "INSERT", LEAVE, 20, {}],
  ["a session that ends in a long run", "DELETE", LEAVE, 150, {}],
] as const)("%s: entries are written on, and the next store writes the run", async (...fault) => {
  const [, change, what, leaves, said] = fault;
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url, undefined, SMALL_RUNS);
  const failures: Error[] = [];
  harness.store.onLost((cause) => failures.push(cause));
  await plant(database, change, what);
  await harness.record(events(leaves, "first"));
  await until("the store says that a run cannot be written", () => failures.length > 0);
  await harness.record(events(leaves, "second"));
  await expectUnbroken(database);
  await harness.store.close();
  expect(failures).toEqual([expect.any(Error)]);
  expect(failures[0]).toMatchObject(said);
  await mend(database);
  await expectGoesOn(database);
});

test("a session that ends between two runs", async () => {
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url, undefined, SMALL_RUNS);
  const failures: Error[] = [];
  harness.store.onLost((cause) => failures.push(cause));
  await terminate(server, SESSION);
  await until("the store says that a session is lost", () => failures.length > 0);
  await harness.record(events(20, "after"));
  await harness.store.close();
  expect(failures).toHaveLength(1);
  await expectGoesOn(database);
});

test("a run that failed before anybody listened is told to whoever listens later", async () => {
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url);
  await harness.record(events(20, "in no run"));
  await harness.store.close();
  await plant(database, "INSERT", FULL);
  const store = await LedgerStore.open({ url: database.url, runSizes: SMALL_RUNS });
  await store.load();
  await until("the server has refused the run", async () => {
    const [session] = await sql(
      server.url(),
      "SELECT state FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'WITH leaves%'",
      [SESSION],
    );
    return session?.["state"] === "idle";
  });
  expect(await new Promise<Error>((resolve) => store.onLost(resolve))).toMatchObject({ code: "full" });
  await store.close();
  await mend(database);
  await expectGoesOn(database);
});

test("a run that cannot be ended because the tables are closed is nobody's failure", async () => {
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url, undefined, SMALL_RUNS);
  const failures: Error[] = [];
  harness.store.onLost((cause) => failures.push(cause));
  const holder = new pg.Client({ connectionString: superuserUrl(server, database) });
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE state.lookup_runs IN SHARE MODE");
  await harness.record(events(20, "waiting"));
  await until("a run waits for the table", async () => {
    const waiting = await sql(
      server.url(),
      "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
      [SESSION],
    );
    return waiting.length > 0;
  });
  const closed = harness.store.close();
  await terminate(server, SESSION);
  await closed;
  await holder.query("COMMIT");
  await holder.end();
  expect(failures).toEqual([]);
  await expectGoesOn(database);
});
