/**
 * The state tree in pages: each page is four levels of it, sixteen slots, named by the hex digits of the keys below it.
 * A slot is empty, holds the one key below it, or holds the hash of a further page. So a key is found within a few
 * rows, and changing it rewrites those rows. Keys are never removed from the tree.
 */
import { EMPTY_STATE_ROOT, bytesToHex, equalBytes, stateKeyBit, ZERO_32 } from "@event-anchoring/protocol";
import type { Sha256, StateLeaf, StateProof } from "@event-anchoring/protocol";
import { SLOTS, StatePage, Subtrees } from "./state-page.ts";
import type { StateSlot } from "./state-page.ts";

const LEVELS = 4;

/** The page at a prefix (hex digits, "" for the root); undefined if it is not loaded. */
export interface StatePages {
  get(prefix: string): StatePage | undefined;
}

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

/**
 * Subtrees of the pages that a node keeps in memory. Each takes a kilobyte; pages further down have few keys, and are
 * hashed whole.
 */
const KNOWN = new WeakMap<StatePage, Subtrees>();
const KNOWN_PREFIX_MAX = 3;

function subtreesOf(page: StatePage, sha256: Sha256): Subtrees {
  return KNOWN.get(page) ?? Subtrees.of(page, sha256);
}

/** Root hash of the tree whose first page this is. */
export function stateRootOf(rootPage: StatePage, sha256: Sha256): Uint8Array {
  return subtreesOf(rootPage, sha256).at(1)?.hash.slice() ?? EMPTY_STATE_ROOT;
}

function digitAt(hex: string, at: number): number {
  return Number.parseInt(hex.charAt(at), 16);
}

interface Change {
  readonly hex: string;
  readonly leaf: StateLeaf;
}

/** Prefixes of the first pages on the paths of these keys that are not loaded. */
function missingPages(pages: StatePages, keys: Iterable<string>): string[] {
  const missing = new Set<string>();
  for (const hex of keys) {
    for (let digits = 0; ; digits++) {
      const prefix = hex.slice(0, digits);
      const page = pages.get(prefix);
      if (page === undefined) missing.add(prefix);
      if (page?.slot(digitAt(hex, digits))?.kind !== "page") break;
    }
  }
  return [...missing];
}

class TreeDraft {
  readonly changed = new Map<string, StatePage>();
  readonly #pages: StatePages;
  readonly #sha256: Sha256;

  constructor(pages: StatePages, sha256: Sha256) {
    this.#pages = pages;
    this.#sha256 = sha256;
  }

  /** Puts `changes`, all of which begin with `prefix`, onto a page. */
  put(prefix: string, page: StatePage, changes: readonly Change[]): StatePage {
    const bySlot = new Map<number, Change[]>();
    for (const change of changes) {
      const digit = digitAt(change.hex, prefix.length);
      const there = bySlot.get(digit);
      if (there === undefined) bySlot.set(digit, [change]);
      else there.push(change);
    }
    const slots = new Map<number, StateSlot>();
    for (const [digit, below] of bySlot) {
      slots.set(digit, this.#slotAfter(`${prefix}${digit.toString(16)}`, page.slot(digit), below));
    }
    const after = page.with(slots);
    this.changed.set(prefix, after);
    if (prefix.length <= KNOWN_PREFIX_MAX) {
      KNOWN.set(after, subtreesOf(page, this.#sha256).after(after, slots.keys(), this.#sha256));
    }
    return after;
  }

  #slotAfter(prefix: string, slot: StateSlot, changes: readonly Change[]): StateSlot {
    const [first] = changes;
    if (first === undefined) return slot;
    if (slot?.kind === "page") {
      const page = this.#pages.get(prefix);
      if (page === undefined) throw new StatePagesMissing([prefix]);
      return this.#pageSlot(this.put(prefix, page, changes));
    }
    const isLone = changes.length === 1 && (slot === null || equalBytes(slot.leaf.key, first.leaf.key));
    if (isLone) return { kind: "leaf", leaf: first.leaf };
    const isReplaced = slot === null || changes.some(({ leaf }) => equalBytes(leaf.key, slot.leaf.key));
    const all = isReplaced ? changes : [{ hex: bytesToHex(slot.leaf.key), leaf: slot.leaf }, ...changes];
    return this.#pageSlot(this.put(prefix, StatePage.empty, all));
  }

  #pageSlot(page: StatePage): StateSlot {
    return { kind: "page", hash: subtreesOf(page, this.#sha256).at(1)?.hash ?? ZERO_32 };
  }
}

/**
 * The tree with these values added or replaced.
 * @param pages the loaded ones; one for "" must be among them, StatePage.empty for a tree without keys
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
  // All at once, before the first hash: a tree that is begun and given up costs as much as one that is made.
  const missing = missingPages(pages, newest.keys());
  if (missing.length > 0) throw new StatePagesMissing(missing);
  const draft = new TreeDraft(pages, sha256);
  const after = draft.put("", rootPage, [...newest.values()]);
  return { rootHash: stateRootOf(after, sha256), pages: draft.changed };
}

/** Halves of a page that the path to a slot does not take, from the top on, and where the path ends within the page. */
function pathInPage(page: StatePage, key: Uint8Array, fromBit: number, sha256: Sha256): Uint8Array[] {
  const subtrees = subtreesOf(page, sha256);
  const siblings: Uint8Array[] = [];
  let at = 1;
  for (let depth = 0; depth < LEVELS; depth++) {
    const here = subtrees.at(at);
    if (here === null || here.isLeaf) return siblings;
    at = 2 * at + stateKeyBit(key, fromBit + depth);
    siblings.push(subtrees.at(at ^ 1)?.hash ?? ZERO_32);
  }
  return siblings;
}

/** The only key on a page's path, if the path ends within the page. */
function loneLeaf(page: StatePage, key: Uint8Array, fromBit: number, bits: number): StateLeaf | null {
  const width = SLOTS >> bits;
  let first = 0;
  for (let depth = 0; depth < bits; depth++) first = first * 2 + stateKeyBit(key, fromBit + depth);
  for (let digit = first * width; digit < (first + 1) * width; digit++) {
    const slot = page.slot(digit);
    if (slot?.kind === "leaf") return slot.leaf;
  }
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
    const slot = page.slot(digitAt(hex, digits));
    if (path.length === LEVELS && slot?.kind === "page") continue;
    return { siblings, end: loneLeaf(page, key, digits * LEVELS, path.length) };
  }
}
