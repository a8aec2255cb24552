/**
 * A page of the state tree: four levels of it, sixteen slots. It is kept in memory as it is in the table: one byte
 * array, and not up to thirty-three small ones, each of which would take 470 bytes for 32.
 */
import { DecodeError, joinStateSubtrees, stateLeafHash } from "@event-anchoring/protocol";
import type { Sha256, StateLeaf, StateSubtree } from "@event-anchoring/protocol";

export const SLOTS = 16;
const ALL_DIGITS = Array.from({ length: SLOTS }, (_, digit) => digit);

/** null: no key below it. */
export type StateSlot =
  | { readonly kind: "leaf"; readonly leaf: StateLeaf }
  /** Hash of the page below: it has at least two keys. */
  | { readonly kind: "page"; readonly hash: Uint8Array }
  | null;

const HASH = 32;
const HEADER = 4;

/** How many of the slots below `digit` are in `bits`. */
function countBelow(bits: number, digit: number): number {
  let count = 0;
  for (let rest = bits & ((1 << digit) - 1); rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** Immutable. The slots are by the next hex digit of the keys, 0 to f; what they hold are views of the page's bytes. */
export class StatePage {
  /**
   * As it is stored: u16 slots with a leaf, u16 slots with a page (bit d for digit d), then each slot's key and value
   * hash, or hash. Never write to it.
   */
  readonly bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  static readonly empty = new StatePage(new Uint8Array(HEADER));

  /** @param bytes are copied @throws DecodeError */
  static decode(bytes: Uint8Array): StatePage {
    const page = new StatePage(new Uint8Array(bytes));
    if (bytes.length < HEADER) throw new DecodeError("truncated", "a page has at least its four first bytes");
    if ((page.#leaves & page.#further) !== 0) throw new DecodeError("value_invalid", "a slot with a leaf and a page");
    const end = page.#offsetOf(SLOTS);
    if (bytes.length < end) throw new DecodeError("truncated", `a page of ${end} bytes has ${bytes.length}`);
    if (bytes.length > end) throw new DecodeError("trailing_bytes", `a page of ${end} bytes has ${bytes.length}`);
    return page;
  }

  get #leaves(): number {
    return ((this.bytes[0] ?? 0) << 8) | (this.bytes[1] ?? 0);
  }

  get #further(): number {
    return ((this.bytes[2] ?? 0) << 8) | (this.bytes[3] ?? 0);
  }

  #offsetOf(digit: number): number {
    return HEADER + 2 * HASH * countBelow(this.#leaves, digit) + HASH * countBelow(this.#further, digit);
  }

  #hashAt(offset: number): Uint8Array {
    return this.bytes.subarray(offset, offset + HASH);
  }

  slot(digit: number): StateSlot {
    const bit = 1 << digit;
    if ((this.#further & bit) !== 0) return { kind: "page", hash: this.#hashAt(this.#offsetOf(digit)) };
    if ((this.#leaves & bit) === 0) return null;
    const at = this.#offsetOf(digit);
    return { kind: "leaf", leaf: { key: this.#hashAt(at), valueHash: this.#hashAt(at + HASH) } };
  }

  get slots(): readonly StateSlot[] {
    return Array.from({ length: SLOTS }, (_, digit) => this.slot(digit));
  }

  /** This page with other slots at some digits. */
  with(changes: ReadonlyMap<number, StateSlot>): StatePage {
    let [leaves, further] = [this.#leaves, this.#further];
    for (const [digit, slot] of changes) {
      leaves = slot?.kind === "leaf" ? leaves | (1 << digit) : leaves & ~(1 << digit);
      further = slot?.kind === "page" ? further | (1 << digit) : further & ~(1 << digit);
    }
    const bytes = new Uint8Array(HEADER + 2 * HASH * countBelow(leaves, SLOTS) + HASH * countBelow(further, SLOTS));
    bytes.set([leaves >> 8, leaves & 0xff, further >> 8, further & 0xff]);
    let at = HEADER;
    for (let digit = 0; digit < SLOTS; digit++) {
      for (const part of this.#partsOf(digit, changes.get(digit))) {
        bytes.set(part, at);
        at += part.length;
      }
    }
    return new StatePage(bytes);
  }

  /** The bytes of a slot. @param change undefined: the slot of this page */
  #partsOf(digit: number, change: StateSlot | undefined): readonly Uint8Array[] {
    if (change === undefined) return [this.bytes.subarray(this.#offsetOf(digit), this.#offsetOf(digit + 1))];
    if (change === null) return [];
    return change.kind === "page" ? [change.hash] : [change.leaf.key, change.leaf.valueHash];
  }
}

const EMPTY = 0;
const LEAF = 1;
const JOINED = 2;

/**
 * The subtrees of a page as a heap: the whole page at 1, the halves of n at 2n and 2n + 1, the slots from 16 on. With
 * them a changed slot costs five hashes, and not thirty-one.
 */
export class Subtrees {
  readonly #hashes: Uint8Array;
  readonly #kinds: Uint8Array;

  private constructor(hashes: Uint8Array, kinds: Uint8Array) {
    this.#hashes = hashes;
    this.#kinds = kinds;
  }

  static of(page: StatePage, sha256: Sha256): Subtrees {
    const subtrees = new Subtrees(new Uint8Array(2 * SLOTS * HASH), new Uint8Array(2 * SLOTS));
    subtrees.#take(page, ALL_DIGITS, sha256);
    return subtrees;
  }

  /** Those of `page`, which differs at these digits from the page that has these. */
  after(page: StatePage, digits: Iterable<number>, sha256: Sha256): Subtrees {
    const subtrees = new Subtrees(this.#hashes.slice(), this.#kinds.slice());
    subtrees.#take(page, digits, sha256);
    return subtrees;
  }

  #take(page: StatePage, digits: Iterable<number>, sha256: Sha256): void {
    /** Bit n: node n has changed. */
    let changed = 0;
    for (const digit of digits) {
      this.#putSlot(digit, page.slot(digit), sha256);
      changed |= 1 << (SLOTS + digit);
    }
    for (let node = SLOTS - 1; node > 0; node--) {
      if ((changed & (0b11 << (2 * node))) === 0) continue;
      this.#put(node, joinStateSubtrees(this.at(2 * node), this.at(2 * node + 1), sha256));
      changed |= 1 << node;
    }
  }

  /** The hash is a view. */
  at(node: number): StateSubtree | null {
    const kind = this.#kinds[node] ?? EMPTY;
    if (kind === EMPTY) return null;
    return { hash: this.#hashes.subarray(node * HASH, (node + 1) * HASH), isLeaf: kind === LEAF };
  }

  #putSlot(digit: number, slot: StateSlot, sha256: Sha256): void {
    if (slot === null) this.#put(SLOTS + digit, null);
    else if (slot.kind === "page") this.#put(SLOTS + digit, { hash: slot.hash, isLeaf: false });
    else this.#put(SLOTS + digit, { hash: stateLeafHash(slot.leaf, sha256), isLeaf: true });
  }

  #put(node: number, subtree: StateSubtree | null): void {
    this.#kinds[node] = subtree === null ? EMPTY : subtree.isLeaf ? LEAF : JOINED;
    if (subtree !== null) this.#hashes.set(subtree.hash, node * HASH);
  }
}
