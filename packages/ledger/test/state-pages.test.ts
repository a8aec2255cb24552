import { describe, expect, test } from "@jest/globals";
import {
  EMPTY_STATE_ROOT,
  bytesToHex,
  joinStateSubtrees,
  stateKeyBit,
  stateKeyOf,
  stateLeafHash,
  stateRootOfLeaves,
  verifyStateProof,
} from "@event-anchoring/protocol";
import type { StateLeaf, StateSubtree } from "@event-anchoring/protocol";
import { proveState } from "../src/state-tree/state-pages.ts";
import { StatePagesMissing, updateStateTree, StatePage } from "../src/index.ts";
import { hash, sha256 } from "../../../test/worlds/cluster.ts";

const value = (text: string): Uint8Array => hash(`value ${text}`);

function leafOf(name: string, text = name): StateLeaf {
  return { key: stateKeyOf(1, hash(name), sha256), valueHash: sha256(value(text)) };
}

/** The definition, word for word: no pages, no order. */
function rootByDefinition(leaves: readonly StateLeaf[], bit = 0): StateSubtree | null {
  const [first] = leaves;
  if (first === undefined) return null;
  if (leaves.length === 1) return { hash: stateLeafHash(first, sha256), isLeaf: true };
  const half = (side: 0 | 1): StateSubtree | null =>
    rootByDefinition(
      leaves.filter(({ key }) => stateKeyBit(key, bit) === side),
      bit + 1,
    );
  return joinStateSubtrees(half(0), half(1), sha256);
}

class Tree {
  readonly pages = new Map<string, StatePage>([["", StatePage.empty]]);
  rootHash = EMPTY_STATE_ROOT;

  put(...leaves: readonly StateLeaf[]): this {
    const update = updateStateTree(this.pages, leaves, sha256);
    for (const [prefix, page] of update.pages) this.pages.set(prefix, StatePage.decode(page.bytes));
    this.rootHash = update.rootHash;
    return this;
  }
}

const NAMES = Array.from({ length: 3000 }, (_, at) => `record ${at}`);
const LEAVES = NAMES.map((name) => leafOf(name));
/** Keys that share 40 bits and differ in the last one. */
const NEAR: readonly StateLeaf[] = [0, 1].map((last) => {
  const key = hash("near").slice();
  key[5] = ((key[5] ?? 0) & 0xfe) | last;
  return { key, valueHash: sha256(value(`near ${last}`)) };
});

describe("the root of the state tree", () => {
  test.each([0, 1, 2, 3, 17, 300])("of %d keys is the one of the definition", (count) => {
    const leaves = LEAVES.slice(0, count);
    expect(new Tree().put(...leaves).rootHash).toEqual(rootByDefinition(leaves)?.hash ?? EMPTY_STATE_ROOT);
  });

  test.each([0, 1, 2, 3, 17, 3000])("of %d keys is the same when it is made of all at once", (count) => {
    const leaves = [...LEAVES.slice(0, count), ...(count === 3 ? NEAR : [])].reverse();
    expect(stateRootOfLeaves(leaves, sha256)).toEqual(rootByDefinition(leaves)?.hash ?? EMPTY_STATE_ROOT);
    expect(() => stateRootOfLeaves([...LEAVES, ...LEAVES.slice(9, 10)], sha256)).toThrow(RangeError);
  });

  test("is the same in whatever order and in whatever portions keys come", () => {
    const whole = new Tree().put(...LEAVES, ...NEAR);
    const backwards = new Tree();
    for (const leaf of [...LEAVES, ...NEAR].reverse()) backwards.put(leaf);
    expect(backwards.rootHash).toEqual(whole.rootHash);
    expect(backwards.pages).toEqual(whole.pages);
  });

  test("follows a changed value, and comes back with the old one", () => {
    const tree = new Tree().put(...LEAVES);
    const before = tree.rootHash;
    expect(tree.put(leafOf("record 7", "ended")).rootHash).not.toEqual(before);
    expect(tree.put(leafOf("record 7")).rootHash).toEqual(before);
  });

  test("takes the later of two values for one key", () => {
    const twice = new Tree().put(leafOf("a", "old"), leafOf("a", "new"));
    expect(twice.rootHash).toEqual(new Tree().put(leafOf("a", "new")).rootHash);
  });
});

describe("a proof", () => {
  const tree = new Tree().put(...LEAVES, ...NEAR);
  const { rootHash } = tree;

  test("shows each value, and no other", () => {
    for (const name of NAMES.slice(0, 200)) {
      const { key } = leafOf(name);
      const proof = proveState(tree.pages, key, sha256);
      expect(verifyStateProof({ rootHash, key, value: value(name) }, proof, sha256)).toBe(true);
      expect(verifyStateProof({ rootHash, key, value: value("another") }, proof, sha256)).toBe(false);
      expect(verifyStateProof({ rootHash, key, value: null }, proof, sha256)).toBe(false);
    }
  });

  test("shows that there is no value", () => {
    for (const name of ["nobody", "no one", "none", "nothing", "never"]) {
      const { key } = leafOf(name);
      const proof = proveState(tree.pages, key, sha256);
      expect(verifyStateProof({ rootHash, key, value: null }, proof, sha256)).toBe(true);
      expect(verifyStateProof({ rootHash, key, value: value(name) }, proof, sha256)).toBe(false);
    }
  });

  test.each([0, 1])("goes as deep as keys that are alike (%d)", (last) => {
    const key = NEAR[last]?.key ?? new Uint8Array(32);
    const proof = proveState(tree.pages, key, sha256);
    expect(proof.siblings).toHaveLength(48);
    expect(verifyStateProof({ rootHash, key, value: value(`near ${last}`) }, proof, sha256)).toBe(true);
  });

  test("of another key, another root, or with any byte altered is refused", () => {
    const { key } = leafOf("record 1");
    const proof = proveState(tree.pages, key, sha256);
    const other = leafOf("record 2").key;
    expect(verifyStateProof({ rootHash, key: other, value: value("record 1") }, proof, sha256)).toBe(false);
    expect(verifyStateProof({ rootHash: hash("x"), key, value: value("record 1") }, proof, sha256)).toBe(false);
    for (const at of proof.siblings.keys()) {
      const siblings = proof.siblings.map((sibling, place) => (place === at ? hash("altered") : sibling));
      expect(verifyStateProof({ rootHash, key, value: value("record 1") }, { ...proof, siblings }, sha256)).toBe(false);
    }
    const shorter = { ...proof, siblings: proof.siblings.slice(1) };
    expect(verifyStateProof({ rootHash, key, value: value("record 1") }, shorter, sha256)).toBe(false);
  });

  test("of absence does not pass with a leaf from elsewhere in the tree", () => {
    const { key } = leafOf("record 1");
    const proof = proveState(tree.pages, key, sha256);
    const end = LEAVES.find((leaf) => bytesToHex(leaf.key).charAt(0) !== bytesToHex(key).charAt(0)) ?? null;
    expect(verifyStateProof({ rootHash, key, value: null }, { ...proof, end }, sha256)).toBe(false);
    expect(verifyStateProof({ rootHash, key, value: null }, { ...proof, end: null }, sha256)).toBe(false);
  });

  test.each(["", "nothing here", "two"])("of a small tree: %p", (absent) => {
    const one = new Tree().put(leafOf("only"));
    const { key } = leafOf(absent);
    const proof = proveState(one.pages, key, sha256);
    expect(proof.siblings).toEqual([]);
    expect(verifyStateProof({ rootHash: one.rootHash, key, value: null }, proof, sha256)).toBe(true);
    const none = new Tree();
    expect(
      verifyStateProof({ rootHash: none.rootHash, key, value: null }, proveState(none.pages, key, sha256), sha256),
    ).toBe(true);
  });
});

describe("pages", () => {
  test("that are not at hand are named, and nothing is changed", () => {
    const tree = new Tree().put(...LEAVES);
    const top = new Map([["", tree.pages.get("") ?? StatePage.empty]]);
    const { key } = leafOf("record 1");
    const prefix = bytesToHex(key).charAt(0);
    const missing = [prefix];
    const asked = (action: () => unknown): unknown => {
      try {
        return action();
      } catch (error) {
        return error instanceof StatePagesMissing ? error.prefixes : error;
      }
    };
    expect(asked(() => updateStateTree(top, [leafOf("record 1", "new")], sha256))).toEqual(missing);
    expect(asked(() => proveState(top, key, sha256))).toEqual(missing);
    expect(asked(() => updateStateTree(new Map(), [leafOf("a")], sha256))).toEqual([""]);
  });

  test.each([
    ["a slot with a leaf and a page", "00010001"],
    ["too short", "0001"],
    ["bytes left over", "0000000000"],
  ])("refuse %s", (_, hex) => {
    expect(() => StatePage.decode(Uint8Array.from(Buffer.from(hex, "hex")))).toThrow();
  });
});
