import { describe, expect, test } from "@jest/globals";
import type { OpenStorage } from "@event-anchoring/control-plane";
import { EMPTY_STATE_ROOT } from "@event-anchoring/protocol";
import type { Entry, HardState } from "raft-ts";
import { hash } from "../../../packages/store/test/support/cluster.ts";
import { refusalOf } from "../../../packages/store/test/support/database.ts";
import type { DatabaseServer, NodeDatabase } from "./databases.ts";
import { reopened, startedLedger } from "./stored.ts";

const TERM_1: HardState = { term: 1, vote: 7n, commit: 0 };
const LARGEST_ID = 0xffff_ffff_ffff_fffdn;

function entry(index: number, term: number, text = `entry ${index} of ${term}`): Entry {
  return { index, term, type: "normal", payload: new TextEncoder().encode(text) };
}

function entries(from: number, to: number, term: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_, position) => entry(from + position, term));
}

/** A log that holds `count` entries of term 1, with the commit index `commit`, opened anew. */
async function filled(database: NodeDatabase, count: number, commit = 0): Promise<OpenStorage> {
  const storage = await database.open();
  await storage.log.append({ entries: entries(1, count, 1), hardState: TERM_1, commit });
  return reopened(database, storage);
}

function placesOf({ loadedLog }: OpenStorage): (readonly [number, number])[] {
  return loadedLog.entries.map(({ index, term }) => [index, term] as const);
}

export function logCases(server: () => DatabaseServer): void {
  describe("the log", () => {
    appendCases(server);
    suffixCases(server);
    refusalCases(server);
    loadCases(server);
    readCases(server);
    compactionCases(server);
  });
}

function appendCases(server: () => DatabaseServer): void {
  test("a new database holds nothing, and says which server it is", async () => {
    const { loadedLog, loadedLedger, recorded, identityStore, close } = await (await server().create()).open();
    expect(loadedLog).toMatchObject({ hardState: null, compacted: { index: 0, term: 0 }, entries: [], commitHint: 0 });
    expect(loadedLog.systemIdentifier).toMatch(/^\d+$/);
    expect(loadedLog.timeline).toBe(1);
    expect(loadedLog.walFlushed).toBeGreaterThan(0n);
    expect(loadedLedger).toMatchObject({ appliedIndex: 0, appliedTerm: 0, confState: null });
    expect(loadedLedger.stateRoot).toEqual(EMPTY_STATE_ROOT);
    expect(recorded).toEqual([]);
    expect(await identityStore.load()).toBeNull();
    await close();
  });

  test("entries, types, payloads and hard state come back as they were", async () => {
    const database = await server().create();
    const first = await database.open();
    const hardState = { term: 3, vote: LARGEST_ID, commit: 0 };
    const change: Entry = { index: 3, term: 3, type: "conf_change", payload: Uint8Array.of(1, 0, 255) };
    const empty: Entry = { index: 1, term: 2, type: "normal", payload: new Uint8Array(0) };
    const large = { ...entry(2, 3), payload: new Uint8Array(100_000).fill(0xa5) };
    await first.log.append({ entries: [empty, large, change], hardState, commit: 2 });
    const { log, loadedLog, close } = await reopened(database, first);
    expect(loadedLog.hardState).toEqual({ ...hardState, commit: 2 });
    expect(loadedLog.commitHint).toBe(2);
    expect(loadedLog.entries).toEqual([
      { index: 1, term: 2, type: "normal", payloadBytes: 0 },
      { index: 2, term: 3, type: "normal", payloadBytes: 100_000 },
      { index: 3, term: 3, type: "conf_change", payloadBytes: 3, payload: change.payload },
    ]);
    expect(await log.read(1, 4, 10_000_000)).toEqual([empty, large, change]);
    await close();
  });

  test("a vote alone is durable, and the same vote again costs no write", async () => {
    const database = await server().create();
    const first = await database.open();
    const written = await first.log.append({ entries: [], hardState: TERM_1, commit: 0 });
    const again = await first.log.append({ entries: [], hardState: { ...TERM_1, commit: 5 }, commit: 5 });
    expect(again.walPosition).toBe(written.walPosition);
    const { loadedLog, close } = await reopened(database, first);
    expect(loadedLog.hardState).toEqual(TERM_1);
    expect(loadedLog.walFlushed).toBeGreaterThanOrEqual(written.walPosition);
    await close();
  });

  test("the WAL position never goes back", async () => {
    const { log, close } = await (await server().create()).open();
    let before = 0n;
    for (let index = 1; index <= 20; index++) {
      const { walPosition } = await log.append({ entries: [entry(index, 1)], hardState: TERM_1, commit: index - 1 });
      expect(walPosition).toBeGreaterThan(before);
      before = walPosition;
    }
    await close();
  });

  test("what a commit index says of entries that are not durable yet is not kept", async () => {
    const { loadedLog, close } = await filled(await server().create(), 5, 9);
    expect(loadedLog.commitHint).toBe(5);
    await close();
  });
}

function suffixCases(server: () => DatabaseServer): void {
  test("a conflicting suffix is replaced, its tail included, together with the hard state", async () => {
    const database = await server().create();
    const first = await filled(database, 10);
    await first.log.append({ entries: entries(4, 6, 2), hardState: { term: 2, vote: 0n, commit: 3 }, commit: 3 });
    const storage = await reopened(database, first);
    expect(placesOf(storage)).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 2],
      [5, 2],
      [6, 2],
    ]);
    expect(storage.loadedLog.hardState).toEqual({ term: 2, vote: 0n, commit: 3 });
    await storage.close();
  });

  test("a suffix that is known to be committed is not replaced", async () => {
    const { log, close } = await filled(await server().create(), 10, 5);
    const replacing = log.append({ entries: entries(5, 6, 2), hardState: { term: 2, vote: 0n, commit: 5 }, commit: 5 });
    expect(await refusalOf(replacing)).toBe("out_of_order");
    expect((await log.read(5, 6, 1))[0]?.term).toBe(1);
    await close();
  });
}

function refusalCases(server: () => DatabaseServer): void {
  const refused: [string, Entry[], HardState | null][] = [
    ["a gap after the end", [entry(12, 1)], null],
    ["a gap within", [entry(11, 1), entry(13, 1)], null],
    ["an entry twice", [entry(11, 1), entry(11, 1)], null],
    ["entries backwards", [entry(12, 1), entry(11, 1)], null],
    ["index 0", [entry(0, 1)], null],
    ["a term that goes back", [entry(11, 1)], { term: 0, vote: 0n, commit: 0 }],
    ["a term that goes back, alone", [], { term: 0, vote: 0n, commit: 0 }],
  ];
  test.each(refused)("an append of %s is refused before anything is written", async (_, bad, hardState) => {
    const database = await server().create();
    const first = await filled(database, 10);
    expect(await refusalOf(first.log.append({ entries: bad, hardState, commit: 0 }))).toBe("out_of_order");
    const { loadedLog, close } = await reopened(database, first);
    expect(loadedLog.entries).toHaveLength(10);
    expect(loadedLog.hardState).toEqual(TERM_1);
    await close();
  });
}

function loadCases(server: () => DatabaseServer): void {
  const damaged: [string, Entry[], HardState | null][] = [
    ["has entries and neither term nor vote", [entry(1, 1)], null],
    ["has entries of a later term than the hard state", [entry(1, 2)], TERM_1],
    ["has a term that goes back", [entry(1, 2), entry(2, 1)], { term: 2, vote: 0n, commit: 0 }],
  ];
  test.each(damaged)("a log that %s is not loaded", async (_, written, hardState) => {
    const database = await server().create();
    const { log, close } = await database.open();
    await log.append({ entries: written, hardState, commit: 0 });
    await close();
    expect(await refusalOf(database.open())).toBe("corrupt");
  });
}

function readCases(server: () => DatabaseServer): void {
  test("range reads stop before the byte limit, but give at least one entry", async () => {
    const { log, close } = await (await server().create()).open();
    const kibibytes = entries(1, 10, 1).map((one) => ({ ...one, payload: new Uint8Array(1024).fill(one.index) }));
    await log.append({ entries: kibibytes, hardState: TERM_1, commit: 0 });
    expect(await log.read(2, 11, 3 * 1024)).toEqual(kibibytes.slice(1, 4));
    expect(await log.read(2, 11, 3 * 1024 - 1)).toEqual(kibibytes.slice(1, 3));
    expect(await log.read(2, 11, 0)).toEqual(kibibytes.slice(1, 2));
    expect(await log.read(9, 11, 1_000_000)).toEqual(kibibytes.slice(8));
    await close();
  });

  test.each([
    ["beyond the end", 5, 12],
    ["empty", 5, 5],
    ["backwards", 6, 5],
    ["before the beginning", 0, 5],
  ])("range reads are refused when %s", async (_, from, to) => {
    const { log, close } = await filled(await server().create(), 10);
    expect(await refusalOf(log.read(from, to, 1000))).toBe("out_of_order");
    await close();
  });
}

function compactionCases(server: () => DatabaseServer): void {
  test("compaction forgets entries, and a restart begins after them", async () => {
    const database = await server().create();
    const first = await filled(database, 10, 8);
    await startedLedger(first, 6);
    expect(await first.log.compact(5)).toEqual({ index: 5, term: 1 });
    expect(await first.log.compact(4)).toEqual({ index: 5, term: 1 });
    expect(await refusalOf(first.log.read(5, 6, 1))).toBe("out_of_order");
    const storage = await reopened(database, first);
    expect(storage.loadedLog.compacted).toEqual({ index: 5, term: 1 });
    expect(placesOf(storage).map(([index]) => index)).toEqual([6, 7, 8, 9, 10]);
    expect(storage.loadedLog.commitHint).toBe(8);
    await storage.log.append({ entries: [entry(11, 1)], hardState: null, commit: 10 });
    await storage.close();
  });

  test("compaction never goes beyond what is applied, nor beyond the end", async () => {
    const { log, ...storage } = await filled(await server().create(), 5, 5);
    await startedLedger(storage, 3);
    expect(await refusalOf(log.compact(4))).toBe("out_of_order");
    expect(await log.read(1, 2, 1)).toHaveLength(1);
    await storage.close();
    const short = await filled(await server().create(), 2, 2);
    await startedLedger(short, 4);
    expect(await refusalOf(short.log.compact(3))).toBe("out_of_order");
    await short.close();
  });

  test("a whole log may be compacted, and its term is remembered", async () => {
    const database = await server().create();
    const first = await filled(database, 5, 5);
    await startedLedger(first, 5);
    await first.log.compact(5);
    const { loadedLog, close } = await reopened(database, first);
    expect(loadedLog).toMatchObject({ compacted: { index: 5, term: 1 }, entries: [], commitHint: 5 });
    await close();
  });
}

const IDENTITY = {
  pairId: hash("pair").slice(0, 16),
  nodeId: "a",
  clusterId: hash("cluster"),
  raftId: 0xfedc_ba98_7654_3210n,
};

export function identityCases(server: () => DatabaseServer): void {
  describe("the identity", () => {
    test("goes from nothing to new, paired and running, over restarts", async () => {
      const database = await server().create();
      let storage = await database.open();
      await storage.identityStore.insert(IDENTITY);
      for (const state of ["new", "paired"] as const) {
        storage = await reopened(database, storage);
        expect(await storage.identityStore.load()).toEqual({ ...IDENTITY, state });
        await storage.identityStore.advance(state);
      }
      expect(await storage.identityStore.load()).toEqual({ ...IDENTITY, state: "running" });
      await storage.close();
    });

    test("is inserted once, and moves only one step forward", async () => {
      const { identityStore, close } = await (await server().create()).open();
      expect(await refusalOf(identityStore.advance("new"))).toBe("out_of_order");
      await identityStore.insert(IDENTITY);
      expect(await refusalOf(identityStore.insert({ ...IDENTITY, nodeId: "b" }))).toBe("out_of_order");
      expect(await refusalOf(identityStore.advance("paired"))).toBe("out_of_order");
      expect(await refusalOf(identityStore.advance("running"))).toBe("out_of_order");
      await identityStore.advance("new");
      expect(await refusalOf(identityStore.advance("new"))).toBe("out_of_order");
      expect(await identityStore.load()).toEqual({ ...IDENTITY, state: "paired" });
      await close();
    });

    test("has a pair id of 16 bytes and a cluster id of 32", async () => {
      const { identityStore, close } = await (await server().create()).open();
      expect(await refusalOf(identityStore.insert({ ...IDENTITY, pairId: hash("long") }))).toBe("out_of_order");
      const short = { ...IDENTITY, clusterId: hash("short").slice(1) };
      expect(await refusalOf(identityStore.insert(short))).toBe("out_of_order");
      expect(await identityStore.load()).toBeNull();
      await close();
    });
  });
}
