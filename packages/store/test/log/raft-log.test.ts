import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Entry, HardState } from "raft-ts";
import { RaftLog } from "../../src/index.ts";
import type { LoadedRaftLog } from "../../src/index.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl, terminate } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

function entry(index: number, term: number, text = `entry ${index} of ${term}`): Entry {
  return { index, term, type: "normal", payload: new TextEncoder().encode(text) };
}

function entries(from: number, to: number, term: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_, position) => entry(from + position, term));
}

const TERM_1: HardState = { term: 1, vote: 7n, commit: 0 };
const LARGEST_ID = 0xffff_ffff_ffff_fffdn;

async function openLoaded(url: string): Promise<{ log: RaftLog; loaded: LoadedRaftLog }> {
  const log = await RaftLog.open({ url });
  return { log, loaded: await log.load() };
}

/** Opens the log anew, as a restarted node does. */
async function reload(log: RaftLog, url: string): Promise<{ log: RaftLog; loaded: LoadedRaftLog }> {
  await log.close();
  return openLoaded(url);
}

/** A database whose log holds `count` entries of term 1, with the commit index `commit`. */
async function filledDatabase(count: number, commit = 0): Promise<TestDatabase> {
  const database = await migratedDatabase(server);
  const { log } = await openLoaded(database.url);
  await log.append({ entries: entries(1, count, 1), hardState: TERM_1, commit });
  await log.close();
  return database;
}

async function setApplied(database: TestDatabase, index: number): Promise<void> {
  await sql(superuserUrl(server, database), "UPDATE state.ledger SET applied_index = $1", [index]);
}

describe("append and load", () => {
  test("a new database holds nothing, and says which server it is", async () => {
    const { url } = await migratedDatabase(server);
    const { log, loaded } = await openLoaded(url);
    expect(loaded).toMatchObject({ hardState: null, compacted: { index: 0, term: 0 }, entries: [], commitHint: 0 });
    expect(loaded.systemIdentifier).toMatch(/^\d{15,20}$/);
    expect(loaded.timeline).toBe(1);
    expect(loaded.walFlushed).toBeGreaterThan(0n);
    await log.close();
  });

  test("entries, types, payloads and hard state come back as they were", async () => {
    const { url } = await migratedDatabase(server);
    const first = await openLoaded(url);
    const hardState = { term: 3, vote: LARGEST_ID, commit: 0 };
    const change: Entry = { index: 3, term: 3, type: "conf_change", payload: Uint8Array.of(1, 0, 255) };
    const empty: Entry = { index: 1, term: 2, type: "normal", payload: new Uint8Array(0) };
    const large = { ...entry(2, 3), payload: new Uint8Array(1024 * 1024).fill(0xa5) };
    await first.log.append({ entries: [empty, large, change], hardState, commit: 2 });
    const { log, loaded } = await reload(first.log, url);
    expect(loaded.hardState).toEqual({ ...hardState, commit: 2 });
    expect(loaded.commitHint).toBe(2);
    expect(loaded.entries).toEqual([
      { index: 1, term: 2, type: "normal", payloadBytes: 0 },
      { index: 2, term: 3, type: "normal", payloadBytes: 1024 * 1024 },
      { index: 3, term: 3, type: "conf_change", payloadBytes: 3, payload: change.payload },
    ]);
    const read = await log.read(1, 4, 10_000_000);
    expect([read[0], read[2]]).toEqual([empty, change]);
    expect(Buffer.compare(read[1]?.payload ?? new Uint8Array(0), large.payload)).toBe(0);
    await log.close();
  });

  test("a vote alone is durable, and the same vote again costs no write", async () => {
    const { url } = await migratedDatabase(server);
    const first = await openLoaded(url);
    const written = await first.log.append({ entries: [], hardState: TERM_1, commit: 0 });
    const again = await first.log.append({ entries: [], hardState: { ...TERM_1, commit: 5 }, commit: 5 });
    expect(again.walPosition).toBe(written.walPosition);
    const { log, loaded } = await reload(first.log, url);
    expect(loaded.hardState).toEqual(TERM_1);
    expect(loaded.walFlushed).toBeGreaterThanOrEqual(written.walPosition);
    await log.close();
  });

  test("the WAL position never goes back", async () => {
    const { url } = await migratedDatabase(server);
    const { log } = await openLoaded(url);
    let before = 0n;
    for (let index = 1; index <= 20; index++) {
      const { walPosition } = await log.append({
        entries: [entry(index, 1)],
        hardState: TERM_1,
        commit: index - 1,
      });
      expect(walPosition).toBeGreaterThan(before);
      before = walPosition;
    }
    await log.close();
  });

  test("what a commit index says of entries that are not durable yet is not kept", async () => {
    const { url } = await filledDatabase(5, 9);
    const { log, loaded } = await openLoaded(url);
    expect(loaded.commitHint).toBe(5);
    await log.close();
  });

  test("200,000 entries are checked and loaded", async () => {
    const database = await filledDatabase(1);
    await sql(
      superuserUrl(server, database),
      `INSERT INTO node.raft_log (index, term, type, commit_hint, payload, checksum)
       SELECT i, 1, 0, 0, p, sha256(int8send(i) || int8send(1) || int2send(0::int2) || int8send(0) || p)
       FROM (SELECT i, sha256(int8send(i)) || sha256(int8send(-i)) AS p FROM generate_series(2, 200000) AS i) AS made`,
    );
    const { log, loaded } = await openLoaded(database.url);
    expect(loaded.entries).toHaveLength(200_000);
    expect(loaded.entries.at(-1)?.index).toBe(200_000);
    await log.close();
  });
});

describe("a conflicting suffix", () => {
  test("is replaced, its tail included, together with the hard state", async () => {
    const { url } = await filledDatabase(10);
    const first = await openLoaded(url);
    await first.log.append({
      entries: entries(4, 6, 2),
      hardState: { term: 2, vote: 0n, commit: 3 },
      commit: 3,
    });
    const { log, loaded } = await reload(first.log, url);
    expect(loaded.entries.map(({ index, term }) => [index, term])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 2],
      [5, 2],
      [6, 2],
    ]);
    expect(loaded.hardState).toEqual({ term: 2, vote: 0n, commit: 3 });
    await log.close();
  });

  test("is not replaced where it is known to be committed", async () => {
    const { url } = await filledDatabase(10, 5);
    const { log } = await openLoaded(url);
    const replacing = log.append({ entries: entries(5, 6, 2), hardState: { term: 2, vote: 0n, commit: 5 }, commit: 5 });
    expect(await refusalOf(replacing)).toBe("out_of_order");
    expect((await log.read(5, 6, 1))[0]?.term).toBe(1);
    await log.close();
  });
});

describe("appends that do not follow are refused before anything is written", () => {
  const refused: [string, Entry[], HardState | null][] = [
    ["a gap after the end", [entry(12, 1)], null],
    ["a gap within", [entry(11, 1), entry(13, 1)], null],
    ["an entry twice", [entry(11, 1), entry(11, 1)], null],
    ["entries backwards", [entry(12, 1), entry(11, 1)], null],
    ["index 0", [entry(0, 1)], null],
    ["a term that goes back", [entry(11, 1)], { term: 0, vote: 0n, commit: 0 }],
  ];
  test.each(refused)("%s", async (_, bad, hardState) => {
    const { url } = await filledDatabase(10);
    const first = await openLoaded(url);
    expect(await refusalOf(first.log.append({ entries: bad, hardState, commit: 0 }))).toBe("out_of_order");
    const { log, loaded } = await reload(first.log, url);
    expect(loaded.entries).toHaveLength(10);
    expect(loaded.hardState?.term).toBe(1);
    await log.close();
  });

  test("an append before load", async () => {
    const { url } = await filledDatabase(10);
    const log = await RaftLog.open({ url });
    expect(await refusalOf(log.append({ entries: [entry(11, 1)], hardState: null, commit: 0 }))).toBe("out_of_order");
    await log.close();
  });
});

describe("range reads", () => {
  test("stop before the byte limit, but give at least one entry", async () => {
    const { url } = await migratedDatabase(server);
    const { log } = await openLoaded(url);
    const kibibytes = entries(1, 10, 1).map((one) => ({ ...one, payload: new Uint8Array(1024).fill(one.index) }));
    await log.append({ entries: kibibytes, hardState: TERM_1, commit: 0 });
    expect(await log.read(2, 11, 3 * 1024)).toEqual(kibibytes.slice(1, 4));
    expect(await log.read(2, 11, 3 * 1024 - 1)).toEqual(kibibytes.slice(1, 3));
    expect(await log.read(2, 11, 0)).toEqual(kibibytes.slice(1, 2));
    expect(await log.read(9, 11, 1_000_000)).toEqual(kibibytes.slice(8));
    await log.close();
  });

  test.each([
    ["beyond the end", 5, 12],
    ["empty", 5, 5],
    ["backwards", 6, 5],
    ["before the beginning", 0, 5],
  ])("are refused when %s", async (_, from, to) => {
    const { url } = await filledDatabase(10);
    const { log } = await openLoaded(url);
    expect(await refusalOf(log.read(from, to, 1000))).toBe("out_of_order");
    await log.close();
  });

  test("a row that was changed under a running node is corrupt, not absent", async () => {
    const database = await filledDatabase(10);
    const { log } = await openLoaded(database.url);
    await sql(superuserUrl(server, database), "UPDATE node.raft_log SET payload = payload || '!' WHERE index = 4");
    expect(await refusalOf(log.read(3, 6, 1000))).toBe("corrupt");
    await sql(superuserUrl(server, database), "DELETE FROM node.raft_log WHERE index = 7");
    expect(await refusalOf(log.read(6, 9, 1000))).toBe("corrupt");
    expect(await refusalOf(log.read(7, 8, 1000))).toBe("corrupt");
    await log.close();
  });
});

describe("a damaged log is not loaded", () => {
  const damages: [string, string][] = [
    ["index", "UPDATE node.raft_log SET index = 99 WHERE index = 10"],
    ["term", "UPDATE node.raft_log SET term = 2 WHERE index = 10"],
    ["type", "UPDATE node.raft_log SET type = 1 WHERE index = 5"],
    ["commit hint", "UPDATE node.raft_log SET commit_hint = 10 WHERE index = 5"],
    ["payload", "UPDATE node.raft_log SET payload = set_byte(payload, 0, get_byte(payload, 0) # 1) WHERE index = 5"],
    [
      "checksum",
      "UPDATE node.raft_log SET checksum = set_byte(checksum, 31, get_byte(checksum, 31) # 1) WHERE index = 10",
    ],
    ["last row's payload", "UPDATE node.raft_log SET payload = '' WHERE index = 10"],
    ["a missing row", "DELETE FROM node.raft_log WHERE index = 5"],
    ["a missing first row", "DELETE FROM node.raft_log WHERE index = 1"],
    ["the stored term", "UPDATE node.raft_state SET term = 9"],
    ["the stored vote", "UPDATE node.raft_state SET vote = 8"],
    ["the hard state's checksum", "UPDATE node.raft_state SET checksum = ''"],
    ["a missing hard state", "DELETE FROM node.raft_state"],
    ["an invented compaction point", "INSERT INTO node.raft_compaction (index, term, checksum) VALUES (3, 1, '')"],
  ];
  test.each(damages)("%s", async (_, damage) => {
    const database = await filledDatabase(10);
    await sql(superuserUrl(server, database), damage);
    const log = await RaftLog.open({ url: database.url });
    expect(await refusalOf(log.load())).toBe("corrupt");
    await log.close();
  });
});

describe("compaction", () => {
  test("forgets entries in steps, and a restart begins after them", async () => {
    const database = await filledDatabase(2500, 2400);
    await setApplied(database, 2400);
    const first = await openLoaded(database.url);
    expect(await first.log.compact(2300)).toEqual({ index: 2300, term: 1 });
    expect(await first.log.compact(2000)).toEqual({ index: 2300, term: 1 });
    expect(await refusalOf(first.log.read(2300, 2301, 1))).toBe("out_of_order");
    const { log, loaded } = await reload(first.log, database.url);
    expect(loaded.compacted).toEqual({ index: 2300, term: 1 });
    expect(loaded.entries.map(({ index }) => index)).toEqual(entries(2301, 2500, 1).map(({ index }) => index));
    expect(loaded.commitHint).toBe(2400);
    await log.append({ entries: [entry(2501, 1)], hardState: null, commit: 2500 });
    await log.close();
  });

  test("never goes beyond what is applied, nor beyond the end", async () => {
    const database = await filledDatabase(10, 8);
    await setApplied(database, 6);
    const { log } = await openLoaded(database.url);
    expect(await refusalOf(log.compact(7))).toBe("out_of_order");
    expect(await refusalOf(log.compact(11))).toBe("out_of_order");
    expect(await log.read(1, 2, 1)).toHaveLength(1);
    await log.close();
  });

  test("a whole log may be compacted, and its term is remembered", async () => {
    const database = await filledDatabase(10, 10);
    await setApplied(database, 10);
    const first = await openLoaded(database.url);
    await first.log.compact(10);
    const { log, loaded } = await reload(first.log, database.url);
    expect(loaded).toMatchObject({ compacted: { index: 10, term: 1 }, entries: [], commitHint: 10 });
    await log.close();
  });

  test("a row left before the compaction point is corrupt", async () => {
    const database = await filledDatabase(10, 10);
    await setApplied(database, 10);
    const first = await openLoaded(database.url);
    await first.log.compact(5);
    await first.log.close();
    await sql(
      superuserUrl(server, database),
      `INSERT INTO node.raft_log
        SELECT 3, term, type, commit_hint, payload, checksum FROM node.raft_log WHERE index = 6`,
    );
    const log = await RaftLog.open({ url: database.url });
    expect(await refusalOf(log.load())).toBe("corrupt");
    await log.close();
  });

  test("a reset empties the log after an installed snapshot", async () => {
    const database = await filledDatabase(10, 10);
    const { url } = database;
    const first = await openLoaded(url);
    expect(await refusalOf(first.log.reset({ index: 5_000, term: 1 }))).toBe("out_of_order");
    await setApplied(database, 5_000);
    await first.log.reset({ index: 5_000, term: 1 });
    await first.log.append({
      entries: [entry(5_001, 2)],
      hardState: { term: 2, vote: 0n, commit: 5_000 },
      commit: 5_000,
    });
    const { log, loaded } = await reload(first.log, url);
    expect(loaded.compacted).toEqual({ index: 5_000, term: 1 });
    expect(loaded.entries.map(({ index, term }) => [index, term])).toEqual([[5_001, 2]]);
    await log.close();
  });
});

describe("one holder, and lost connections", () => {
  test("a second process waits and is told that the log is locked", async () => {
    const { url } = await filledDatabase(3);
    const log = await RaftLog.open({ url });
    expect(await refusalOf(RaftLog.open({ url, lockTimeoutMs: 200 }))).toBe("locked");
    await log.close();
    const second = await RaftLog.open({ url });
    await second.close();
  });

  test("a session that is terminated while it waits to commit leaves an unknown outcome", async () => {
    const database = await filledDatabase(3);
    const { log } = await openLoaded(database.url);
    const blocker = await lockTable(superuserUrl(server, database), "node.raft_log");
    const appending = refusalOf(log.append({ entries: [entry(4, 1)], hardState: null, commit: 3 }));
    await blocker.waitForWaiter();
    await terminate(server, "event-anchoring raft log");
    expect(await appending).toBe("unknown_outcome");
    expect(await refusalOf(log.append({ entries: [entry(4, 1)], hardState: null, commit: 3 }))).toBe("unavailable");
    await blocker.release();
    const second = await openLoaded(database.url);
    expect(second.loaded.entries.length).toBe(3);
    await second.log.close();
    await log.close();
  });

  test("loss is told once, closing is not loss", async () => {
    const { url } = await filledDatabase(3);
    const losses: Error[] = [];
    const log = await RaftLog.open({ url });
    const lost = new Promise<void>((resolve) => {
      log.onLost((cause) => {
        losses.push(cause);
        resolve();
      });
    });
    await terminate(server, "event-anchoring raft log");
    await terminate(server, "event-anchoring raft log reads");
    await lost;
    await log.close();
    const closed = await RaftLog.open({ url });
    closed.onLost((cause) => losses.push(cause));
    await closed.close();
    expect(losses).toHaveLength(1);
  });

  test("no server is unavailable, no database or no table is schema", async () => {
    const { url } = await server.createDatabase();
    expect(await refusalOf(RaftLog.open({ url }))).toBe("schema");
    expect(await refusalOf(RaftLog.open({ url: server.url("no_such_database") }))).toBe("schema");
    const nowhere = "postgresql://nobody@localhost/nothing?host=/nonexistent";
    expect(await refusalOf(RaftLog.open({ url: nowhere }))).toBe("unavailable");
  });
});

interface TableLock {
  /** Resolves once another session waits for the lock. */
  waitForWaiter(): Promise<void>;
  release(): Promise<void>;
}

/** Holds a table so that a statement on it is under way until the lock is released. */
async function lockTable(url: string, table: string): Promise<TableLock> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return {
    waitForWaiter: async () => {
      for (;;) {
        const { rowCount } = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'");
        if (rowCount !== null && rowCount > 0) return;
      }
    },
    release: async () => {
      await client.query("ROLLBACK");
      await client.end();
    },
  };
}
