/** Who gets a state, how many at a time, and when it is let go. */
import { beforeEach, expect, test } from "@jest/globals";
import {
  type SignedProgress,
  decodeSnapshotManifest,
  encodeSnapshotChunkRequest,
} from "@event-anchoring/control-contract";
import type { OpenExport } from "../src/snapshots/snapshot-exporter.ts";
import { SnapshotExporter } from "../src/snapshots/snapshot-exporter.ts";
import type { UnaryAnswer, UnaryRequest } from "../src/transport/network-types.ts";
import { type Deferred, StepClock, deferred, quietLogger, settle } from "./doubles.ts";

const CHUNK = new Uint8Array(10).fill(7);

let clock: StepClock;
let made: number;
let closed: number[];
let held: number;
let gate: Deferred | null;
/** The signatures that are waited for; null: they are there. */
let signing: Deferred | null;
let hasHonestSigner: boolean;
/** Nodes whose signature the exporter did not wait for. */
let taking: readonly string[];
/** How far the logs of peers reach. */
let reached: Map<string, number>;
let appliedIndex: number;
let exporter: SnapshotExporter;

function exported(number: number): OpenExport {
  return {
    manifest: {
      snapshotId: new Uint8Array(16).fill(number),
      raftIndex: number * 10,
      raftTerm: 1,
      effect: new Uint8Array(32),
      chunkBytes: 10,
      totalBytes: 10,
      chunkHashes: [new Uint8Array(32)],
      wholeHash: new Uint8Array(32),
    },
    chunk: async () => CHUNK,
    close: async () => void closed.push(number),
  };
}

function progressAt(index: number | undefined): SignedProgress | null {
  if (index === undefined) return null;
  const [lifeId, signature] = [new Uint8Array(16), new Uint8Array(64)];
  return { epoch: 1, incarnation: 1, lifeId, term: 1, index, signature };
}

beforeEach(() => {
  clock = new StepClock();
  made = 0;
  closed = [];
  held = 0;
  gate = null;
  signing = null;
  hasHonestSigner = true;
  taking = [];
  reached = new Map();
  appliedIndex = 10;
  exporter = new SnapshotExporter({
    clock,
    logger: quietLogger,
    entriesKept: 100,
    session: () => ({
      state: { appliedIndex },
      membership: { peers: { memories: { progressOf: (nodeId) => progressAt(reached.get(nodeId)) } } },
      holdSigned: async (hold, { isTaking = () => false }) => {
        await hold.hold();
        await signing?.promise;
        taking = ["b", "c", "d"].filter(isTaking);
        return { databaseSnapshot: "s", stateHead: "n", raftIndex: 1, hasHonestSigner };
      },
    }),
    machine: {
      openStateHold: async () => {
        held++;
        return { hold: async () => ({ databaseSnapshot: "s", raftIndex: 1 }), release: async () => void held-- };
      },
      exportSnapshot: async () => {
        await gate?.promise;
        return exported(++made);
      },
    },
  });
});

function request(
  nodeId: string,
  body: Uint8Array = new Uint8Array(),
  signal = new AbortController().signal,
): UnaryRequest {
  return { from: { kind: "node", nodeId }, body, signal };
}

function bodyOf(answer: UnaryAnswer): Uint8Array {
  if (!("body" in answer)) throw new Error("a body was due");
  return answer.body;
}

async function taken(nodeId: string): Promise<Uint8Array> {
  return decodeSnapshotManifest(bodyOf(await exporter.manifest(request(nodeId)))).snapshotId;
}

async function chunkOf(nodeId: string, snapshotId: Uint8Array): Promise<number> {
  return (await exporter.chunk(request(nodeId, encodeSnapshotChunkRequest({ snapshotId, chunkIndex: 0 })))).status;
}

test("peers that ask within a minute share one export, also while it is being made", async () => {
  gate = deferred();
  const both = [taken("b"), taken("c")];
  gate.resolve();
  expect(await Promise.all(both)).toEqual([new Uint8Array(16).fill(1), new Uint8Array(16).fill(1)]);
  expect(await taken("d")).toEqual(new Uint8Array(16).fill(1));
  expect(made).toBe(1);
  expect(held).toBe(0);
  expect(exporter.pinnedIndex()).toBe(10);
});

test("peers that have asked for the one that is being made cannot sign it", async () => {
  signing = deferred();
  const both = [taken("b"), taken("c")];
  await settle();
  signing.resolve();
  await Promise.all(both);
  expect(taking).toEqual(["b", "c"]);
  clock.advance(61_000);
  await taken("d");
  expect(taking).toEqual(["d"]);
});

test("one that too few have signed is not shared with peers that ask later", async () => {
  hasHonestSigner = false;
  expect(await taken("b")).toEqual(new Uint8Array(16).fill(1));
  hasHonestSigner = true;
  expect(await taken("c")).toEqual(new Uint8Array(16).fill(2));
  expect(await taken("d")).toEqual(new Uint8Array(16).fill(2));
  expect(exporter.pinnedIndex()).toBe(10);
});

test("two are open at the most: a third is refused until one ends", async () => {
  const first = await taken("b");
  clock.advance(40_000);
  expect(await chunkOf("b", first)).toBe(200);
  clock.advance(30_000);
  const second = await taken("c");
  expect(await chunkOf("b", first)).toBe(200);
  clock.advance(55_000);
  expect(await chunkOf("b", first)).toBe(200);
  expect(await chunkOf("c", second)).toBe(200);
  clock.advance(10_000);
  expect((await exporter.manifest(request("d"))).status).toBe(503);
  exporter.onPeerDown("b");
  expect(closed).toEqual([1]);
  expect(await taken("d")).toEqual(new Uint8Array(16).fill(3));
});

test("a peer has one: it ends when the peer asks again later, or is gone", async () => {
  const first = await taken("b");
  clock.advance(59_000);
  expect(await chunkOf("b", first)).toBe(200);
  clock.advance(2000);
  await taken("b");
  expect(closed).toEqual([1]);
  expect(await chunkOf("b", first)).toBe(404);
  exporter.onPeerDown("b");
  expect(closed).toEqual([1, 2]);
});

test("the log stays for a state that is being made, from the entry at which the tables are held", async () => {
  gate = deferred();
  const asked = taken("b");
  await settle();
  expect(exporter.pinnedIndex()).toBe(1);
  gate.resolve();
  await asked;
  expect(exporter.pinnedIndex()).toBe(10);
});

/** It has written the state, and loads it. */
async function takenOver(nodeId: string): Promise<void> {
  await taken(nodeId);
  exporter.onPeerDown(nodeId);
  clock.advance(119_000);
  exporter.onPeerUp(nodeId);
}

test("the log stays for a peer that writes and loads a state, and moves on until it has caught up", async () => {
  await takenOver("b");
  appliedIndex = 1000;
  clock.advance(10 * 60_000);
  expect(exporter.pinnedIndex()).toBe(10);
  reached.set("b", 15);
  expect(exporter.pinnedIndex()).toBe(15);
  reached.set("b", 949);
  expect(exporter.pinnedIndex()).toBe(949);
  reached.set("b", 950);
  expect(exporter.pinnedIndex()).toBeNull();
  expect(clock.timerCount).toBe(0);
});

test("the log does not stay for a peer that leaves when it has caught up", async () => {
  await takenOver("b");
  reached.set("b", 10);
  exporter.onPeerDown("b");
  appliedIndex = 1000;
  expect(exporter.pinnedIndex()).toBeNull();
});

test("the log stays for an hour at most", async () => {
  await takenOver("b");
  clock.advance(58 * 60_000);
  expect(exporter.pinnedIndex()).toBe(10);
  clock.advance(60_000);
  expect(exporter.pinnedIndex()).toBeNull();
});

test("the log does not stay for a peer that is away for two minutes, nor for a state it has given up", async () => {
  await taken("b");
  clock.advance(61_000);
  await taken("c");
  expect(exporter.pinnedIndex()).toBe(10);
  await taken("b");
  expect(exporter.pinnedIndex()).toBe(20);
  exporter.onPeerDown("b");
  exporter.onPeerDown("c");
  clock.advance(120_000);
  expect(exporter.pinnedIndex()).toBeNull();
});

test("who did not ask for it gets no chunk", async () => {
  expect(await chunkOf("c", await taken("b"))).toBe(404);
});

test("an export is closed after two minutes without a request, and after an hour in any case", async () => {
  await taken("b");
  clock.advance(120_000);
  expect(closed).toEqual([1]);
  const second = await taken("b");
  for (let minutes = 0; minutes < 59; minutes++) {
    clock.advance(60_000);
    expect(await chunkOf("b", second)).toBe(200);
  }
  expect(closed).toEqual([1]);
  clock.advance(60_000);
  expect(closed).toEqual([1, 2]);
});

test("a peer that ends before this node has connected to it keeps neither the export nor the log", async () => {
  const snapshotId = await taken("b");
  clock.advance(119_000);
  expect(await chunkOf("b", snapshotId)).toBe(200);
  clock.advance(119_000);
  expect(exporter.pinnedIndex()).toBe(10);
  clock.advance(1000);
  expect(exporter.pinnedIndex()).toBeNull();
  expect(closed).toEqual([1]);
  expect(clock.timerCount).toBe(0);
});

test("the log stays for a peer that is connected while it takes over a state", async () => {
  exporter.onPeerUp("b");
  await taken("b");
  clock.advance(10 * 60_000);
  expect(closed).toEqual([1]);
  expect(exporter.pinnedIndex()).toBe(10);
});

test("a peer that is gone before it is made leaves nothing open", async () => {
  gate = deferred();
  const gone = new AbortController();
  const answer = exporter.manifest(request("b", new Uint8Array(), gone.signal));
  gone.abort();
  gate.resolve();
  expect((await answer).status).toBe(503);
  await settle();
  expect(closed).toEqual([1]);
  expect(exporter.pinnedIndex()).toBeNull();
  expect(clock.timerCount).toBe(0);
});
