import type { Sha256 } from "./crypto.ts";
import { EMPTY_ROOT, bitLength, interiorHash, shiftRight, subtreesOfSize } from "./merkle.ts";
import type { Frontier } from "./merkle.ts";

/**
 * Complete subtrees of one level, from index `start` on (without meaning while there are none). The first `dead` of
 * them are forgotten and wait for the array to be compacted.
 */
interface Level {
  start: number;
  dead: number;
  hashes: Uint8Array[];
}

/** The perfect subtrees of one size, and the root of each of their suffixes: `folds[i]` covers subtrees i and after. */
interface RightEdge {
  readonly size: number;
  readonly starts: readonly number[];
  readonly folds: readonly Uint8Array[];
}

/** Compact a level's array once this many forgotten hashes wait at its front. */
const DEAD_HASHES_MAX = 1024;
const EDGES_KEPT_MAX = 8;

/**
 * The newest leaves of one origin in memory, above a frontier that represents all older ones. Every interior hash is
 * computed once, when its subtree becomes complete, so the proofs of a whole batch cost look-ups only; what is
 * incomplete at a size (the right edge) is folded once for each size.
 *
 * Invariant: base ≤ any size asked for ≤ size, and proofs are for leaves at or above base.
 */
export class RecentTree {
  readonly #sha256: Sha256;
  readonly #levels: Level[] = [];
  readonly #edges = new Map<number, RightEdge>();
  #base: number;
  #size: number;

  constructor(frontier: Frontier, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#base = frontier.size;
    this.#size = frontier.size;
    const subtrees = subtreesOfSize(frontier.size);
    if (subtrees.length !== frontier.hashes.length) {
      throw new RangeError(`a frontier of size ${frontier.size} has ${subtrees.length} hashes`);
    }
    subtrees.forEach(({ level, index }, position) => {
      const hash = frontier.hashes[position];
      if (hash !== undefined) this.#level(level).hashes.push(hash);
      this.#level(level).start = index;
    });
  }

  /** Size from which on roots and proofs can be asked for. */
  get base(): number {
    return this.#base;
  }

  get size(): number {
    return this.#size;
  }

  #level(level: number): Level {
    while (this.#levels.length <= level) {
      this.#levels.push({ start: 0, dead: 0, hashes: [] });
    }
    const found = this.#levels[level];
    if (found === undefined) throw new RangeError(`no level ${level}`);
    return found;
  }

  append(leafHash: Uint8Array): void {
    const growth = this.grow();
    growth.append(leafHash);
    this.adopt(growth);
  }

  /** Leaves to come: this tree stays as it is until it adopts them. */
  grow(): TreeGrowth {
    return new TreeGrowth(this, this.#sha256);
  }

  /** Takes over what has grown on this tree, without hashing it again. @throws RangeError: on one of another size */
  adopt({ base, completed }: TreeGrowth): void {
    if (base !== this.#size) throw new RangeError(`leaves after size ${base} do not continue size ${this.#size}`);
    for (const [level, { start, hashes }] of completed.entries()) {
      const held = this.#level(level);
      if (held.hashes.length === 0) held.start = start;
      for (const hash of hashes) held.hashes.push(hash);
    }
    this.#size = base + (completed[0]?.hashes.length ?? 0);
  }

  /** Root of a complete subtree that is still held, else undefined. */
  subtree(level: number, index: number): Uint8Array | undefined {
    const found = this.#levels[level];
    if (found === undefined) return undefined;
    const offset = index - found.start;
    return offset < found.dead ? undefined : found.hashes[offset];
  }

  #hashAt(level: number, index: number): Uint8Array {
    const hash = this.subtree(level, index);
    if (hash === undefined) throw new RangeError(`subtree (${level}, ${index}) is not held`);
    return hash;
  }

  #assertSize(size: number): void {
    if (!Number.isSafeInteger(size) || size < this.#base || size > this.#size) {
      throw new RangeError(`size ${size} is not between ${this.#base} and ${this.#size}`);
    }
  }

  frontierAt(size: number): Frontier {
    this.#assertSize(size);
    return {
      size,
      hashes: subtreesOfSize(size).map(({ level, index }) => this.#hashAt(level, index)),
    };
  }

  #rightEdge(size: number): RightEdge {
    const cached = this.#edges.get(size);
    if (cached !== undefined) return cached;
    const subtrees = subtreesOfSize(size);
    const starts = subtrees.map(({ level, index }) => index * 2 ** level);
    const folds: Uint8Array[] = subtrees.map(({ level, index }) => this.#hashAt(level, index));
    for (let position = folds.length - 2; position >= 0; position--) {
      const left = folds[position];
      const right = folds[position + 1];
      if (left !== undefined && right !== undefined) folds[position] = interiorHash(left, right, this.#sha256);
    }
    const edge: RightEdge = { size, starts, folds };
    for (const oldest of this.#edges.keys()) {
      if (this.#edges.size < EDGES_KEPT_MAX) break;
      this.#edges.delete(oldest);
    }
    this.#edges.set(size, edge);
    return edge;
  }

  /** Root hash of the first `size` leaves. */
  rootAt(size: number): Uint8Array {
    this.#assertSize(size);
    return this.#rightEdge(size).folds[0] ?? EMPTY_ROOT;
  }

  /** Inclusion path, leaf to root, of leaf `index` (at or above base) in the tree of the first `size` leaves. */
  prove(index: number, size: number): Uint8Array[] {
    this.#assertSize(size);
    if (!Number.isSafeInteger(index) || index < this.#base || index >= size) {
      throw new RangeError(`leaf index ${index} is not between ${this.#base} and ${size}`);
    }
    const edge = this.#rightEdge(size);
    const path: Uint8Array[] = [];
    let position = index;
    let width = 1;
    for (let level = 0; width < size; level++, width *= 2) {
      const isRight = position % 2 === 1;
      if (isRight) {
        path.push(this.#hashAt(level, position - 1));
      } else {
        const start = (position + 1) * width;
        if (start + width <= size) path.push(this.#hashAt(level, position + 1));
        else if (start < size) path.push(foldFrom(edge, start));
      }
      position = isRight ? (position - 1) / 2 : position / 2;
    }
    return path;
  }

  /** Moves the base up and frees what only lower sizes needed. A lower `size` than the base changes nothing. */
  forgetBefore(size: number): void {
    if (size <= this.#base) return;
    this.#assertSize(size);
    this.#base = size;
    for (const key of this.#edges.keys()) if (key < size) this.#edges.delete(key);
    const highest = bitLength(this.#size);
    for (let level = 0; level <= highest; level++) {
      const held = this.#levels[level];
      if (held === undefined) break;
      const complete = shiftRight(size, level);
      // The last complete subtree below the base is part of the frontier if it is a left sibling.
      const needed = complete % 2 === 1 ? complete - 1 : complete;
      held.dead = Math.max(held.dead, Math.min(needed - held.start, held.hashes.length));
      if (held.dead > DEAD_HASHES_MAX || held.dead === held.hashes.length) {
        held.hashes.splice(0, held.dead);
        held.start += held.dead;
        held.dead = 0;
      }
    }
  }
}

/** Complete subtrees of one level, from index `start` on. */
export interface GrownLevel {
  readonly start: number;
  readonly hashes: Uint8Array[];
}

/** Leaves on top of a tree, with every interior hash that they complete. */
export class TreeGrowth {
  /** Size of the tree below. */
  readonly base: number;
  /** The subtrees that these leaves complete, level 0 (the leaves) first. */
  readonly completed: GrownLevel[] = [];
  readonly #tree: RecentTree;
  readonly #sha256: Sha256;
  #size: number;

  constructor(tree: RecentTree, sha256: Sha256) {
    this.base = tree.size;
    this.#tree = tree;
    this.#sha256 = sha256;
    this.#size = tree.size;
  }

  /** With the leaves of the tree below. */
  get size(): number {
    return this.#size;
  }

  append(leafHash: Uint8Array): void {
    let hash = leafHash;
    let index = this.#size;
    for (let level = 0; ; level++) {
      const grown = (this.completed[level] ??= { start: index, hashes: [] });
      grown.hashes.push(hash);
      if (index % 2 === 0) break;
      const left = this.subtree(level, index - 1);
      if (left === undefined) throw new RangeError(`subtree (${level}, ${index - 1}) is missing`);
      hash = interiorHash(left, hash, this.#sha256);
      index = (index - 1) / 2;
    }
    this.#size++;
  }

  /** Root of a complete subtree of these leaves or of the tree below, if that still holds it. */
  subtree(level: number, index: number): Uint8Array | undefined {
    const grown = this.completed[level];
    return grown !== undefined && index >= grown.start
      ? grown.hashes[index - grown.start]
      : this.#tree.subtree(level, index);
  }
}

/** The part of the tree from `start` to its end; `start` is always where one of its perfect subtrees starts. */
function foldFrom(edge: RightEdge, start: number): Uint8Array {
  const fold = edge.folds[edge.starts.indexOf(start)];
  if (fold === undefined) throw new RangeError(`no subtree of size ${edge.size} starts at ${start}`);
  return fold;
}
