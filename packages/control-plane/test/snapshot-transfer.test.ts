/** Taking over a peer's state: whom a node asks, whom it stops waiting for, and what it refuses. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { UNARY_CALLS, decodeSnapshotChunkRequest, encodeSnapshotManifest } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { InstallSnapshotOptions, InstalledSnapshot, SnapshotOrigin } from "@event-anchoring/store";
import type { NodeIdentity } from "../src/ports/identity.ts";
import type { Promises } from "../src/promises/promise-file.ts";
import { FencedError } from "../src/promises/start-judgement.ts";
import { type InstallOptions, installFromPeers } from "../src/snapshots/snapshot-transfer.ts";
import { type CallAnswer, PeerCallError, type PeerNetwork } from "../src/transport/network-types.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));
const CHUNK = new Uint8Array(10).fill(7);
const ROOT = new Uint8Array(32).fill(9);
const CONF_STATE = { voters: [1n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

/** What a peer does when it is called; null: nothing, ever. */
type Peer = ((path: string, body: Uint8Array | null) => CallAnswer) | null;

let clock: StepClock;
let peers: Map<string, Peer>;
let connected: Set<string>;
/** Peers whose log has never held an entry. */
let empty: Set<string>;
let calls: { readonly to: string; readonly path: string; wasGivenUp: boolean }[];
let origin: Pick<SnapshotOrigin, "treeSize"> & { readonly root: Uint8Array };
let signed: { readonly treeSize: number; readonly raftIndex: number } | null;
let received: Uint8Array[];
/** Whose signature was asked for, of each state that was taken over. */
let signers: InstallSnapshotOptions["signers"][];
let leader: string | null;
/** Who sent what cannot be. */
let liars: string[];

beforeEach(() => {
  clock = new StepClock();
  peers = new Map();
  connected = new Set();
  calls = [];
  origin = { treeSize: 5, root: ROOT };
  signed = null;
  received = [];
  empty = new Set();
  signers = [];
  leader = null;
  liars = [];
});

function manifestAt(raftIndex: number): CallAnswer {
  const manifest = {
    snapshotId: new Uint8Array(16).fill(1),
    raftIndex,
    raftTerm: 2,
    effect: new Uint8Array(32),
    chunkBytes: CHUNK.length,
    totalBytes: CHUNK.length,
    chunkHashes: [nodeCrypto.sha256(CHUNK)],
    wholeHash: nodeCrypto.sha256(CHUNK),
  };
  return { status: 200, body: encodeSnapshotManifest(manifest) };
}

/** A peer that hands over its state after that entry. */
function exporting(raftIndex: number): NonNullable<Peer> {
  return (path, body) => {
    if (path === UNARY_CALLS.snapshot_manifest.path) return manifestAt(raftIndex);
    expect(decodeSnapshotChunkRequest(body ?? new Uint8Array())).toMatchObject({ chunkIndex: 0 });
    return { status: 200, body: CHUNK };
  };
}

function add(nodeId: string, peer: Peer, isConnected = true): void {
  peers.set(nodeId, peer);
  if (isConnected) connected.add(nodeId);
}

const network: Pick<PeerNetwork, "isConnected" | "call"> = {
  isConnected: (nodeId) => connected.has(nodeId),
  call: (to, path, body, { signal }) => {
    const call = { to, path, wasGivenUp: false };
    calls.push(call);
    const peer = peers.get(to) ?? null;
    if (peer !== null) return Promise.resolve(peer(path, body));
    return new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => {
        call.wasGivenUp = true;
        reject(new PeerCallError("aborted", "the caller gave up"));
      });
    });
  },
};

async function install({
  manifest,
  chunks,
  checks,
  signers: needed,
}: Omit<InstallSnapshotOptions, "url">): Promise<InstalledSnapshot> {
  signers.push(needed);
  for await (const chunk of chunks) received.push(chunk);
  const rootAt = async (): Promise<Uint8Array> => origin.root;
  await checks.origin({ originFingerprint: ORIGIN, treeSize: origin.treeSize, rootHash: origin.root, rootAt });
  return { point: { index: manifest.raftIndex, term: manifest.raftTerm }, confState: CONF_STATE };
}

function promises(): Promises {
  const head = signed === null ? null : { originFingerprint: ORIGIN, rootHash: ROOT, raftTerm: 1, timeS: 1, ...signed };
  return { signedHeads: new Map(head === null ? [] : [[bytesToHex(ORIGIN), head]]) } as unknown as Promises;
}

/** Runs until the state is taken over or nobody is left; time goes on meanwhile. */
async function taken(limitMs = 60_000): Promise<InstalledSnapshot> {
  const wait = { isOver: false };
  const end = (): void => void (wait.isOver = true);
  const options: InstallOptions = {
    identity: { configured: { version: 1, rootThk: ROOT } } as unknown as NodeIdentity,
    promises: promises(),
    network: network as PeerNetwork,
    peers: [...peers.keys()],
    hasState: (peer) => !empty.has(peer),
    installSnapshot: install,
    atLeast: { index: 40, term: 2 },
    announcedBy: leader,
    onFalse: (peer) => liars.push(peer),
    clock,
    logger: quietLogger,
  };
  const result = installFromPeers(options);
  result.then(end, end);
  for (let waitedMs = 0; waitedMs < limitMs && !wait.isOver; waitedMs += 100) {
    await settle();
    if (!wait.isOver) clock.advance(100);
  }
  if (!wait.isOver) throw new Error(`it still waits after ${limitMs} ms`);
  return result;
}

describe("a node that has fallen behind the log", () => {
  test("takes the state of the first peer it asks", async () => {
    add("b", exporting(50));
    add("c", exporting(60));
    expect(await taken()).toMatchObject({ point: { index: 50, term: 2 } });
    expect(received).toEqual([CHUNK]);
    expect(calls.map(({ to }) => to)).toEqual(["b", "b"]);
  });

  test("stops waiting for a peer that the network has lost, and asks the next one", async () => {
    add("b", null);
    add("c", exporting(60));
    clock.startTimer(3000, () => connected.delete("b"));
    const startedMs = clock.monotonicMs();
    expect(await taken()).toMatchObject({ point: { index: 60 } });
    expect(calls[0]).toEqual({ to: "b", path: UNARY_CALLS.snapshot_manifest.path, wasGivenUp: true });
    expect(clock.monotonicMs() - startedMs).toBeLessThanOrEqual(4000);
  });

  test("waits as long as a connected peer needs for its export", async () => {
    add("b", null);
    add("c", exporting(60));
    await expect(taken(50_000)).rejects.toThrow("it still waits after 50000 ms");
    expect(calls).toHaveLength(1);
    connected.delete("b");
    clock.advance(1000);
    await settle();
    expect(calls[0]?.wasGivenUp).toBe(true);
  });

  test("looks no longer after its peer once that one has answered", async () => {
    add("b", exporting(50));
    await taken();
    expect(clock.timerCount).toBe(0);
  });

  test("does not call a peer that is not connected", async () => {
    add("b", exporting(50), false);
    add("c", exporting(60));
    expect(await taken()).toMatchObject({ point: { index: 60 } });
    expect(calls.every(({ to }) => to === "c")).toBe(true);
  });

  test("fails with the last peer's reason when nobody has a state for it", async () => {
    add("b", exporting(50), false);
    add("c", () => ({ status: 503, body: new Uint8Array() }));
    await expect(taken()).rejects.toThrow("c answered 503 for its manifest");
  });

  test("fails when there is nobody to ask", async () => {
    await expect(taken()).rejects.toThrow("there is no peer to ask");
  });

  test("passes over a state that ends before the group's log begins", async () => {
    add("b", exporting(39));
    add("c", exporting(40));
    expect(await taken()).toMatchObject({ point: { index: 40 } });
  });

  test("asks the leader first", async () => {
    add("b", exporting(50));
    add("c", exporting(60));
    leader = "c";
    expect(await taken()).toMatchObject({ point: { index: 60 } });
    expect(liars).toEqual([]);
  });

  test("asks nobody to make an export if the leader has less than it announced", async () => {
    add("b", exporting(50));
    add("c", exporting(39));
    leader = "c";
    await expect(taken()).rejects.toThrow("c has applied 39, the group's log begins after 40");
    expect([liars, calls.map(({ to }) => to)]).toEqual([["c"], ["c"]]);
  });

  test("asks again for a chunk that did not come, and gives up after the fifth time", async () => {
    let refusals = 4;
    const stingy: Peer = (path, body) =>
      path === UNARY_CALLS.snapshot_chunk.path && refusals-- > 0
        ? { status: 404, body: new Uint8Array() }
        : exporting(50)(path, body);
    add("b", stingy);
    expect(await taken()).toMatchObject({ point: { index: 50 } });
    refusals = 5;
    await expect(taken()).rejects.toThrow("b answered 404 for chunk 0");
  });
});

describe("who must have signed the state", () => {
  test("two nodes, if two have one; a third that has only joined is not asked for it", async () => {
    add("a", null);
    empty.add("a");
    add("b", exporting(50));
    add("c", exporting(60));
    await taken();
    expect([signers, [...new Set(calls.map(({ to }) => to))]]).toEqual([["honest"], ["b"]]);
  });

  test("two nodes, if two have one: without waiting", async () => {
    add("b", exporting(50));
    add("c", exporting(60));
    const startedMs = clock.monotonicMs();
    await taken();
    expect([signers, clock.monotonicMs() - startedMs]).toEqual([["honest"], 0]);
  });

  test.each<[string, () => void]>([
    ["is connected", () => connected.delete("c")],
    ["has a state: the other one has only joined", () => empty.add("c")],
  ])("one, if for five seconds a single one %s", async (_, change) => {
    add("b", exporting(50));
    add("c", exporting(60));
    change();
    const startedMs = clock.monotonicMs();
    await taken();
    expect(signers).toEqual(["alone"]);
    expect(clock.monotonicMs() - startedMs).toBe(5000);
  });

  test("one, and only for its own state: a leader that claims to have none is not asked for it", async () => {
    add("b", exporting(50));
    add("c", exporting(60));
    empty.add("c");
    leader = "c";
    expect(await taken()).toMatchObject({ point: { index: 50 } });
    expect(calls.map(({ to }) => to)).toEqual(["b", "b"]);
  });

  test("two nodes, if a second one has a state meanwhile", async () => {
    add("b", exporting(50));
    add("c", exporting(50));
    empty.add("c");
    clock.startTimer(3000, () => empty.delete("c"));
    await taken();
    expect(signers).toEqual(["honest"]);
  });
});

describe("a state, held against what this node has signed", () => {
  test.each<[string, number, number]>([
    ["is as large as the signed head", 5, 45],
    ["is larger", 4, 45],
    ["ends at the entry of the signature", 5, 50],
  ])("is taken if it %s", async (_what, treeSize, raftIndex) => {
    signed = { treeSize, raftIndex };
    add("b", exporting(50));
    expect(await taken()).toMatchObject({ point: { index: 50 } });
  });

  test("fences the node if it is newer and lacks leaves; nobody else is asked", async () => {
    signed = { treeSize: 6, raftIndex: 45 };
    add("b", exporting(50));
    add("c", exporting(60));
    const refused = taken();
    await expect(refused).rejects.toThrow(FencedError);
    await expect(refused).rejects.toThrow(/root_missing: origin 03.*size 6 was signed, the group has 5 leaves/);
    expect(calls.every(({ to }) => to === "b")).toBe(true);
  });

  test("fences the node if it has another root", async () => {
    signed = { treeSize: 5, raftIndex: 45 };
    origin = { treeSize: 7, root: new Uint8Array(32).fill(8) };
    add("b", exporting(50));
    await expect(taken()).rejects.toThrow(/root_differs/);
  });

  test("is passed over if it ends before the signature: a newer one may have it", async () => {
    signed = { treeSize: 5, raftIndex: 55 };
    add("b", exporting(50));
    add("c", exporting(60));
    expect(await taken()).toMatchObject({ point: { index: 60 } });
  });
});
