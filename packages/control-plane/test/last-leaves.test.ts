import { beforeEach, describe, expect, test } from "@jest/globals";
import { type EntryWrites, type LedgerState, type OriginState, emptyLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  LEAF_KIND,
  type LeafKind,
  type OriginFingerprint,
  RecentTree,
  bytesToHex,
  emptyFrontier,
  toAnchorId,
  toOriginFingerprint,
  verifyInclusion,
} from "@event-anchoring/protocol";
import type { HeldCertificate } from "../src/certification/certifier.ts";
import { LastLeaves } from "../src/certification/last-leaves.ts";

const { sha256 } = nodeCrypto;
const ORIGINS = [1, 2].map((fill) => toOriginFingerprint(new Uint8Array(32).fill(fill)));
const [FIRST, SECOND] = ORIGINS as [OriginFingerprint, OriginFingerprint];
const CLIENT = new Uint8Array(16).fill(5);

let state: LedgerState;
let trees: Map<OriginFingerprint, RecentTree>;
let held: Map<string, HeldCertificate>;
let lastLeaves: LastLeaves;

beforeEach(() => {
  trees = new Map(ORIGINS.map((origin) => [origin, new RecentTree(emptyFrontier(), sha256)]));
  state = emptyLedgerState(sha256);
  state.origins = new Map(
    [...trees].map(([originFingerprint, tree]) => [
      bytesToHex(originFingerprint),
      { originFingerprint, tree } as unknown as OriginState,
    ]),
  );
  held = new Map();
  lastLeaves = new LastLeaves(state, (origin) => held.get(bytesToHex(origin)) ?? null);
});

function treeOf(origin: OriginFingerprint): RecentTree {
  const tree = trees.get(origin);
  if (tree === undefined) throw new Error("no such origin");
  return tree;
}

interface Appended {
  readonly origin: OriginFingerprint;
  readonly kind?: LeafKind;
  readonly clientEventId?: string;
}

/** One entry. */
function advance(appended: readonly Appended[], erasures: EntryWrites["erasures"] = []): Uint8Array[] {
  const leaves = appended.map(({ origin, kind = LEAF_KIND.event }) => {
    const tree = treeOf(origin);
    const bytes = Uint8Array.of(origin[0] ?? 0, tree.size);
    const anchorId = toAnchorId(sha256(bytes));
    const depth = tree.size;
    tree.append(anchorId);
    return { kind, originFingerprint: origin, depth, sequence: depth, acceptedMs: 1, anchorId, bytes };
  });
  const clientEvents = leaves.flatMap(({ anchorId, originFingerprint, sequence }, at) => {
    const clientEventId = appended[at]?.clientEventId;
    if (clientEventId === undefined) return [];
    const salt = new Uint8Array(32).fill(9);
    return [{ apiClientId: CLIENT, clientEventId, salt, anchorId, originFingerprint, sequence, contentHash: salt }];
  });
  lastLeaves.onAdvanced({ leaves, clientEvents, erasures } as unknown as EntryWrites);
  return leaves.map(({ anchorId }) => anchorId);
}

function certificate(originFingerprint: OriginFingerprint, treeSize: number): HeldCertificate {
  const rootHash = treeOf(originFingerprint).rootAt(treeSize);
  return { originFingerprint, treeSize, rootHash, checkpoint: () => "note" } as unknown as HeldCertificate;
}

function hold(origin: OriginFingerprint, treeSize: number): void {
  held.set(bytesToHex(origin), certificate(origin, treeSize));
}

function shown(origin: OriginFingerprint, treeSize: number) {
  return lastLeaves.latestUnder(certificate(origin, treeSize));
}

describe("the last leaf under a certificate", () => {
  test("is that of its origin and of its size, with a path to its root, while the tree goes on", () => {
    const [, second] = advance([{ origin: FIRST }, { origin: FIRST }, { origin: SECOND }]);
    const [third] = advance([{ origin: FIRST }]);
    for (const [size, anchorId] of [[2, second] as const, [3, third] as const]) {
      const latest = shown(FIRST, size);
      expect(latest).toMatchObject({ anchorId, leaf: Uint8Array.of(1, size - 1), clientEvent: null });
      const { path = [], certificate: under } = latest ?? {};
      const proof = { index: size - 1, size, leafHash: anchorId ?? CLIENT, rootHash: under?.rootHash ?? CLIENT, path };
      expect(verifyInclusion(proof, sha256)).toBe(true);
    }
    expect(shown(SECOND, 1)?.leaf).toEqual(Uint8Array.of(2, 0));
  });

  test("is not known if it is older than this life, or inside an entry", () => {
    treeOf(FIRST).append(new Uint8Array(32));
    expect(shown(FIRST, 1)).toBeNull();
    advance([{ origin: FIRST }, { origin: FIRST }]);
    expect(shown(FIRST, 2)).toBeNull();
    expect(shown(FIRST, 3)).not.toBeNull();
  });

  test.each([LEAF_KIND.claim, LEAF_KIND.grant])("of kind %d is not given: its state depends on the time", (kind) => {
    advance([{ origin: FIRST, kind }]);
    expect(shown(FIRST, 1)).toBeNull();
  });

  test("is the same object as long as certificate and leaf are the same", () => {
    advance([{ origin: FIRST, clientEventId: "a" }]);
    const under = certificate(FIRST, 1);
    const first = lastLeaves.latestUnder(under);
    advance([{ origin: SECOND }]);
    expect(lastLeaves.latestUnder(under)).toBe(first);
    expect(lastLeaves.latestUnder(certificate(FIRST, 1))).not.toBe(first);
  });

  test("forgets its client event id with the entry that erases it, be it the same entry", () => {
    const [anchorId] = advance([{ origin: FIRST, clientEventId: "a" }]);
    const under = certificate(FIRST, 1);
    const before = lastLeaves.latestUnder(under);
    expect(before?.clientEvent).toMatchObject({ apiClientId: CLIENT, clientEventId: "a" });
    advance([], [{ anchorId: toAnchorId(anchorId ?? CLIENT), sequence: 0 }]);
    const after = lastLeaves.latestUnder(under);
    expect(after?.clientEvent).toEqual({ apiClientId: CLIENT, clientEventId: null, salt: null });
    expect(after).not.toBe(before);
    const next = toAnchorId(sha256(Uint8Array.of(1, 1)));
    advance([{ origin: FIRST, clientEventId: "b" }], [{ anchorId: next, sequence: 1 }]);
    expect(shown(FIRST, 2)?.clientEvent).toMatchObject({ clientEventId: null });
  });

  test("is forgotten once a newer size is covered, and after 64 sizes that nobody certifies", () => {
    for (let size = 1; size <= 3; size++) advance([{ origin: FIRST }]);
    hold(FIRST, 3);
    advance([{ origin: FIRST }]);
    expect([1, 2, 3, 4].map((size) => shown(FIRST, size) !== null)).toEqual([false, false, true, true]);
    for (let size = 5; size <= 70; size++) advance([{ origin: FIRST }]);
    expect([3, 6, 7, 70].map((size) => shown(FIRST, size) !== null)).toEqual([false, false, true, true]);
  });
});
