/** One proof for many keys of the state tree. */
import { describe, expect, test } from "@jest/globals";
import { shareStateProofs, stateKeyOf, stateRootOfProof } from "@event-anchoring/protocol";
import type { PlacedStateLeaf, ProvedStateKey, StateLeaf } from "@event-anchoring/protocol";
import { proveState, updateStateTree, StatePage } from "../src/index.ts";
import { hash, sha256 } from "../../../test/worlds/cluster.ts";
import { randomOf } from "../../../test/worlds/random-life.ts";

const LEAVES: readonly StateLeaf[] = Array.from({ length: 2_000 }, (_, at) => ({
  key: stateKeyOf(1, hash(`record ${at}`), sha256),
  valueHash: hash(`value ${at}`),
}));

function treeOf(leaves: readonly StateLeaf[]): { pages: Map<string, StatePage>; rootHash: Uint8Array } {
  const first = new Map([["", StatePage.empty]]);
  const { pages, rootHash } = updateStateTree(first, leaves, sha256);
  return { pages: new Map([...first, ...pages]), rootHash };
}

function provedOf(pages: Map<string, StatePage>, leaves: readonly StateLeaf[]): ProvedStateKey[] {
  return leaves.map((leaf) => ({ ...leaf, siblings: proveState(pages, leaf.key, sha256).siblings }));
}

function placedOf(proved: readonly ProvedStateKey[]): PlacedStateLeaf[] {
  return proved.map(({ key, valueHash, siblings }) => ({ key, valueHash, level: siblings.length }));
}

describe("a proof for many keys", () => {
  test.each([1, 2, 3, 11, 2_000])("of %d of 2,000 makes the root, whatever their order", (count) => {
    const { pages, rootHash } = treeOf(LEAVES);
    const proved = provedOf(pages, LEAVES.slice(0, count));
    const siblings = shareStateProofs(proved);
    expect(stateRootOfProof(placedOf(proved).reverse(), siblings, sha256)).toEqual(rootHash);
    const alone = proved.reduce((sum, each) => sum + each.siblings.length, 0);
    expect(siblings.length).toBeLessThanOrEqual(alone);
    const isWhole = count === LEAVES.length;
    // A proof for all keys has only empty halves left.
    expect(isWhole && siblings.some((each) => each.some((byte) => byte !== 0))).toBe(false);
  });

  test("of the only key of a tree has no siblings", () => {
    const { pages, rootHash } = treeOf(LEAVES.slice(0, 1));
    const proved = provedOf(pages, LEAVES.slice(0, 1));
    expect(shareStateProofs(proved)).toEqual([]);
    expect(stateRootOfProof(placedOf(proved), [], sha256)).toEqual(rootHash);
  });

  test("makes no root if anything in it is altered", () => {
    const { pages, rootHash } = treeOf(LEAVES);
    const random = randomOf(5);
    const proved = provedOf(pages, LEAVES.slice(0, 12));
    const placed = placedOf(proved);
    const siblings = shareStateProofs(proved);
    const makesRoot = (leaves: readonly PlacedStateLeaf[], halves: readonly Uint8Array[]): boolean =>
      Buffer.compare(stateRootOfProof(leaves, halves, sha256) ?? new Uint8Array(0), rootHash) === 0;
    expect(makesRoot(placed, siblings)).toBe(true);
    for (let round = 0; round < 200; round++) {
      const at = random(placed.length);
      const half = random(siblings.length);
      const leaf = placed[at];
      if (leaf === undefined) continue;
      const others = placed.filter((each) => each !== leaf);
      const altered = siblings.map((each, place) => (place === half ? hash(`forged ${round}`) : each));
      expect(makesRoot(placed, altered)).toBe(false);
      expect(makesRoot(placed, siblings.toSpliced(half, 1))).toBe(false);
      expect(makesRoot(placed, siblings.toSpliced(half, 0, siblings[half] ?? hash("none")))).toBe(false);
      expect(makesRoot(others, siblings)).toBe(false);
      expect(makesRoot([...placed, leaf], siblings)).toBe(false);
      expect(makesRoot([...others, { ...leaf, valueHash: hash("other") }], siblings)).toBe(false);
      expect(makesRoot([...others, { ...leaf, key: hash(`key ${round}`) }], siblings)).toBe(false);
      const level = (leaf.level + 1 + random(256)) % 257;
      expect(makesRoot([...others, { ...leaf, level }], siblings)).toBe(false);
    }
  });

  test("of keys that are not there is not made, and hostile levels end", () => {
    const { pages } = treeOf(LEAVES);
    const [first] = provedOf(pages, LEAVES);
    if (first === undefined) throw new Error("no leaf");
    expect(() => shareStateProofs([first, first])).toThrow(RangeError);
    expect(stateRootOfProof([], [], sha256)).toBeNull();
    expect(stateRootOfProof([{ ...first, level: 256 }], [], sha256)).toBeNull();
    expect(
      stateRootOfProof(
        [{ ...first, level: 257 }],
        Array.from({ length: 400 }, () => hash("x")),
        sha256,
      ),
    ).toBeNull();
    expect(stateRootOfProof([{ ...first, level: 1 }], [new Uint8Array(31)], sha256)).toBeNull();
  });
});
