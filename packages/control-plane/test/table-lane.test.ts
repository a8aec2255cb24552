import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type EntryDecision,
  type EntryWrites,
  type FactsQuery,
  type LeafWrite,
  NO_FACTS,
  clientEventKey,
} from "@event-anchoring/ledger";
import { EMPTY_STATE_ROOT, bytesToHex, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ApplyRequest } from "@event-anchoring/store";
import { TableLane } from "../src/raft/table-lane.ts";
import { type Deferred, StepClock, deferred, settle } from "./doubles.ts";

const CLIENT = new Uint8Array(16).fill(1);
const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(2));

let clock: StepClock;
let transactions: readonly number[][];
let asked: FactsQuery[];
let failures: unknown[];
/** What the tables held after each transaction. */
let written: number[];
/** The transaction under way waits for it; null: it ends at once. */
let writing: Deferred | null;
let lane: TableLane;

beforeEach(() => {
  clock = new StepClock();
  transactions = [];
  asked = [];
  failures = [];
  written = [];
  writing = null;
  lane = new TableLane({
    clock,
    tables: {
      loadFacts: async (query) => {
        asked.push(query);
        return NO_FACTS;
      },
      apply: async (...run: readonly ApplyRequest[]) => {
        transactions = [...transactions, run.map(({ decision }) => decision.index)];
        await writing?.promise;
        return { stateRoot: EMPTY_STATE_ROOT };
      },
    },
    writtenIndex: 0,
    stateRoot: EMPTY_STATE_ROOT,
    onWritten: () => written.push(lane.writtenIndex),
    onFailure: (error) => failures.push(error),
  });
});

const NO_WRITES: EntryWrites = {
  leaves: [],
  clientEvents: [],
  contents: [],
  claims: [],
  grants: [],
  endedClaims: [],
  endedGrants: [],
  revocations: [],
  erasures: [],
  tiles: [],
  certificates: [],
  apiKeys: [],
  operatorActs: [],
  trustRoots: [],
  originStatuses: [],
  trustRootPositions: [],
  groupIds: [],
  forgetGroupIdsBelow: 0,
};

function anchorIdAt(sequence: number): LeafWrite["anchorId"] {
  const id = new Uint8Array(32);
  new DataView(id.buffer).setUint32(0, sequence);
  return toAnchorId(id);
}

function leaves(first: number, count: number): LeafWrite[] {
  return Array.from({ length: count }, (_, at) => ({
    anchorId: anchorIdAt(first + at),
    bytes: new Uint8Array(0),
    kind: 1,
    originFingerprint: ORIGIN,
    depth: first + at,
    sequence: first + at,
    acceptedMs: 1,
  }));
}

function entry(index: number, writes: Partial<EntryWrites> = {}, more: Partial<EntryDecision> = {}): ApplyRequest {
  const decision = { index, writes: { ...NO_WRITES, ...writes }, isStatePoint: false, isToBeForgotten: false, ...more };
  return { decision: decision as unknown as EntryDecision, confState: null };
}

/** Taken over, but not necessarily written. */
async function decided(...requests: readonly ApplyRequest[]): Promise<void> {
  for (const request of requests) await lane.apply(request);
}

function anEventCalled(clientEventId: string, sequence: number): Partial<EntryWrites> {
  const event = {
    apiClientId: CLIENT,
    clientEventId,
    salt: new Uint8Array(32),
    anchorId: anchorIdAt(sequence),
    originFingerprint: ORIGIN,
    sequence,
    contentHash: new Uint8Array(32).fill(9),
  };
  return { leaves: leaves(sequence, 1), clientEvents: [event] };
}

function asking(query: Partial<FactsQuery>): FactsQuery {
  return { anchors: [], clientEvents: [], contents: [], claimPairs: [], records: [], grantParties: [], ...query };
}

describe("events", () => {
  test("are written together, 25 ms after the first of them was decided", async () => {
    await decided(entry(1, { leaves: leaves(0, 2) }), entry(2));
    clock.advance(24);
    await decided(entry(3, { leaves: leaves(2, 1) }));
    expect(transactions).toEqual([]);
    clock.advance(1);
    await settle();
    expect(transactions).toEqual([[1, 2, 3]]);
    expect(lane.writtenIndex).toBe(3);
    expect(clock.timerCount).toBe(0);
  });

  test("are written at once if a read has asked for their entry too early, and so are later ones", async () => {
    // A certificate can be whole the moment that a node which is behind decides the entry.
    lane.writeUpTo(1);
    await decided(entry(1, { leaves: leaves(0, 1) }));
    await settle();
    expect(transactions).toEqual([[1]]);
    await decided(entry(2, { leaves: leaves(1, 1) }));
    await lane.flush();
    expect(transactions).toEqual([[1], [2]]);
  });

  test("are written at once when 1,024 leaves wait, as many as fit at a time", async () => {
    writing = deferred();
    await decided(entry(1, { leaves: leaves(0, 1023) }));
    expect(transactions).toEqual([]);
    await decided(entry(2, { leaves: leaves(1023, 600) }), entry(3, { leaves: leaves(1623, 600) }));
    await decided(entry(4, { leaves: leaves(2223, 600) }));
    writing.resolve();
    await settle();
    expect(transactions).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test("pause deciding while Postgres is slower than the log", async () => {
    writing = deferred();
    let index = 0;
    const feed = async (): Promise<void> => {
      for (index = 1; index <= 20; index++) await lane.apply(entry(index, { leaves: leaves(index * 1000, 1000) }));
    };
    const done = feed();
    await settle();
    expect(index).toBe(9);
    const first = writing;
    writing = deferred();
    first.resolve();
    await settle();
    // A transaction has made room for its own leaves, while the rest of what was decided is still being written.
    expect(transactions).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect([index, lane.writtenIndex]).toEqual([11, 2]);
    writing.resolve();
    await done;
    expect(lane.writtenIndex).toBeGreaterThan(8);
  });

  test("pause deciding also while very many entries wait or are written that have no leaves", async () => {
    writing = deferred();
    let index = 0;
    const feed = async (): Promise<void> => {
      for (index = 501; index <= 3000; index++) await lane.apply(entry(index));
    };
    for (let first = 1; first <= 500; first++) await lane.apply(entry(first));
    clock.advance(25);
    const done = feed();
    for (let turn = 0; turn < 300; turn++) await settle();
    expect(index).toBe(1024);
    writing.resolve();
    await done;
    await lane.flush();
    expect(lane.writtenIndex).toBe(3000);
    expect(transactions.flat()).toEqual(Array.from({ length: 3000 }, (_, at) => at + 1));
  });
});

describe("whatever is not only events", () => {
  test.each<[string, Partial<EntryWrites>, Partial<EntryDecision>]>([
    ["an ended claim", { endedClaims: [{}] as never }, {}],
    ["an API key", { apiKeys: [{}] as never }, {}],
    ["a trust root", { trustRoots: [{}] as never }, {}],
    ["an erasure", { erasures: [{}] as never }, {}],
    ["what nobody has said to add rows only", { unheardOf: 1 } as never, {}],
    ["a state point", {}, { isStatePoint: true }],
    ["an entry that the log must drop", {}, { isToBeForgotten: true }],
  ])("%s is written at once and alone, and the next entry waits for it", async (_, writes, more) => {
    await decided(entry(1, { leaves: leaves(0, 1) }));
    writing = deferred();
    let isTaken = false;
    const taking = lane.apply(entry(2, writes, more)).then(() => (isTaken = true));
    await settle();
    writing.resolve();
    await taking;
    expect(isTaken).toBe(true);
    expect(transactions).toEqual([[1], [2]]);
    expect(lane.writtenIndex).toBe(2);
  });

  test("a membership change likewise", async () => {
    const confState = { voters: [1n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    await decided({ ...entry(1), confState });
    expect(transactions).toEqual([[1]]);
  });
});

describe("a flush", () => {
  test("waits for all that is decided, and for nothing if it is written", async () => {
    await decided(entry(1), entry(2));
    await lane.flush();
    expect(transactions).toEqual([[1, 2]]);
    await lane.flush();
    expect(transactions).toHaveLength(1);
    expect(written).toEqual([2]);
  });

  test("up to an entry that is not decided yet has it written as soon as it is", async () => {
    await decided(entry(1));
    lane.writeUpTo(2);
    await settle();
    await decided(entry(2), entry(3));
    expect(written).toEqual([1, 2]);
    clock.advance(25);
    await settle();
    expect(written).toEqual([1, 2, 3]);
  });

  test("fails when the tables cannot be written, as does all that follows", async () => {
    writing = deferred();
    await decided(entry(1));
    const flushed = lane.flush();
    writing.reject(new Error("the connection is lost"));
    await expect(flushed).rejects.toThrow("the connection is lost");
    await expect(lane.apply(entry(2))).rejects.toThrow("the connection is lost");
    expect(failures).toHaveLength(1);
    clock.advance(1000);
    expect(transactions).toEqual([[1]]);
  });

  test("fails at the end of the session; what waits is not written any more", async () => {
    writing = deferred();
    await decided(entry(1));
    const flushed = lane.flush();
    await decided(entry(2));
    lane.stop();
    await expect(flushed).rejects.toMatchObject({ code: "unavailable" });
    let isDrained = false;
    const drained = lane.drained().then(() => (isDrained = true));
    await settle();
    expect(isDrained).toBe(false);
    writing.resolve();
    await drained;
    clock.advance(1000);
    expect(transactions).toEqual([[1]]);
    expect(failures).toEqual([]);
  });
});

test("after its end the lane takes nothing", async () => {
  lane.stop();
  await expect(lane.apply(entry(1, anEventCalled("late", 7)))).rejects.toMatchObject({ code: "unavailable" });
  await lane.loadFacts(asking({ anchors: [anchorIdAt(7)] }));
  expect(asked).toHaveLength(1);
});

describe("facts", () => {
  test("of entries that are not written yet are found without the tables", async () => {
    await decided(entry(1, anEventCalled("known", 7)));
    const facts = await lane.loadFacts(
      asking({ anchors: [anchorIdAt(7)], clientEvents: [{ apiClientId: CLIENT, clientEventId: "known" }] }),
    );
    expect(asked).toEqual([]);
    expect(facts.clientEvents.get(clientEventKey(CLIENT, "known"))).toMatchObject({ sequence: 7, isErased: false });
    expect(facts.anchors.get(bytesToHex(anchorIdAt(7)))).toEqual({
      kind: 1,
      sequence: 7,
      originFingerprint: ORIGIN,
      depth: 7,
      clientEvent: { apiClientId: CLIENT, isErased: false },
    });
  });

  test("ask the tables for the rest, and for all once the entry is written", async () => {
    await decided(entry(1, anEventCalled("known", 7)));
    const query = asking({
      clientEvents: ["known", "new"].map((clientEventId) => ({ apiClientId: CLIENT, clientEventId })),
    });
    await lane.loadFacts(query);
    expect(asked.at(-1)?.clientEvents).toEqual([{ apiClientId: CLIENT, clientEventId: "new" }]);
    await lane.flush();
    await lane.loadFacts(query);
    expect(asked.at(-1)?.clientEvents).toEqual(query.clientEvents);
  });

  test("are still in memory while they are being written", async () => {
    writing = deferred();
    await decided(entry(1, anEventCalled("known", 7)));
    const flushed = lane.flush();
    const query = asking({ clientEvents: [{ apiClientId: CLIENT, clientEventId: "known" }] });
    expect((await lane.loadFacts(query)).clientEvents.size).toBe(1);
    expect(asked).toEqual([]);
    writing.resolve();
    await flushed;
  });

  test("about records are asked for when all is written", async () => {
    await decided(entry(1, anEventCalled("known", 7)));
    await lane.loadFacts(asking({ records: [anchorIdAt(7)] }));
    expect(transactions).toEqual([[1]]);
    expect(asked).toHaveLength(1);
  });
});
