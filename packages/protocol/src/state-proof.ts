/**
 * One proof for many keys of the state tree: paths share their first halves, and a half that another key's path takes
 * is computed, not sent. docs/PROTOCOL.md, "State proof".
 */
import { compareBytes } from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";
import { STATE_KEY_BITS, stateInteriorHash, stateKeyBit, stateLeafHash } from "./state-tree.ts";
import type { StateLeaf } from "./state-tree.ts";

/** A key with its value, and how deep in the tree its leaf is. */
export interface PlacedStateLeaf extends StateLeaf {
  /** Halves from the root to the leaf: 0 for the only key of a tree, at most 256. */
  readonly level: number;
}

/** Where the keys begin that go right at this level. */
function splitOf(leaves: readonly StateLeaf[], from: number, past: number, level: number): number {
  let split = from;
  while (split < past) {
    const leaf = leaves[split];
    if (leaf !== undefined && stateKeyBit(leaf.key, level) === 1) break;
    split++;
  }
  return split;
}

function ascending<Leaf extends StateLeaf>(leaves: readonly Leaf[]): Leaf[] {
  return [...leaves].sort((a, b) => compareBytes(a.key, b.key));
}

/** Follows the paths of some keys from the root on, left before right, and takes the other halves from a list. */
class SharedPaths {
  readonly #leaves: readonly PlacedStateLeaf[];
  readonly #siblings: readonly Uint8Array[];
  readonly #sha256: Sha256;
  #next = 0;

  constructor(leaves: readonly PlacedStateLeaf[], siblings: readonly Uint8Array[], sha256: Sha256) {
    this.#leaves = ascending(leaves);
    this.#siblings = siblings;
    this.#sha256 = sha256;
  }

  root(): Uint8Array | null {
    if (this.#leaves.length === 0) return null;
    const root = this.#fold(0, this.#leaves.length, 0);
    return this.#next === this.#siblings.length ? root : null;
  }

  /** Hash of the subtree with the keys of a range; null: the proof does not go together. */
  #fold(from: number, past: number, level: number): Uint8Array | null {
    const first = this.#leaves[from];
    if (first === undefined || level > first.level || level > STATE_KEY_BITS) return null;
    if (past - from === 1 && first.level === level) return stateLeafHash(first, this.#sha256);
    if (level === STATE_KEY_BITS) return null;
    const split = splitOf(this.#leaves, from, past, level);
    const left = split === from ? this.#sibling() : this.#fold(from, split, level + 1);
    const right = split === past ? this.#sibling() : this.#fold(split, past, level + 1);
    return left === null || right === null ? null : stateInteriorHash(left, right, this.#sha256);
  }

  #sibling(): Uint8Array | null {
    const sibling = this.#siblings[this.#next++];
    return sibling?.length === 32 ? sibling : null;
  }
}

/**
 * Root of the tree that these leaves are in. Leaves and siblings may be attacker-controlled.
 * @param leaves in any order
 * @returns null: a key is there twice, a leaf is deeper than its key allows, or siblings are missing or left over
 */
export function stateRootOfProof(
  leaves: readonly PlacedStateLeaf[],
  siblings: readonly Uint8Array[],
  sha256: Sha256,
): Uint8Array | null {
  return new SharedPaths(leaves, siblings, sha256).root();
}

/** A key's own proof. */
export interface ProvedStateKey extends StateLeaf {
  /** The halves that its path does not take, from the root on. */
  readonly siblings: readonly Uint8Array[];
}

/** The siblings of one proof for all of these keys. @param proved in any order, no key twice, all in one tree */
export function shareStateProofs(proved: readonly ProvedStateKey[]): Uint8Array[] {
  const leaves = ascending(proved);
  const shared: Uint8Array[] = [];
  const follow = (from: number, past: number, level: number): void => {
    const siblings = leaves[from]?.siblings ?? [];
    if (past - from === 1 && siblings.length === level) return;
    const split = splitOf(leaves, from, past, level);
    const sibling = siblings[level];
    if (sibling === undefined) throw new RangeError("proofs of different trees, or a key twice");
    if (split === from) shared.push(sibling);
    else follow(from, split, level + 1);
    if (split === past) shared.push(sibling);
    else follow(split, past, level + 1);
  };
  if (leaves.length > 0) follow(0, leaves.length, 0);
  return shared;
}
