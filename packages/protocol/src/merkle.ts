/**
 * RFC 6962 section 2.1 trees: SHA-256, leaf prefix 0x00, interior prefix 0x01. A perfect subtree is named by
 * (level, index): it covers the leaves from index · 2^level up to, not including, (index + 1) · 2^level.
 */
import { equalBytes, hexToBytes } from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";

/** Root of the tree without leaves: SHA-256 of nothing. */
export const EMPTY_ROOT: Uint8Array = hexToBytes(
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  32,
);

/** A perfect subtree. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** The roots of the perfect subtrees that make up a tree: all that is needed to append to it. */
export interface Frontier {
  readonly size: number;
  /** Largest subtree first: one hash for each 1 bit of `size`. */
  readonly hashes: readonly Uint8Array[];
}

/** Looks up the root of a perfect subtree that is complete in the tree at hand. */
export type HashAt = (level: number, index: number) => Uint8Array;

/** 0x01 and two hashes. Reused, as an array of 65 bytes lies outside of the JS heap and costs as much as its hash. */
const INTERIOR = new Uint8Array(65).fill(1, 0, 1);

/** SHA-256(0x01 ‖ left ‖ right). */
export function interiorHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  if (left.length !== 32 || right.length !== 32) throw new RangeError("a hash has 32 bytes");
  INTERIOR.set(left, 1);
  INTERIOR.set(right, 33);
  return sha256(INTERIOR);
}

/** floor(value / 2^bits), exact up to 2^53 − 1, where the shift operators of the language stop at 2^32. */
export function shiftRight(value: number, bits: number): number {
  return Math.floor(value / 2 ** bits);
}

function assertTreeSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`not a tree size: ${size}`);
}

export function emptyFrontier(): Frontier {
  return { size: 0, hashes: [] };
}

/** The frontier one leaf later. The argument is left as it was. */
export function appendToFrontier(frontier: Frontier, leafHash: Uint8Array, sha256: Sha256): Frontier {
  const hashes = frontier.hashes.slice();
  let hash = leafHash;
  for (let rest = frontier.size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    const left = hashes.pop();
    if (left === undefined) throw new RangeError("the frontier has fewer hashes than its size says");
    hash = interiorHash(left, hash, sha256);
  }
  hashes.push(hash);
  return { size: frontier.size + 1, hashes };
}

/** Root hash of the tree that the frontier represents. */
export function frontierRoot(frontier: Frontier, sha256: Sha256): Uint8Array {
  return foldRight(frontier.hashes, sha256) ?? EMPTY_ROOT;
}

/** Joins neighbouring subtrees, the smallest (last) two first, as RFC 6962 splits them. */
function foldRight(hashes: readonly Uint8Array[], sha256: Sha256): Uint8Array | undefined {
  let root = hashes[hashes.length - 1];
  for (let index = hashes.length - 2; index >= 0; index--) {
    const left = hashes[index];
    if (left === undefined || root === undefined) return undefined;
    root = interiorHash(left, root, sha256);
  }
  return root;
}

/** The perfect subtrees that make up the leaves [0, size), largest first. */
export function subtreesOfSize(size: number): Subtree[] {
  assertTreeSize(size);
  return subtreesFrom(0, size);
}

/** The perfect subtrees of the leaves [start, end), where start is a multiple of a power of two ≥ end − start. */
function subtreesFrom(start: number, end: number): Subtree[] {
  const subtrees: Subtree[] = [];
  let level = bitLength(end - start);
  let offset = start;
  while (offset < end) {
    if (offset + 2 ** level <= end) {
      subtrees.push({ level, index: offset / 2 ** level });
      offset += 2 ** level;
    }
    level--;
  }
  return subtrees;
}

/** How many binary digits `value` has; 0 for 0. */
export function bitLength(value: number): number {
  let length = 0;
  for (let rest = value; rest >= 1; rest = Math.floor(rest / 2)) length++;
  return length;
}

/** One step of an inclusion path: the subtrees whose fold is the sibling. */
function inclusionSteps(index: number, size: number): Subtree[][] {
  assertTreeSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new RangeError(`leaf index ${index} is not in a tree of size ${size}`);
  }
  const steps: Subtree[][] = [];
  for (let level = 0; 2 ** level < size; level++) {
    const position = shiftRight(index, level);
    if (position % 2 === 1) {
      steps.push([{ level, index: position - 1 }]);
      continue;
    }
    const start = (position + 1) * 2 ** level;
    // At the right edge there may be no sibling at this level: the hash is carried up unchanged.
    if (start >= size) continue;
    const end = start + 2 ** level;
    steps.push(end <= size ? [{ level, index: position + 1 }] : subtreesFrom(start, size));
  }
  return steps;
}

/** The subtrees an inclusion proof is computed from, so that a store can load them in one round. */
export function subtreesForInclusion(index: number, size: number): Subtree[] {
  return inclusionSteps(index, size).flat();
}

function foldSteps(steps: readonly Subtree[][], hashAt: HashAt, sha256: Sha256): Uint8Array[] {
  const path: Uint8Array[] = [];
  for (const step of steps) {
    const hashes: Uint8Array[] = [];
    for (const subtree of step) hashes.push(hashAt(subtree.level, subtree.index));
    const hash = foldRight(hashes, sha256);
    if (hash !== undefined) path.push(hash);
  }
  return path;
}

/** RFC 6962 section 2.1.1: the path of leaf `index` in the tree of the first `size` leaves, leaf to root. */
export function proveInclusion(index: number, size: number, hashAt: HashAt, sha256: Sha256): Uint8Array[] {
  return foldSteps(inclusionSteps(index, size), hashAt, sha256);
}

/** RFC 6962 section 2.1.2, SUBPROOF, deepest hash first. */
function consistencySteps(oldSize: number, size: number): Subtree[][] {
  assertTreeSize(size);
  if (!Number.isSafeInteger(oldSize) || oldSize < 1 || oldSize > size) {
    throw new RangeError(`no consistency proof from size ${oldSize} to size ${size}`);
  }
  const steps: Subtree[][] = [];
  let start = 0;
  let end = size;
  let isWhole = true;
  while (oldSize < end) {
    const split = start + 2 ** (bitLength(end - start - 1) - 1);
    if (oldSize <= split) {
      steps.push(subtreesFrom(split, end));
      end = split;
    } else {
      steps.push(subtreesFrom(start, split));
      start = split;
      isWhole = false;
    }
  }
  // The old tree itself: its root is known to the verifier, unless it has been split on the way down.
  if (!isWhole) steps.push(subtreesFrom(start, end));
  return steps.reverse();
}

/** The subtrees a consistency proof is computed from. */
export function subtreesForConsistency(oldSize: number, size: number): Subtree[] {
  return consistencySteps(oldSize, size).flat();
}

/** Proof that the tree of `oldSize` leaves (at least 1) is a prefix of the tree of `size` leaves. */
export function proveConsistency(oldSize: number, size: number, hashAt: HashAt, sha256: Sha256): Uint8Array[] {
  return foldSteps(consistencySteps(oldSize, size), hashAt, sha256);
}

export interface InclusionClaim {
  readonly leafHash: Uint8Array;
  readonly index: number;
  readonly size: number;
  /** Leaf to root, 32 bytes each. */
  readonly path: readonly Uint8Array[];
  readonly rootHash: Uint8Array;
}

function isHashList(hashes: readonly Uint8Array[]): boolean {
  return hashes.every((hash) => hash.length === 32);
}

/** RFC 9162 section 2.1.3.2. False, never an exception, whatever an attacker put into the claim. */
export function verifyInclusion(claim: InclusionClaim, sha256: Sha256): boolean {
  const { leafHash, index, size, path, rootHash } = claim;
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return false;
  if (leafHash.length !== 32 || rootHash.length !== 32 || !isHashList(path)) return false;
  let position = index;
  let last = size - 1;
  let hash = leafHash;
  for (const sibling of path) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      hash = interiorHash(sibling, hash, sha256);
      while (position % 2 === 0 && position !== 0) {
        position = position / 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = interiorHash(hash, sibling, sha256);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && equalBytes(hash, rootHash);
}

export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/**
 * RFC 9162 section 2.1.4.2. False, never an exception. Every tree is consistent with the empty one, whose proof is
 * empty and whose root must be EMPTY_ROOT; equal sizes need equal roots and an empty proof.
 */
export function verifyConsistency(claim: ConsistencyClaim, sha256: Sha256): boolean {
  const { oldSize, oldRoot, size, root, path } = claim;
  if (!Number.isSafeInteger(oldSize) || !Number.isSafeInteger(size) || oldSize < 0 || oldSize > size) return false;
  if (oldRoot.length !== 32 || root.length !== 32 || !isHashList(path)) return false;
  if (oldSize === size) return path.length === 0 && equalBytes(oldRoot, root);
  if (oldSize === 0) return path.length === 0 && equalBytes(oldRoot, EMPTY_ROOT);
  const isPowerOfTwo = 2 ** (bitLength(oldSize) - 1) === oldSize;
  const hashes = isPowerOfTwo ? [oldRoot, ...path] : path;
  const first = hashes[0];
  if (first === undefined) return false;
  let position = oldSize - 1;
  let last = size - 1;
  while (position % 2 === 1) {
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  let oldHash = first;
  let hash = first;
  for (const sibling of hashes.slice(1)) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      oldHash = interiorHash(sibling, oldHash, sha256);
      hash = interiorHash(sibling, hash, sha256);
      while (position % 2 === 0 && position !== 0) {
        position = position / 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = interiorHash(hash, sibling, sha256);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && equalBytes(oldHash, oldRoot) && equalBytes(hash, root);
}
