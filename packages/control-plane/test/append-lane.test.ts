import { describe, expect, test } from "@jest/globals";
import type { AppendChore, Entry, EntryId, HardState, Message, SnapshotMeta } from "raft-ts";
import { AppendLane, type AppendTarget } from "../src/raft/append-lane.ts";
import { deferred, settle } from "./doubles.ts";

const NO_MEMBERS = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

function entry(index: number, term: number): Entry {
  return { index, term, type: "normal", payload: Uint8Array.of(index, term) };
}

/** A response whose index says which chore it belongs to. */
function response(index: number): Message {
  return {
    type: "MsgAppResp",
    from: 1n,
    to: 2n,
    term: 1,
    logTerm: 0,
    index,
    commit: 0,
    vote: 0n,
    reject: false,
    rejectHint: 0,
    context: new Uint8Array(),
    entries: [],
    snapshot: null,
  };
}

function chore(part: Partial<AppendChore>): AppendChore {
  return { entries: [], hardState: null, snapshot: null, responses: [], ...part };
}

interface Written {
  readonly entries: readonly Entry[];
  readonly hardState: HardState | null;
  readonly commit: number;
}

/** A lane whose every outcome goes, in order, into one list of words. */
function lane(options: { promise?: () => Promise<void>; retreat?: () => Promise<void>; lastEntry?: EntryId } = {}) {
  const events: string[] = [];
  const writes: Written[] = [];
  const gates: ReturnType<typeof deferred>[] = [];
  const failures: unknown[] = [];
  const log: AppendTarget = {
    async append(batch) {
      writes.push(batch);
      const gate = deferred();
      gates.push(gate);
      await gate.promise;
      return { walPosition: BigInt(writes.length) };
    },
  };
  const made = new AppendLane({
    log,
    hardState: { term: 1, vote: 0n, commit: 0 },
    lastEntry: options.lastEntry ?? { index: 0, term: 0 },
    promiseRetreat: async ({ index, term }) => {
      events.push(`retreat ${index}/${term}`);
      await options.retreat?.();
    },
    promiseVote: async ({ term, vote }) => {
      events.push(`promise ${term}/${vote}`);
      await options.promise?.();
    },
    onDurable: ({ lastAppend }) => events.push(`durable ${lastAppend === null ? "-" : lastAppend.index}`),
    onResponses: (messages) => events.push(...messages.map(({ index }) => `response ${index}`)),
    onSnapshot: ({ index }) => events.push(`snapshot ${index}`),
    onFailure: (error) => failures.push(error),
  });
  return { lane: made, events, writes, gates, failures };
}

describe("append lane", () => {
  test("holds back each response until its own chore is durable", async () => {
    const { lane: made, events, gates } = lane();
    made.push(chore({ entries: [entry(1, 1)], responses: [response(1)] }));
    await settle();
    expect(events).toEqual([]);
    gates[0]?.resolve();
    await settle();
    expect(events).toEqual(["durable 1", "response 1"]);
  });

  test("writes all chores that wait in one transaction, and answers them in their order", async () => {
    const { lane: made, events, gates, writes } = lane();
    made.push(chore({ entries: [entry(1, 1)], responses: [response(1)] }));
    made.push(chore({ entries: [entry(2, 1)], responses: [response(2)] }));
    made.push(chore({ responses: [response(3)] }));
    made.push(chore({ entries: [entry(3, 1)], responses: [response(4)] }));
    gates[0]?.resolve();
    await settle();
    expect(writes[1]?.entries.map(({ index }) => index)).toEqual([2, 3]);
    expect(events).toEqual(["durable 1", "response 1"]);
    gates[1]?.resolve();
    await settle();
    expect(events).toEqual(["durable 1", "response 1", "durable 3", "response 2", "response 3", "response 4"]);
  });

  test("lets a later chore replace the tail of an earlier one in the same transaction", async () => {
    const { lane: made, gates, writes } = lane();
    made.push(chore({}));
    made.push(chore({ entries: [entry(5, 1), entry(6, 1), entry(7, 1)] }));
    made.push(chore({ entries: [entry(6, 2)] }));
    made.push(chore({ entries: [entry(7, 2), entry(8, 2)] }));
    await settle();
    expect(writes.flatMap(({ entries }) => entries.map(({ index, term }) => [index, term]))).toEqual([
      [5, 1],
      [6, 2],
      [7, 2],
      [8, 2],
    ]);
    gates[0]?.resolve();
  });

  test("answers an empty chore without a write, but not before the writes ahead of it", async () => {
    const { lane: made, events, gates, writes } = lane();
    made.push(chore({ responses: [response(1)] }));
    await settle();
    expect(events).toEqual(["response 1"]);
    made.push(chore({ entries: [entry(1, 1)] }));
    made.push(chore({ responses: [response(2)] }));
    await settle();
    expect(events).toEqual(["response 1"]);
    gates[0]?.resolve();
    await settle();
    expect(events.at(-1)).toBe("response 2");
    expect(writes).toHaveLength(1);
  });

  test("lets a vote leave only when the promise file has it, after the database", async () => {
    const promised = deferred();
    const { lane: made, events, gates, writes } = lane({ promise: () => promised.promise });
    made.push(chore({ hardState: { term: 2, vote: 7n, commit: 0 }, responses: [response(1)] }));
    await settle();
    expect(events).toEqual([]);
    gates[0]?.resolve();
    await settle();
    expect(events).toEqual(["durable -", "promise 2/7"]);
    promised.resolve();
    await settle();
    expect(events).toEqual(["durable -", "promise 2/7", "response 1"]);
    expect(writes[0]?.hardState).toEqual({ term: 2, vote: 7n, commit: 0 });
  });

  test("writes no hard state that differs in the commit index alone, and keeps that as the next hint", async () => {
    const { lane: made, events, gates, writes } = lane();
    made.push(chore({ hardState: { term: 1, vote: 0n, commit: 4 }, responses: [response(1)] }));
    await settle();
    expect(events).toEqual(["response 1"]);
    made.push(chore({ entries: [entry(5, 1)] }));
    await settle();
    expect(writes).toEqual([expect.objectContaining({ hardState: null, commit: 4 })]);
    gates[0]?.resolve();
  });

  test("answers nothing after a failure, whether or not the write got through", async () => {
    const { lane: made, events, gates, failures } = lane();
    made.push(chore({ entries: [entry(1, 1)], responses: [response(1)] }));
    made.push(chore({ entries: [entry(2, 1)], responses: [response(2)] }));
    gates[0]?.reject(new Error("commit lost"));
    await settle();
    made.push(chore({ responses: [response(3)] }));
    await settle();
    expect(events).toEqual([]);
    expect(failures).toEqual([new Error("commit lost")]);
  });

  test("answers nothing when the promise cannot be written", async () => {
    const { lane: made, events, gates, failures } = lane({ promise: () => Promise.reject(new Error("torn")) });
    made.push(chore({ hardState: { term: 2, vote: 7n, commit: 0 }, responses: [response(1)] }));
    gates[0]?.resolve();
    await settle();
    expect(events).toEqual(["durable -", "promise 2/7"]);
    expect(failures).toEqual([new Error("torn")]);
  });

  test("stopped while a write hangs, says nothing when it ends", async () => {
    const { lane: made, events, gates, failures } = lane();
    made.push(chore({ entries: [entry(1, 1)], responses: [response(1)] }));
    made.push(chore({ responses: [response(2)] }));
    made.stop();
    const drained = made.drained();
    gates[0]?.resolve();
    await drained;
    expect(events).toEqual([]);
    expect(failures).toEqual([]);
  });

  test("does what stands before a snapshot, then nothing more", async () => {
    const snapshot: SnapshotMeta = { index: 90, term: 3, confState: NO_MEMBERS };
    const { lane: made, events, gates, writes } = lane();
    made.push(chore({ responses: [] }));
    made.push(chore({ entries: [entry(1, 1)], responses: [response(1)] }));
    made.push(chore({ snapshot, responses: [response(2)] }));
    made.push(chore({ entries: [entry(91, 3)], responses: [response(3)] }));
    await settle();
    gates[0]?.resolve();
    await settle();
    expect(events).toEqual(["durable 1", "response 1", "snapshot 90"]);
    expect(writes).toHaveLength(1);
  });
});

describe("an end of the log that is lower in Raft's order than the one before it", () => {
  const tail = chore({ entries: [entry(8, 5), entry(9, 5), entry(10, 5)], responses: [response(10)] });
  // A leader of term 6 brings its own entries of term 4 first: more than fit into one message.
  const first = chore({ entries: [entry(8, 4), entry(9, 4)], responses: [response(9)] });
  const rest = chore({ entries: [entry(10, 6)], responses: [response(10)] });

  test("is promised before it is written: it would look like a log that was set back", async () => {
    const { lane: made, events, writes, gates } = lane({ lastEntry: { index: 7, term: 4 } });
    for (const [at, each] of [tail, first, rest].entries()) {
      made.push(each);
      await settle();
      expect(writes).toHaveLength(at + 1);
      gates[at]?.resolve();
      await settle();
    }
    expect(events).toEqual([
      "durable 10",
      "response 10",
      "retreat 9/4",
      "durable 9",
      "response 9",
      "durable 10",
      "response 10",
    ]);
  });

  test("counts from what the log held when it was loaded, and is written when the promise is durable", async () => {
    const promised = deferred();
    const { lane: made, writes } = lane({ lastEntry: { index: 10, term: 5 }, retreat: () => promised.promise });
    made.push(first);
    await settle();
    expect(writes).toEqual([]);
    promised.resolve();
    await settle();
    expect(writes).toHaveLength(1);
  });
});
