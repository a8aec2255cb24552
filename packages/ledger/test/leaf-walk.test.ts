/** A walk over leaves arrives where deciding did, and names the first leaf that is not the next one. */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, bytesToHex, decodeLeaf, encodeLeaf } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { LeafWalk, judgingVersion } from "../src/index.ts";
import type { LeafFault, LedgerState } from "../src/index.ts";
import { NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import { LedgerHarness, event } from "../../../test/worlds/ledger-harness.ts";
import { RandomLife } from "../../../test/worlds/random-life.ts";

/** Version 2 of the trust root. */
const C_CLOSED = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]);

/** @param changed leaves that take the place of others, by sequence */
function walked(
  { state, tables }: LedgerHarness,
  changed: ReadonlyMap<number, Uint8Array> = new Map(),
): { walk: LeafWalk; faults: LeafFault[]; tiles: number } {
  const faults: LeafFault[] = [];
  const walk = new LeafWalk(sha256, (fault) => faults.push(fault));
  walk.setChain(state.trustRootChain);
  let tiles = 0;
  for (const { sequence, bytes } of tables.leaves) {
    tiles += walk.place(changed.get(sequence) ?? bytes, null)?.tiles.length ?? 0;
  }
  return { walk, faults, tiles };
}

function treesOf({ origins }: LedgerState): unknown[] {
  return [...origins.values()]
    .filter(({ tree }) => tree.size > 0)
    .map(({ originFingerprint, tree, trustRootPositions: positions }) => ({
      originFingerprint,
      root: tree.rootAt(tree.size),
      positions,
    }));
}

test.each([1, 2, 3])("arrives at the trees that deciding has made: seed %d", (seed) => {
  const ledger = new LedgerHarness();
  const life = new RandomLife(seed, ledger);
  for (let step = 0; step < 120; step++) ledger.apply(life.entry(step));
  const { walk, faults, tiles } = walked(ledger);
  expect(faults).toEqual([]);
  expect(tiles).toBe(ledger.tables.tiles.length);
  expect([walk.nextSequence, walk.lastAcceptedMs]).toEqual([ledger.state.nextSequence, ledger.state.lastAcceptedMs]);
  const trees = [...ledger.state.origins.values()].flatMap(({ originFingerprint }) => {
    const origin = walk.origin(originFingerprint);
    if (origin === null || origin.frontier.size === 0) return [];
    return [{ originFingerprint, root: walk.rootOf(origin), positions: origin.positions }];
  });
  expect(trees).toEqual(treesOf(ledger.state));
});

/** Genesis in three origins, two events in A, version 2 in its origins (it closes C), an event in A. */
function shortLife(): LedgerHarness {
  const ledger = LedgerHarness.started();
  ledger.accept(event("one"));
  ledger.accept(event("two"));
  ledger.run({ kind: "trust_root", document: C_CLOSED });
  ledger.accept(event("three"));
  return ledger;
}

describe("names a leaf that", () => {
  const ledger = shortLife();
  const leaves = ledger.tables.leaves.map(({ bytes }) => decodeLeaf(bytes));
  const firstOf = (kind: number): number => leaves.findIndex((leaf) => leaf.kind === kind);
  const firstEvent = firstOf(LEAF_KIND.event);
  const firstOfVersion2 = firstEvent + 2;
  const last = leaves.length - 1;

  function faultsWith(sequence: number, change: (leaf: Leaf) => Leaf | Uint8Array): LeafFault[] {
    const leaf = leaves[sequence];
    if (leaf === undefined) throw new RangeError(`no leaf ${sequence}`);
    const made = change(leaf);
    return walked(ledger, new Map([[sequence, made instanceof Uint8Array ? made : encodeLeaf(made)]])).faults;
  }

  const cases: [string, number, (leaf: Leaf) => Leaf | Uint8Array, string][] = [
    ["is none", firstEvent, () => new Uint8Array(3), "a leaf"],
    [
      "is of an unknown origin",
      firstEvent,
      (leaf) => ({ ...leaf, originFingerprint: hash("x") as Leaf["originFingerprint"] }),
      "of an origin that is listed",
    ],
    ["has another depth", firstEvent, (leaf) => ({ ...leaf, depth: leaf.depth + 1 }), "of depth 1"],
    ["has another parent", firstEvent, (leaf) => ({ ...leaf, parentAnchorId: hash("x") as never }), "one after"],
    ["has another sequence", last, (leaf) => ({ ...leaf, sequence: leaf.sequence + 1 }), `of sequence ${last}`],
    ["is older than the one before", last, (leaf) => ({ ...leaf, acceptedMs: 1 }), "or later"],
    [
      "names an unknown trust root",
      firstOfVersion2,
      (leaf) => ({ ...leaf, rootThk: hash("x") }) as Leaf,
      "one that is in the chain",
    ],
    [
      "names an older trust root, while another is announced",
      firstOfVersion2 + 1,
      (leaf) => ({ ...leaf, version: 1, rootThk: ledger.state.trustRootChain?.versions[0]?.rootThk }) as Leaf,
      "announces trust root 2",
    ],
    [
      "is in an origin that is closed",
      last,
      (leaf) => ({ ...leaf, originFingerprint: NODE_C.originFingerprint }),
      "in one that takes it",
    ],
  ];
  test.each(cases)("%s", (_, sequence, change, shouldBe) => {
    const faults = faultsWith(sequence, change).filter((fault) => fault.sequence === sequence);
    expect(faults.map((fault) => fault.shouldBe)).toContainEqual(expect.stringContaining(shouldBe));
  });

  test("is missing: of the trees that were there nothing more is said", () => {
    const { state, tables } = ledger;
    const faults: LeafFault[] = [];
    const walk = new LeafWalk(sha256, (fault) => faults.push(fault));
    walk.setChain(state.trustRootChain);
    for (const { sequence, bytes } of tables.leaves) {
      if (sequence === firstEvent) walk.skip();
      else walk.place(bytes, null);
    }
    const origin = walk.origin(NODE_A.originFingerprint);
    expect(origin && [judgingVersion(origin), walk.rootOf(origin)]).toEqual([2, null]);
    expect(faults).toEqual([]);
    expect(walk.nextSequence).toBe(leaves.length);
  });
});

describe("at the end of the leaves", () => {
  const ledger = shortLife();
  const leaves = ledger.tables.leaves.map(({ bytes }) => bytes);
  const kinds = leaves.map((bytes) => decodeLeaf(bytes).kind);

  function faultsAtEnd(count: number): readonly LeafFault[] {
    const faults: LeafFault[] = [];
    const walk = new LeafWalk(sha256, (fault) => faults.push(fault));
    walk.setChain(ledger.state.trustRootChain);
    for (const bytes of leaves.slice(0, count)) walk.place(bytes, null);
    walk.end();
    return faults;
  }

  test("names the origin in which a trust root is not announced yet", () => {
    const third = decodeLeaf(leaves[2] ?? new Uint8Array(0)).originFingerprint;
    const inSomeOrigins = [2, kinds.indexOf(LEAF_KIND.trustRoot) + 1];
    const inAllOrigins = [3, kinds.lastIndexOf(LEAF_KIND.trustRoot) + 1, leaves.length];
    const [genesis, second] = inSomeOrigins.map((count) => faultsAtEnd(count));
    expect(genesis).toEqual([
      {
        sequence: 2,
        is: "missing: the leaves end",
        shouldBe: `trust root 1 in origin ${bytesToHex(third)}`,
      },
    ]);
    expect(second).toMatchObject([{ shouldBe: expect.stringContaining("trust root 2 in origin") }]);
    expect(inAllOrigins.flatMap((count) => faultsAtEnd(count))).toEqual([]);
  });

  test("of a version whose last announcement is missing nothing more is said", () => {
    const faults: LeafFault[] = [];
    const walk = new LeafWalk(sha256, (fault) => faults.push(fault));
    walk.setChain(ledger.state.trustRootChain);
    const last = kinds.lastIndexOf(LEAF_KIND.trustRoot);
    for (const [sequence, bytes] of leaves.slice(0, last + 1).entries()) {
      if (sequence === last) walk.skip();
      else walk.place(bytes, null);
    }
    walk.end();
    expect(faults).toEqual([]);
  });
});

test("ends where a fault is thrown", () => {
  const { state, tables } = LedgerHarness.started();
  const walk = new LeafWalk(sha256, ({ shouldBe }) => {
    throw new Error(shouldBe);
  });
  walk.setChain(state.trustRootChain);
  expect(() => walk.place(tables.leaves[1]?.bytes ?? new Uint8Array(1), null)).toThrow();
});
