/**
 * The state tree in pages: each page is four levels of it, sixteen slots, named by the hex digits of the keys below it.
 * A slot is empty, holds the one key below it, or holds the hash of a further page. So a key is found within a few
 * rows, and changing it rewrites those rows. Keys are never removed from the tree.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  EMPTY_STATE_ROOT,
  bytesToHex,
  equalBytes,
  joinStateSubtrees,
  stateKeyBit,
  stateLeafHash,
  ZERO_32,
} from "@event-anchoring/protocol";
import type { Sha256, StateLeaf, StateProof, StateSubtree } from "@event-anchoring/protocol";

const SLOTS = 16;
const LEVELS = 4;

/** null: no key below it. */
export type StateSlot =
  | { readonly kind: "leaf"; readonly leaf: StateLeaf }
  /** Hash of the page below: it has at least two keys. */
  | { readonly kind: "page"; readonly hash: Uint8Array }
  | null;

/** Slots by the next hex digit of the keys, 0 to f. */
export type StatePage = readonly StateSlot[];

/** The page at a prefix (hex digits, "" for the root); undefined if it is not loaded. */
export interface StatePages {
  get(prefix: string): StatePage | undefined;
}

export const EMPTY_STATE_PAGE: StatePage = Array.from({ length: SLOTS }, () => null);

/** Pages that must be loaded first. */
export class StatePagesMissing extends Error {
  readonly prefixes: readonly string[];
  constructor(prefixes: readonly string[]) {
    super(`pages of the state tree are not loaded: ${prefixes.slice(0, 3).join(", ")}`);
    this.name = "StatePagesMissing";
    this.prefixes = prefixes;
  }
}

/** What changed in the tree, and its root after it. */
export interface StateTreeUpdate {
  readonly rootHash: Uint8Array;
  /** Pages that are new or changed, by prefix. */
  readonly pages: ReadonlyMap<string, StatePage>;
}

function subtreeOf(slot: StateSlot, sha256: Sha256): StateSubtree | null {
  if (slot === null) return null;
  if (slot.kind === "page") return { hash: slot.hash, isLeaf: false };
  return { hash: stateLeafHash(slot.leaf, sha256), isLeaf: true };
}

/** The subtrees of a page as a heap: the whole page at 1, the halves of n at 2n and 2n + 1, the slots from 16 on. */
type Subtrees = readonly (StateSubtree | null)[];

/**
 * Subtrees of pages near the root, which every entry changes: a changed slot costs five hashes, and not thirty-one.
 * Deeper pages have few keys, and would take memory.
 */
const KNOWN = new WeakMap<StatePage, Subtrees>();
const KNOWN_PREFIX_MAX = 2;

function subtreesOf(page: StatePage, sha256: Sha256): Subtrees {
  const known = KNOWN.get(page);
  if (known !== undefined) return known;
  const subtrees: (StateSubtree | null)[] = Array.from({ length: SLOTS }, () => null);
  for (const slot of page) subtrees.push(subtreeOf(slot, sha256));
  for (let at = SLOTS - 1; at > 0; at--) subtrees[at] = joinedAt(subtrees, at, sha256);
  return subtrees;
}

/** The page that was `before` with other slots at these digits. */
function subtreesAfter(before: Subtrees, page: StatePage, digits: Iterable<number>, sha256: Sha256): Subtrees {
  const subtrees = [...before];
  let changed = new Set<number>();
  for (const digit of digits) {
    subtrees[SLOTS + digit] = subtreeOf(page[digit] ?? null, sha256);
    changed.add((SLOTS + digit) >> 1);
  }
  while (!changed.has(0)) {
    for (const at of changed) subtrees[at] = joinedAt(subtrees, at, sha256);
    changed = new Set([...changed].map((at) => at >> 1));
  }
  return subtrees;
}

function joinedAt(subtrees: Subtrees, at: number, sha256: Sha256): StateSubtree | null {
  return joinStateSubtrees(subtrees[2 * at] ?? null, subtrees[2 * at + 1] ?? null, sha256);
}

/** Root hash of the tree whose first page this is. */
export function stateRootOf(rootPage: StatePage, sha256: Sha256): Uint8Array {
  return subtreesOf(rootPage, sha256)[1]?.hash ?? EMPTY_STATE_ROOT;
}

function digitAt(hex: string, at: number): number {
  return Number.parseInt(hex.charAt(at), 16);
}

interface Change {
  readonly hex: string;
  readonly leaf: StateLeaf;
}

class TreeDraft {
  readonly changed = new Map<string, StatePage>();
  readonly missing: string[] = [];
  readonly #pages: StatePages;
  readonly #sha256: Sha256;

  constructor(pages: StatePages, sha256: Sha256) {
    this.#pages = pages;
    this.#sha256 = sha256;
  }

  /** Puts `changes`, all of which begin with `prefix`, onto a page. */
  put(prefix: string, page: StatePage, changes: readonly Change[]): StatePage {
    const slots = [...page];
    const bySlot = new Map<number, Change[]>();
    for (const change of changes) {
      const digit = digitAt(change.hex, prefix.length);
      const there = bySlot.get(digit);
      if (there === undefined) bySlot.set(digit, [change]);
      else there.push(change);
    }
    for (const [digit, below] of bySlot) {
      slots[digit] = this.#slotAfter(`${prefix}${digit.toString(16)}`, slots[digit] ?? null, below);
    }
    this.changed.set(prefix, slots);
    if (prefix.length > KNOWN_PREFIX_MAX || this.missing.length > 0) return slots;
    KNOWN.set(slots, subtreesAfter(subtreesOf(page, this.#sha256), slots, bySlot.keys(), this.#sha256));
    return slots;
  }

  #slotAfter(prefix: string, slot: StateSlot, changes: readonly Change[]): StateSlot {
    const [first] = changes;
    if (first === undefined) return slot;
    if (slot?.kind === "page") {
      const page = this.#pages.get(prefix);
      if (page !== undefined) return this.#pageSlot(this.put(prefix, page, changes));
      this.missing.push(prefix);
      return slot;
    }
    const isLone = changes.length === 1 && (slot === null || equalBytes(slot.leaf.key, first.leaf.key));
    if (isLone) return { kind: "leaf", leaf: first.leaf };
    const isReplaced = slot === null || changes.some(({ leaf }) => equalBytes(leaf.key, slot.leaf.key));
    const all = isReplaced ? changes : [{ hex: bytesToHex(slot.leaf.key), leaf: slot.leaf }, ...changes];
    return this.#pageSlot(this.put(prefix, EMPTY_STATE_PAGE, all));
  }

  #pageSlot(page: StatePage): StateSlot {
    return { kind: "page", hash: subtreesOf(page, this.#sha256)[1]?.hash ?? ZERO_32 };
  }
}

/**
 * The tree with these values added or replaced.
 * @param pages the loaded ones; one for "" must be among them, EMPTY_STATE_PAGE for a tree without keys
 * @param leaves if a key is named twice, the later one counts
 * @throws StatePagesMissing
 */
export function updateStateTree(pages: StatePages, leaves: readonly StateLeaf[], sha256: Sha256): StateTreeUpdate {
  const rootPage = pages.get("");
  if (rootPage === undefined) throw new StatePagesMissing([""]);
  const newest = new Map<string, Change>();
  for (const leaf of leaves) {
    const hex = bytesToHex(leaf.key);
    newest.set(hex, { hex, leaf });
  }
  if (newest.size === 0) return { rootHash: stateRootOf(rootPage, sha256), pages: new Map() };
  const draft = new TreeDraft(pages, sha256);
  const after = draft.put("", rootPage, [...newest.values()]);
  if (draft.missing.length > 0) throw new StatePagesMissing(draft.missing);
  return { rootHash: stateRootOf(after, sha256), pages: draft.changed };
}

/** Halves of a page that the path to a slot does not take, from the top on, and where the path ends within the page. */
function pathInPage(page: StatePage, key: Uint8Array, fromBit: number, sha256: Sha256): Uint8Array[] {
  const subtrees = subtreesOf(page, sha256);
  const siblings: Uint8Array[] = [];
  let at = 1;
  for (let depth = 0; depth < LEVELS; depth++) {
    const here = subtrees[at] ?? null;
    if (here === null || here.isLeaf) return siblings;
    at = 2 * at + stateKeyBit(key, fromBit + depth);
    siblings.push(subtrees[at ^ 1]?.hash ?? ZERO_32);
  }
  return siblings;
}

/** The only key on a page's path, if the path ends within the page. */
function loneLeaf(page: StatePage, key: Uint8Array, fromBit: number, bits: number): StateLeaf | null {
  const width = SLOTS >> bits;
  let first = 0;
  for (let depth = 0; depth < bits; depth++) first = first * 2 + stateKeyBit(key, fromBit + depth);
  for (const slot of page.slice(first * width, (first + 1) * width)) if (slot?.kind === "leaf") return slot.leaf;
  return null;
}

/** Proves the value, or the absence, of a key. @throws StatePagesMissing */
export function proveState(pages: StatePages, key: Uint8Array, sha256: Sha256): StateProof {
  const hex = bytesToHex(key);
  const siblings: Uint8Array[] = [];
  for (let digits = 0; ; digits++) {
    const prefix = hex.slice(0, digits);
    const page = pages.get(prefix);
    if (page === undefined) throw new StatePagesMissing([prefix]);
    const path = pathInPage(page, key, digits * LEVELS, sha256);
    siblings.push(...path);
    const slot = page[digitAt(hex, digits)] ?? null;
    if (path.length === LEVELS && slot?.kind === "page") continue;
    return { siblings, end: loneLeaf(page, key, digits * LEVELS, path.length) };
  }
}

/** u16 slots with a leaf, u16 slots with a page (bit d for digit d), then each slot's key and value hash, or hash. */
export function encodeStatePage(page: StatePage): Uint8Array {
  const leaves = page.reduce((bits, slot, digit) => (slot?.kind === "leaf" ? bits | (1 << digit) : bits), 0);
  const further = page.reduce((bits, slot, digit) => (slot?.kind === "page" ? bits | (1 << digit) : bits), 0);
  const writer = new ByteWriter(4 + SLOTS * 64).u16(leaves).u16(further);
  for (const slot of page) {
    if (slot?.kind === "leaf") writer.bytes(slot.leaf.key, 32).bytes(slot.leaf.valueHash, 32);
    else if (slot?.kind === "page") writer.bytes(slot.hash, 32);
  }
  return writer.finish();
}

/** @throws DecodeError */
export function decodeStatePage(bytes: Uint8Array): StatePage {
  const reader = new ByteReader(bytes);
  const leaves = reader.u16();
  const further = reader.u16();
  if ((leaves & further) !== 0) throw new DecodeError("value_invalid", "a slot with a leaf and a page");
  const page = EMPTY_STATE_PAGE.map((_, digit): StateSlot => {
    if ((leaves & (1 << digit)) !== 0) {
      return { kind: "leaf", leaf: { key: reader.bytes(32), valueHash: reader.bytes(32) } };
    }
    return (further & (1 << digit)) === 0 ? null : { kind: "page", hash: reader.bytes(32) };
  });
  reader.finish();
  return page;
}
