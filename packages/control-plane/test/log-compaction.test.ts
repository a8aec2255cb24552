import { beforeEach, describe, expect, test } from "@jest/globals";
import type { EntryId, Progress, RaftId, Status } from "raft-ts";
import { ERASURE_WAIT_MS_MAX, LogCompaction, type LogCompactionOptions } from "../src/raft/log-compaction.ts";
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
    log: log as unknown as LogCompactionOptions["log"],
    compactedIndex: 0,
    entriesKept: KEPT,
    forgetLogTo: 0,
    node: { status, basicStatus: status },
    pinnedIndex: () => pinned,
    onCompacted: (point) => told.push(point),
    onFailure: (error) => failures.push(error),
    ...changes,
  });
}

describe("an old log", () => {
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
    compaction({ compactedIndex: 950 }).onApplied(2000);
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

describe("what an erasure has promised to forget", () => {
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
    const log = compaction({ forgetLogTo: 40, compactedIndex: 12 });
    expect(log.owedEntries).toBe(28);
    log.sweep();
    await settle();
    expect(compacted).toEqual([40]);
  });

  test.each([40, 41])("is paid already if the log begins after %i", (compactedIndex) => {
    const log = compaction({ forgetLogTo: 40, compactedIndex });
    log.sweep();
    expect(compacted).toEqual([]);
    expect(log.owedEntries).toBe(0);
  });

  test("waits until the entry is applied, after a crash between the promise and the apply", async () => {
    applied = 39;
    const log = compaction({ forgetLogTo: 40 });
    log.sweep();
    expect(compacted).toEqual([]);
    applied = 40;
    log.sweep();
    expect(compacted).toEqual([40]);
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
