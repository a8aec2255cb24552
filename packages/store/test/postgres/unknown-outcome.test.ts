/** A write whose answer never came may have happened: it is unknown, and only a reload tells. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Entry } from "raft-ts";
import { advance } from "@event-anchoring/ledger";
import { LedgerStore, RaftLog } from "../../src/index.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";
import { StoredLedgerHarness, event, partsOf, reopened } from "../support/stored-ledger.ts";

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

function entryOf(index: number, term: number): Entry {
  return { index, term, type: "normal", payload: Uint8Array.of(index, term) };
}

/** A log of a database of its own that holds entries of term 1 at these indexes. */
async function logOf(
  indexes: readonly number[],
): Promise<{ database: Awaited<ReturnType<typeof migratedDatabase>>; log: RaftLog }> {
  const database = await migratedDatabase(server);
  const log = await RaftLog.open({ url: database.url });
  await log.load();
  await log.append({
    entries: indexes.map((index) => entryOf(index, 1)),
    hardState: { term: 1, vote: 0n, commit: 0 },
    commit: 0,
  });
  return { database, log };
}

test("an append that was committed, but whose answer was cut off", async () => {
  const { url } = await migratedDatabase(server);
  const proxy = await startCuttingProxy(url);
  const log = await RaftLog.open({ url: proxy.url });
  const losses: Error[] = [];
  log.onLost((cause) => losses.push(cause));
  await log.load();
  await log.append({ entries: [entryOf(1, 1)], hardState: { term: 1, vote: 2n, commit: 0 }, commit: 0 });
  await log.append({ entries: [entryOf(2, 1)], hardState: null, commit: 0 });
  proxy.cutAfter("raft_append");
  expect(await refusalOf(log.append({ entries: [entryOf(3, 1)], hardState: null, commit: 1 }))).toBe("unknown_outcome");
  expect(await refusalOf(log.append({ entries: [entryOf(3, 1)], hardState: null, commit: 1 }))).toBe("unavailable");
  expect(await refusalOf(log.read(1, 2, 10))).toBe("unavailable");
  expect(losses).toHaveLength(1);
  const after = await RaftLog.open({ url });
  expect((await after.load()).entries.map(({ index }) => index)).toEqual([1, 2, 3]);
  await after.close();
  await log.close();
  await proxy.close();
});

test("a replaced suffix whose COMMIT was answered, but not heard", async () => {
  const { url } = await migratedDatabase(server);
  const proxy = await startCuttingProxy(url);
  const log = await RaftLog.open({ url: proxy.url });
  await log.load();
  await log.append({
    entries: [1, 2, 3].map((index) => entryOf(index, 1)),
    hardState: { term: 1, vote: 0n, commit: 0 },
    commit: 0,
  });
  proxy.cutAfter("COMMIT");
  const hardState = { term: 2, vote: 0n, commit: 0 };
  expect(await refusalOf(log.append({ entries: [entryOf(2, 2)], hardState, commit: 0 }))).toBe("unknown_outcome");
  const after = await RaftLog.open({ url });
  const loaded = await after.load();
  expect(loaded.entries.map(({ index, term }) => [index, term])).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(loaded.hardState?.term).toBe(2);
  await after.close();
  await log.close();
  await proxy.close();
});

test("a backend that is terminated in the middle of COMMIT", async () => {
  const { database, log } = await logOf([1, 2, 3]);
  // The backend ends itself, and does not come to the end of the wait.
  await sql(
    superuserUrl(server, database),
    `CREATE FUNCTION node.leave() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON node.raft_log DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION node.leave()`,
  );
  expect(await refusalOf(log.append({ entries: [entryOf(2, 2)], hardState: null, commit: 0 }))).toBe("unknown_outcome");
  await sql(superuserUrl(server, database), "DROP TRIGGER leave ON node.raft_log");
  const after = await RaftLog.open({ url: database.url });
  expect((await after.load()).entries.map(({ term }) => term)).toEqual([1, 1, 1]);
  await after.close();
  await log.close();
});

test("an error at COMMIT is unknown as well", async () => {
  const { database, log } = await logOf([1, 2]);
  await sql(
    superuserUrl(server, database),
    `CREATE FUNCTION node.fill() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
     CREATE CONSTRAINT TRIGGER fill AFTER INSERT ON node.raft_log DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION node.fill()`,
  );
  expect(await refusalOf(log.append({ entries: [entryOf(2, 2)], hardState: null, commit: 0 }))).toBe("unknown_outcome");
  await log.close();
});

test("a full disk before COMMIT is definite: nothing is written, the log goes on when there is space", async () => {
  const { database, log } = await logOf([1, 2]);
  await sql(
    superuserUrl(server, database),
    `CREATE FUNCTION node.fill() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER fill BEFORE INSERT ON node.raft_log EXECUTE FUNCTION node.fill()`,
  );
  expect(await refusalOf(log.append({ entries: [entryOf(3, 1)], hardState: null, commit: 0 }))).toBe("full");
  expect(await refusalOf(log.append({ entries: [entryOf(2, 2)], hardState: null, commit: 0 }))).toBe("full");
  expect(await log.read(1, 3, 100)).toEqual([entryOf(1, 1), entryOf(2, 1)]);
  await sql(superuserUrl(server, database), "DROP TRIGGER fill ON node.raft_log");
  await log.append({ entries: [entryOf(3, 1)], hardState: null, commit: 0 });
  expect(await log.read(3, 4, 100)).toEqual([entryOf(3, 1)]);
  await log.close();
});

test("an apply that was committed, but whose answer was cut off, is found applied", async () => {
  const { url } = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(url);
  await harness.store.close();
  const proxy = await startCuttingProxy(url);
  const store = await LedgerStore.open({ url: proxy.url });
  await store.load();
  const through = new StoredLedgerHarness(store, harness.state);
  through.clockMs = harness.clockMs;
  const decision = await through.decide(
    through.entry([{ kind: "record_events", credential: harness.credential, atomic: false, events: [event("one")] }]),
  );
  proxy.cutAfter("apply_");
  expect(await refusalOf(store.apply({ decision, confState: null }))).toBe("unknown_outcome");
  const after = await reopened(url);
  advance(harness.state, decision);
  expect(after.ledger).toEqual(partsOf(harness.state));
  expect(await refusalOf(after.store.apply({ decision, confState: null }))).toBe("out_of_order");
  await after.store.close();
  await store.close();
  await proxy.close();
});

test("a server that stops at once loses nothing that was appended", async () => {
  const { url } = await migratedDatabase(server);
  const log = await RaftLog.open({ url });
  await log.load();
  const lost = new Promise<Error>((resolve) => log.onLost(resolve));
  for (let index = 1; index <= 20; index++) {
    await log.append({ entries: [entryOf(index, 1)], hardState: { term: 1, vote: 0n, commit: 0 }, commit: index - 1 });
  }
  const { walPosition } = await log.append({ entries: [entryOf(21, 1)], hardState: null, commit: 20 });
  await server.stop({ mode: "immediate" });
  expect(await lost).toBeInstanceOf(Error);
  await server.start();
  const after = await RaftLog.open({ url });
  const loaded = await after.load();
  expect(loaded.entries).toHaveLength(21);
  expect(loaded.commitHint).toBe(20);
  expect(loaded.walFlushed).toBeGreaterThanOrEqual(walPosition);
  await after.close();
  await log.close();
});
