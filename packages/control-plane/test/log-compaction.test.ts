import { beforeEach, describe, expect, test } from "@jest/globals";
import type { EntryId, Progress, RaftId, Status } from "raft-ts";
import { ERASURE_WAIT_MS_MAX, LogCompaction, type LogCompactionOptions } from "../src/raft/log-compaction.ts";
import { LOG_ROW_BYTES, LogSizes } from "../src/raft/log-sizes.ts";
import { type Deferred, StepClock, deferred, settle } from "./doubles.ts";

const KEPT = 1000;

let clock: StepClock;
let compacted: number[];
let told: EntryId[];
let failures: unknown[];
let writing: Deferred | null;
let pinned: number | null;
let role: "leader" | "follower";
let applied: number;
/** How far the tables are. */
let tablesIndex: number;
/** How far the logs of enough nodes reach. */
let heldByEnough: number;
/** How far the logs of this leader's members reach. */
let matches: number[];

beforeEach(() => {
  clock = new StepClock();
  compacted = [];
  told = [];
  failures = [];
  writing = null;
  pinned = null;
  role = "follower";
  applied = 1_000_000;
  tablesIndex = 1_000_000;
  heldByEnough = 1_000_000;
  matches = [];
});

function status(): Status {
  const progress = new Map<RaftId, Progress>(
    matches.map((match, at) => [
      BigInt(at + 1),
      { match, next: match + 1, state: "replicate", recentActive: match > 0, isLearner: false },
    ]),
  );
  return { role, applied, progress: role === "leader" ? progress : new Map() } as unknown as Status;
}

/** A log of that many entries after `compactedTo`, each of which takes 1,000 bytes. */
function logOf(compactedTo: number, count: number): LogSizes {
  const entries = Array.from({ length: count }, (_, at) => ({
    index: compactedTo + 1 + at,
    payloadBytes: 1000 - LOG_ROW_BYTES,
  }));
  return new LogSizes({ compactedTo, applied: compactedTo, entries });
}

function compaction(changes: Partial<LogCompactionOptions> = {}): LogCompaction {
  const log = {
    compact: async (upTo: number) => {
      compacted.push(upTo);
      await writing?.promise;
      return { index: upTo, term: 1 };
    },
  };
  return new LogCompaction({
    clock,
    log,
    sizes: logOf(0, 0),
    entriesKept: KEPT,
    bytesKept: 2 ** 40,
    forgetLogTo: 0,
    node: { status, basicStatus: status },
    tablesIndex: () => tablesIndex,
    heldByEnough: () => heldByEnough,
    pinnedIndex: () => pinned,
    onCompacted: (point) => told.push(point),
    onFailure: (error) => failures.push(error),
    ...changes,
  });
}

describe("an old log", () => {
  test("keeps what the tables do not hold yet: a restart decides it again", async () => {
    const log = compaction();
    tablesIndex = 60;
    for (let index = 1; index <= 2000; index++) log.onApplied(index);
    await settle();
    tablesIndex = 1499;
    log.owe(1500);
    log.sweep();
    await settle();
    tablesIndex = 1500;
    log.sweep();
    await settle();
    expect(compacted).toEqual([60, 1500]);
  });

  test("goes a tenth of what is kept at a time", async () => {
    const log = compaction();
    for (let index = 1; index <= 1300; index++) {
      log.onApplied(index);
      if (index % 50 === 0) await settle();
    }
    expect(compacted).toEqual([100, 200, 300]);
    expect(told.map(({ index }) => index)).toEqual([100, 200, 300]);
  });

  test("begins where it began before a restart", () => {
    compaction({ sizes: logOf(950, 0) }).onApplied(2000);
    expect(compacted).toEqual([]);
  });

  test("stays where somebody is being handed the state, and where the engine has not heard of the apply", () => {
    pinned = 50;
    compaction().onApplied(2000);
    expect(compacted).toEqual([]);
    pinned = null;
    applied = 400;
    compaction().onApplied(2000);
    expect(compacted).toEqual([400]);
  });
});

describe("a log that too few other nodes have", () => {
  test("stays, and goes once they have it: without it, nobody could prove the state to them", async () => {
    heldByEnough = 0;
    const log = compaction();
    for (let index = 1; index <= 5000; index++) log.onApplied(index);
    expect(compacted).toEqual([]);
    heldByEnough = 3000;
    log.onApplied(5001);
    await settle();
    heldByEnough = 5002;
    log.onApplied(5002);
    await settle();
    expect(compacted).toEqual([3000, 4002]);
  });

  test("goes in few cuts while they get it", async () => {
    heldByEnough = 0;
    const log = compaction();
    for (let index = 1; index <= 5000; index++) log.onApplied(index);
    for (let index = 5001; index <= 9000; index++) {
      heldByEnough += 2;
      log.onApplied(index);
      if (index % 10 === 0) await settle();
    }
    expect(compacted.length).toBeLessThan(100);
    expect(compacted.at(-1)).toBeGreaterThan(7000);
  });

  test("stays although it holds what an erasure has to drop, however long ago", () => {
    heldByEnough = 39;
    const log = compaction();
    log.owe(40);
    clock.advance(10 * ERASURE_WAIT_MS_MAX);
    log.sweep();
    expect(compacted).toEqual([]);
    expect(log.owedEntries).toBe(40);
    heldByEnough = 40;
    log.sweep();
    expect(compacted).toEqual([40]);
  });
});

describe("a log that is bounded in bytes", () => {
  test("goes a tenth of what is kept at a time, long before it has as many entries as are kept", async () => {
    const log = compaction({ sizes: logOf(0, 200), bytesKept: 50_000 });
    for (let index = 1; index <= 70; index++) {
      log.onApplied(index);
      await settle();
    }
    expect(compacted).toEqual([5, 10, 15, 20]);
    expect(log.held).toEqual({ entries: 180, bytes: 180_000 });
  });

  test("keeps what fits behind the newest applied entry, whatever waits to be applied", async () => {
    const log = compaction({ sizes: logOf(0, 5000), bytesKept: 50_000 });
    for (let index = 1; index <= 54; index++) log.onApplied(index);
    expect(compacted).toEqual([]);
    log.onApplied(55);
    expect(compacted).toEqual([5]);
  });

  test("is cut by entries where these are the narrower bound", async () => {
    const log = compaction({ sizes: logOf(0, 2000), bytesKept: 5_000_000 });
    for (let index = 1; index <= 1100; index++) log.onApplied(index);
    expect(compacted).toEqual([100]);
  });

  test("counts what arrives, and not what it replaces", () => {
    const log = compaction({ sizes: logOf(0, 10), bytesKept: 50_000 });
    const payload = new Uint8Array(9000 - LOG_ROW_BYTES);
    log.onArrived([{ index: 8, term: 2, type: "normal", payload }]);
    expect(log.held).toEqual({ entries: 8, bytes: 16_000 });
  });

  test("stays where somebody is being handed the state", () => {
    pinned = 0;
    const log = compaction({ sizes: logOf(0, 200), bytesKept: 50_000 });
    for (let index = 1; index <= 150; index++) log.onApplied(index);
    expect(compacted).toEqual([]);
    pinned = null;
    log.onApplied(151);
    expect(compacted).toEqual([101]);
  });

  test("an entry larger than all that is kept goes once it is applied, and the log stays usable", async () => {
    const log = compaction({ sizes: logOf(0, 3), bytesKept: 500 });
    log.onApplied(1);
    await settle();
    log.onApplied(2);
    expect(compacted).toEqual([1, 2]);
  });
});

describe("what an erasure has to drop", () => {
  test("goes at once on a node that does not lead", async () => {
    const log = compaction();
    log.owe(40);
    expect(log.owedEntries).toBe(40);
    log.sweep();
    await settle();
    expect(compacted).toEqual([40]);
    expect(log.owedEntries).toBe(0);
    log.sweep();
    expect(compacted).toEqual([40]);
  });

  test("goes after a restart without any new erasure", async () => {
    const log = compaction({ forgetLogTo: 40, sizes: logOf(12, 0) });
    expect(log.owedEntries).toBe(28);
    log.sweep();
    await settle();
    expect(compacted).toEqual([40]);
  });

  test.each([40, 41])("is paid already if the log begins after %i", (compactedIndex) => {
    const log = compaction({ forgetLogTo: 40, sizes: logOf(compactedIndex, 0) });
    log.sweep();
    expect(compacted).toEqual([]);
    expect(log.owedEntries).toBe(0);
  });

  test("waits on a leader until every member has it", () => {
    role = "leader";
    matches = [60, 39, 60];
    const log = compaction();
    log.owe(40);
    log.sweep();
    expect(compacted).toEqual([]);
    matches = [60, 40, 60];
    log.sweep();
    expect(compacted).toEqual([40]);
  });

  test("waits on a leader for 30 s at most, also for a member that is dead", () => {
    role = "leader";
    matches = [60, 0, 60];
    const log = compaction();
    log.owe(40);
    clock.advance(ERASURE_WAIT_MS_MAX - 1);
    log.sweep();
    expect(compacted).toEqual([]);
    clock.advance(1);
    log.sweep();
    expect(compacted).toEqual([40]);
  });

  test("waits for each erasure by itself: later ones give the first no grace", async () => {
    role = "leader";
    matches = [1000, 0];
    const log = compaction();
    for (let round = 0; round < 6; round++) {
      log.owe(40 + round);
      clock.advance(6000);
      log.sweep();
      await settle();
    }
    expect(compacted).toEqual([40, 41]);
    expect(log.owedEntries).toBe(4);
  });

  test("does not cut off a node that is taking over the state, and goes when that is over", () => {
    pinned = 39;
    const log = compaction();
    log.owe(40);
    clock.advance(2 * ERASURE_WAIT_MS_MAX);
    log.sweep();
    expect(compacted).toEqual([]);
    pinned = null;
    log.sweep();
    expect(compacted).toEqual([40]);
  });

  test("goes one compaction at a time", async () => {
    writing = deferred();
    const log = compaction();
    log.owe(40);
    log.sweep();
    log.owe(50);
    log.sweep();
    log.onApplied(5000);
    expect(compacted).toEqual([40]);
    writing.resolve();
    await settle();
    log.sweep();
    expect(compacted).toEqual([40, 50]);
  });

  test("ends the session if it cannot go: the next one owes it still", async () => {
    writing = deferred();
    const log = compaction();
    log.owe(40);
    log.sweep();
    writing.reject(new Error("disk full"));
    await settle();
    expect(failures).toEqual([new Error("disk full")]);
    expect(log.owedEntries).toBe(40);
    expect(told).toEqual([]);
  });
});
