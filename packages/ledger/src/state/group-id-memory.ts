import type { GroupId } from "../entry/command.ts";

/** A group id and the raft index at which its group was decided. */
export interface DecidedGroupId extends GroupId {
  readonly index: number;
}

/**
 * Forgotten ids are removed once in so many entries. To find the oldest key of a Map, V8 walks over all that were
 * removed before it: tens of thousands, for each entry.
 */
const SWEPT_EVERY = 256;

/**
 * Ids of decided groups, so that a group proposed twice is decided once. They are kept by raft index, never by time:
 * every replica forgets the same id at the same entry.
 */
export class GroupIdMemory {
  /** Per sender, counter to index, in the order of decision. */
  readonly #senders = new Map<string, Map<number, number>>();
  /** Ids decided below this index are forgotten, whether they are removed yet or not. */
  #keptFrom = 0;
  #sweptTo = 0;

  static #sender(id: GroupId): string {
    return `${id.node.toString(16)}.${id.incarnation}`;
  }

  has(id: GroupId): boolean {
    const index = this.#senders.get(GroupIdMemory.#sender(id))?.get(id.counter);
    return index !== undefined && index >= this.#keptFrom;
  }

  /** Invariant: called with indexes that never fall. */
  add(id: GroupId, index: number): void {
    const sender = GroupIdMemory.#sender(id);
    let counters = this.#senders.get(sender);
    if (counters === undefined) {
      counters = new Map();
      this.#senders.set(sender, counters);
    }
    // One that is forgotten and not removed yet must not keep its place in the order.
    counters.delete(id.counter);
    counters.set(id.counter, index);
  }

  /** Forgets ids decided below `index`. Over many calls, takes time in proportion to what it forgets. */
  forgetBelow(index: number): void {
    this.#keptFrom = Math.max(this.#keptFrom, index);
    if (this.#keptFrom - this.#sweptTo >= SWEPT_EVERY) this.#sweep();
  }

  #sweep(): void {
    this.#sweptTo = this.#keptFrom;
    for (const [sender, counters] of this.#senders) {
      for (const [counter, decidedAt] of counters) {
        if (decidedAt >= this.#keptFrom) break;
        counters.delete(counter);
      }
      if (counters.size === 0) this.#senders.delete(sender);
    }
  }

  /** All ids that are remembered, in order of index, then of sender and counter. */
  entries(): DecidedGroupId[] {
    this.#sweep();
    const all: DecidedGroupId[] = [];
    for (const [sender, counters] of this.#senders) {
      const [node = "", incarnation = ""] = sender.split(".");
      for (const [counter, index] of counters)
        all.push({ node: BigInt(`0x${node}`), incarnation: Number(incarnation), counter, index });
    }
    return all.sort(compareDecided);
  }
}

function compareDecided(a: DecidedGroupId, b: DecidedGroupId): number {
  if (a.index !== b.index) return a.index - b.index;
  if (a.node !== b.node) return a.node < b.node ? -1 : 1;
  return a.incarnation - b.incarnation || a.counter - b.counter;
}
