import type { Entry, EntryId, RaftIndex } from "raft-ts";

/** What is kept of entries that are durable and applied, for followers that lag a little. */
const RETAINED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The bytes of log entries, by (index, term).
 *
 * An entry stays until it is durable and applied here (it is *pinned*); after that it is kept while there is room, the
 * oldest going first. A reader always names the term: an index alone may belong to an entry that was replaced.
 */
export class PayloadCache {
  readonly #entries = new Map<RaftIndex, Entry>();
  /** No entry before this one is held. */
  #oldest = 0;
  #bytes = 0;
  #durableIndex = 0;
  #appliedIndex = 0;

  /** Takes entries as the engine hands them out; a suffix that they replace is forgotten. */
  put(entries: readonly Entry[]): void {
    const first = entries[0];
    if (first === undefined) return;
    if (this.#entries.size === 0) this.#oldest = first.index;
    this.#oldest = Math.min(this.#oldest, first.index);
    for (let index = first.index; this.#remove(index); index++);
    for (const entry of entries) {
      // Entries after a gap were not removed above.
      this.#remove(entry.index);
      this.#entries.set(entry.index, entry);
      this.#bytes += entry.payload.length;
    }
    this.#durableIndex = Math.min(this.#durableIndex, first.index - 1);
  }

  get(id: EntryId): Entry | null {
    const entry = this.#entries.get(id.index);
    return entry !== undefined && entry.term === id.term ? entry : null;
  }

  noteDurable(index: RaftIndex): void {
    this.#durableIndex = Math.max(this.#durableIndex, index);
  }

  noteApplied(index: RaftIndex): void {
    this.#appliedIndex = Math.max(this.#appliedIndex, index);
    this.#evict();
  }

  /** Drops applied entries up to and including this one, even if there is room. */
  forget(upTo: RaftIndex): void {
    for (const index of this.#entries.keys()) {
      if (index <= upTo && index <= this.#appliedIndex) this.#remove(index);
    }
  }

  #evict(): void {
    if (this.#bytes <= RETAINED_BYTES_MAX) return;
    const evictable = Math.min(this.#durableIndex, this.#appliedIndex);
    for (; this.#bytes > RETAINED_BYTES_MAX && this.#oldest <= evictable; this.#oldest++) this.#remove(this.#oldest);
  }

  #remove(index: RaftIndex): boolean {
    const entry = this.#entries.get(index);
    if (entry === undefined) return false;
    this.#entries.delete(index);
    this.#bytes -= entry.payload.length;
    return true;
  }
}
