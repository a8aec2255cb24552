import { describe, expect, test } from "@jest/globals";
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import { type DurableState, birthStep, committedBySignature, judgeRoots, judgeStart } from "../src/promises/fencing.ts";
import type { Promises, SignedHead } from "../src/promises/promise-file.ts";

const filled = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);
const ORIGIN = toOriginFingerprint(filled(7, 32));
const OTHER_ORIGIN = toOriginFingerprint(filled(8, 32));
const CLUSTER = filled(1, 32);
const PAIR = filled(2, 16);

function head(treeSize: number, raftIndex: number, raftTerm: number): SignedHead {
  return {
    originFingerprint: ORIGIN,
    treeSize,
    rootHash: filled(treeSize, 32),
    raftIndex,
    raftTerm,
    timeS: 1_700_000_000,
  };
}

function promises(change: Partial<Promises> = {}): Promises {
  return {
    clusterId: CLUSTER,
    nodeId: "a",
    pairId: PAIR,
    incarnation: 3,
    term: 5,
    vote: 10n,
    signedHeads: new Map([[bytesToHex(ORIGIN), head(40, 30, 4)]]),
    postgres: { systemIdentifier: "7461", timeline: 1, walPosition: 1000n },
    lastAppend: { index: 50, term: 5 },
    peers: new Map(),
    stateHead: null,
    mayLackNewest: false,
    reached: { index: 50, term: 5 },
    ...change,
  };
}

/** A log of 50 entries: up to 20 of term 3, up to 40 of term 4, then of term 5; nothing compacted. */
function durable(change: Partial<DurableState> = {}): DurableState {
  return {
    self: { nodeId: "a", clusterId: CLUSTER },
    identity: { state: "running", pairId: PAIR, nodeId: "a", clusterId: CLUSTER },
    hardState: { term: 5, vote: 10n, commit: 45 },
    lastEntry: { index: 50, term: 5 },
    compacted: { index: 0, term: 0 },
    termAt: (index) => (index < 1 || index > 50 ? null : index <= 20 ? 3 : index <= 40 ? 4 : 5),
    systemIdentifier: "7461",
    timeline: 1,
    walFlushed: 1000n,
    restoration: null,
    ...change,
  };
}

const identity = (state: "new" | "paired" | "running") => ({ state, pairId: PAIR, nodeId: "a", clusterId: CLUSTER });
const EMPTY_LOG = { hardState: null, lastEntry: { index: 0, term: 0 }, termAt: () => null };

describe("what a node has signed", () => {
  test("is committed, up to the newest entry of any origin", () => {
    const signedHeads = new Map([
      [bytesToHex(ORIGIN), head(40, 30, 4)],
      [bytesToHex(OTHER_ORIGIN), { ...head(7, 46, 5), originFingerprint: OTHER_ORIGIN }],
    ]);
    expect(committedBySignature(promises({ signedHeads }), 50)).toBe(46);
    expect(committedBySignature(promises({ signedHeads: new Map() }), 50)).toBe(0);
  });

  test("is committed, up to the entry of the state that was signed, if the log leads there", () => {
    const stateHead = { raftIndex: 48, textHash: filled(3, 32) };
    const signed = promises({ signedHeads: new Map([[bytesToHex(ORIGIN), head(40, 30, 4)]]), stateHead });
    expect(committedBySignature(signed, 48)).toBe(48);
    expect(committedBySignature(signed, 47)).toBe(30);
  });
});

describe("a start that keeps its promises", () => {
  test.each<[string, Partial<Promises>, Partial<DurableState>]>([
    ["everything is as it was", {}, {}],
    [
      "the database is ahead of the file in every way",
      {},
      { walFlushed: 2000n, hardState: { term: 9, vote: 0n, commit: 45 } },
    ],
    ["a later term has replaced an uncommitted tail by a shorter one", {}, { lastEntry: { index: 46, term: 6 } }],
    ["no vote was given in this term", { vote: 0n }, {}],
    ["the signed entry is the compaction point", {}, { compacted: { index: 30, term: 4 }, termAt: () => null }],
    ["the signed entry lies below the compaction point", {}, { compacted: { index: 45, term: 5 }, termAt: () => null }],
    ["nothing was signed yet", { signedHeads: new Map() }, {}],
    [
      "the row is still `paired`, the file newly made",
      { term: 0, vote: 0n, signedHeads: new Map() },
      { identity: identity("paired") },
    ],
  ])("%s", (_, changedPromises, changedState) => {
    expect(judgeStart(promises(changedPromises), durable(changedState))).toBeNull();
  });
});

describe("the first start on a database that a backup was put into", () => {
  const restored = (change: Partial<DurableState> = {}): DurableState =>
    durable({
      identity: null,
      hardState: { term: 5, vote: 0n, commit: 50 },
      compacted: { index: 50, term: 5 },
      termAt: () => null,
      restoration: { nodeId: "a", point: { index: 50, term: 5 } },
      ...change,
    });

  test.each(["new", "paired"] as const)("goes on where it was interrupted (%s)", (state) => {
    expect(judgeStart(null, restored())).toBeNull();
    expect(judgeStart(null, restored({ identity: identity(state) }))).toBeNull();
  });

  test.each<[string, string, Partial<DurableState>]>([
    ["was put there for another node", "wrong_node", { restoration: { nodeId: "b", point: { index: 50, term: 5 } } }],
    ["was a node's, whose promise file is gone", "promise_file_missing", { identity: identity("running") }],
    ["has a longer log than the backup", "promise_file_missing", { lastEntry: { index: 51, term: 5 } }],
    ["has a log of another term", "promise_file_missing", { lastEntry: { index: 50, term: 6 } }],
    ["has gone into a later term", "promise_file_missing", { hardState: { term: 6, vote: 0n, commit: 50 } }],
    ["has voted", "promise_file_missing", { hardState: { term: 5, vote: 10n, commit: 50 } }],
    ["holds a log, and no backup was put there", "promise_file_missing", { restoration: null }],
  ])("is refused if the database %s", (_, code, change) => {
    expect(judgeStart(null, restored(change))?.code).toBe(code);
  });

  test("is refused beside the promise file of an earlier life", () => {
    expect(judgeStart(promises(), restored())?.code).toBe("database_replaced");
  });
});

describe("a start that has forgotten", () => {
  test.each<[string, Partial<Promises>, Partial<DurableState>]>([
    ["wrong_node", { nodeId: "b" }, {}],
    ["wrong_node", { clusterId: filled(9, 32) }, {}],
    ["wrong_node", {}, { self: { nodeId: "b", clusterId: CLUSTER } }],
    ["wrong_node", {}, { identity: { ...identity("running"), nodeId: "b" } }],
    ["wrong_node", {}, { identity: { ...identity("running"), clusterId: filled(9, 32) } }],
    ["database_replaced", {}, { identity: null }],
    ["database_replaced", {}, { identity: identity("new") }],
    ["pair_mismatch", { pairId: filled(3, 16) }, {}],
    ["pair_mismatch", { pairId: filled(3, 16) }, { identity: identity("paired") }],
    ["database_replaced", {}, { systemIdentifier: "7462" }],
    ["timeline_changed", {}, { timeline: 2 }],
    ["timeline_changed", { postgres: { systemIdentifier: "7461", timeline: 2, walPosition: 0n } }, {}],
    ["wal_went_back", {}, { walFlushed: 999n }],
    ["hard_state_went_back", {}, { hardState: { term: 4, vote: 10n, commit: 45 } }],
    ["hard_state_went_back", {}, { hardState: { term: 5, vote: 11n, commit: 45 } }],
    ["hard_state_went_back", {}, { hardState: { term: 5, vote: 0n, commit: 45 } }],
    ["hard_state_went_back", {}, { hardState: null }],
    ["hard_state_went_back", {}, { identity: identity("paired"), ...EMPTY_LOG }],
    ["log_went_back", {}, { lastEntry: { index: 49, term: 5 } }],
    ["log_went_back", {}, { lastEntry: { index: 90, term: 4 } }],
    ["log_went_back", {}, { lastEntry: { index: 0, term: 0 } }],
    ["signed_entry_lost", { lastAppend: { index: 1, term: 1 } }, { termAt: () => null }],
    ["signed_entry_replaced", {}, { termAt: () => 5 }],
    ["signed_entry_replaced", {}, { compacted: { index: 30, term: 3 } }],
  ])("%s (%#)", (code, changedPromises, changedState) => {
    expect(judgeStart(promises(changedPromises), durable(changedState))?.code).toBe(code);
  });

  test("every signed head is judged, not the first alone", () => {
    const signedHeads = new Map([
      [bytesToHex(ORIGIN), head(40, 30, 4)],
      [bytesToHex(OTHER_ORIGIN), { ...head(41, 48, 4), originFingerprint: OTHER_ORIGIN }],
    ]);
    const reason = judgeStart(promises({ signedHeads }), durable());
    expect(reason?.code).toBe("signed_entry_replaced");
    expect(reason?.detail).toContain(bytesToHex(OTHER_ORIGIN));
  });
});

describe("setting a node up, interrupted anywhere", () => {
  test.each<["new" | "paired" | null, boolean, string]>([
    [null, false, "insert"],
    ["new", false, "pair"],
    ["paired", false, "create_file"],
  ])("row %s, file %s: goes on with %s", (state, hasFile, step) => {
    const found = durable({ ...EMPTY_LOG, identity: state === null ? null : identity(state) });
    expect(judgeStart(null, found)).toBeNull();
    expect(birthStep(state, hasFile)).toBe(step);
  });

  test("with the file made, the row advances to `running`, and then nothing is left", () => {
    expect(birthStep("paired", true)).toBe("run");
    expect(birthStep("running", true)).toBe("done");
  });

  test.each<[string, Partial<DurableState>]>([
    ["a running row", { identity: identity("running") }],
    ["a running row and an empty log", { identity: identity("running"), ...EMPTY_LOG }],
    ["a log beside a paired row", { identity: identity("paired") }],
    ["a log beside a new row", { identity: identity("new") }],
    ["a log without a row", { identity: null }],
    ["a term without a row", { identity: null, ...EMPTY_LOG, hardState: { term: 1, vote: 0n, commit: 0 } }],
  ])("%s without a promise file is fenced", (_, change) => {
    expect(judgeStart(null, durable(change))?.code).toBe("promise_file_missing");
  });
});

describe("the roots after replay", () => {
  test("are the signed ones", () => {
    expect(judgeRoots(promises(), (_, treeSize) => filled(treeSize, 32))).toBeNull();
  });
  test("differ", () => {
    expect(judgeRoots(promises(), () => filled(0, 32))?.code).toBe("root_differs");
  });
  test("are not reached", () => {
    expect(judgeRoots(promises(), () => null)?.code).toBe("root_missing");
  });
});
