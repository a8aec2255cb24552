/**
 * The state tree: a sparse Merkle tree over what the log has made of records, API keys and operators. It holds one
 * value for each 32-byte key. A subtree without keys is empty, a subtree with one key is that key's leaf, and any other
 * joins its two halves. So its root is a function of the keys and values alone, whatever the order in which they came.
 * docs/PROTOCOL.md, "State tree".
 */
import { ZERO_32, compareBytes, equalBytes } from "./bytes.ts";
import { sha256Of } from "./crypto.ts";
import type { Sha256 } from "./crypto.ts";
import { assertByteLength } from "./ids.ts";
import { tag } from "./tags.ts";

/** Root of the tree without keys. */
export const EMPTY_STATE_ROOT: Uint8Array = ZERO_32;
/** Bits of a key: no path is longer. */
export const STATE_KEY_BITS = 256;

/** A subtree; null where there is none. */
export interface StateSubtree {
  /** 32 bytes. */
  readonly hash: Uint8Array;
  /** True: it has exactly one key. */
  readonly isLeaf: boolean;
}

/** The leaf at which a path ends. */
export interface StateLeaf {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** SHA-256 of the value. */
  readonly valueHash: Uint8Array;
}

/** What shows that a tree has a value for a key, or that it has none. */
export interface StateProof {
  /** The halves that the path does not take, from the root on; ZERO_32 for one without keys. At most 256. */
  readonly siblings: readonly Uint8Array[];
  /** Where the path ends: a leaf, or null for nothing. */
  readonly end: StateLeaf | null;
}

/** H(tag "state-key" ‖ kind u8 ‖ id): where a value lies. */
export function stateKeyOf(kind: number, id: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256Of([tag("state-key"), Uint8Array.of(kind), id], sha256);
}

/** H(tag "state-leaf" ‖ key ‖ H(value)). */
export function stateLeafHash({ key, valueHash }: StateLeaf, sha256: Sha256): Uint8Array {
  assertByteLength(key, 32, "state key");
  assertByteLength(valueHash, 32, "value hash");
  return sha256Of([tag("state-leaf"), key, valueHash], sha256);
}

/** H(tag "state-interior" ‖ left ‖ right); ZERO_32 represents a half without keys. */
export function stateInteriorHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256Of([tag("state-interior"), left, right], sha256);
}

/** Two halves as one subtree: a lone leaf moves up, so that the tree has one shape for one set of keys. */
export function joinStateSubtrees(
  left: StateSubtree | null,
  right: StateSubtree | null,
  sha256: Sha256,
): StateSubtree | null {
  if (left === null && (right === null || right.isLeaf)) return right;
  if (right === null && left?.isLeaf === true) return left;
  return { hash: stateInteriorHash(left?.hash ?? ZERO_32, right?.hash ?? ZERO_32, sha256), isLeaf: false };
}

/** Bit `at` of a key, from the highest bit of its first byte. */
export function stateKeyBit(key: Uint8Array, at: number): 0 | 1 {
  return ((key[at >> 3] ?? 0) >> (7 - (at & 7))) & 1 ? 1 : 0;
}

/** Leaves in the order of their keys; a subtree has those of a range, which share their first bits. */
class AscendingLeaves {
  readonly #leaves: readonly StateLeaf[];
  readonly #sha256: Sha256;

  constructor(leaves: Iterable<StateLeaf>, sha256: Sha256) {
    this.#leaves = [...leaves].sort((a, b) => compareBytes(a.key, b.key));
    this.#sha256 = sha256;
  }

  get count(): number {
    return this.#leaves.length;
  }

  /** @param bits how many first bits the keys of the range share */
  subtree(from: number, past: number, bits: number): StateSubtree | null {
    const first = this.#leaves[from];
    if (first === undefined || from === past) return null;
    if (past - from === 1) return { hash: stateLeafHash(first, this.#sha256), isLeaf: true };
    if (bits === STATE_KEY_BITS) throw new RangeError("a key is twice among the leaves of a state tree");
    const split = this.#split(from, past, bits);
    return joinStateSubtrees(this.subtree(from, split, bits + 1), this.subtree(split, past, bits + 1), this.#sha256);
  }

  /** Where the keys begin that go right. */
  #split(from: number, past: number, bit: number): number {
    let [low, high] = [from, past];
    while (low < high) {
      const middle = (low + high) >> 1;
      const leaf = this.#leaves[middle];
      if (leaf !== undefined && stateKeyBit(leaf.key, bit) === 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Root hash of the tree with these leaves, made all at once. @param leaves in any order, no key twice */
export function stateRootOfLeaves(leaves: Iterable<StateLeaf>, sha256: Sha256): Uint8Array {
  const ascending = new AscendingLeaves(leaves, sha256);
  return ascending.subtree(0, ascending.count, 0)?.hash ?? EMPTY_STATE_ROOT;
}

function sharesPath(key: Uint8Array, other: Uint8Array, bits: number): boolean {
  for (let at = 0; at < bits; at++) if (stateKeyBit(key, at) !== stateKeyBit(other, at)) return false;
  return true;
}

/** Hash of the path's end, or null if it does not show what is claimed. */
function endHash(key: Uint8Array, value: Uint8Array | null, proof: StateProof, sha256: Sha256): Uint8Array | null {
  const { end, siblings } = proof;
  if (value !== null) {
    if (end === null || !equalBytes(end.key, key) || !equalBytes(end.valueHash, sha256(value))) return null;
    return stateLeafHash(end, sha256);
  }
  if (end === null) return ZERO_32;
  const isOther = !equalBytes(end.key, key) && sharesPath(key, end.key, siblings.length);
  return isOther ? stateLeafHash(end, sha256) : null;
}

/**
 * Whether the tree with this root has `value` for `key`, or nothing for it. The proof may be attacker-controlled.
 * @param claim `value` null: that the tree has no value for the key
 */
export function verifyStateProof(
  claim: { readonly rootHash: Uint8Array; readonly key: Uint8Array; readonly value: Uint8Array | null },
  proof: StateProof,
  sha256: Sha256,
): boolean {
  const { rootHash, key, value } = claim;
  const { siblings, end } = proof;
  const isWhole =
    key.length === 32 && siblings.length <= STATE_KEY_BITS && siblings.every(({ length }) => length === 32);
  if (!isWhole || (end !== null && (end.key.length !== 32 || end.valueHash.length !== 32))) return false;
  let hash = endHash(key, value, proof, sha256);
  if (hash === null) return false;
  for (let at = siblings.length - 1; at >= 0; at--) {
    const sibling = siblings[at] ?? ZERO_32;
    hash =
      stateKeyBit(key, at) === 0 ? stateInteriorHash(hash, sibling, sha256) : stateInteriorHash(sibling, hash, sha256);
  }
  return equalBytes(hash, rootHash);
}
