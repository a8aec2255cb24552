import type { EntryId, RaftIndex } from "raft-ts";
import type { RaftLogStorage } from "../storage.ts";

export interface LogCompactionOptions {
  readonly log: RaftLogStorage;
  /** Applied entries that stay in the log, for followers that lag. */
  readonly entriesKept: number;
  /** Nothing after this entry may go; null: no such bound. */
  readonly pinnedIndex: () => RaftIndex | null;
  /** The engine may forget them as well. */
  readonly onCompacted: (point: EntryId) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Forgets old entries, a tenth of what is kept at a time. */
export class LogCompaction {
  readonly #options: LogCompactionOptions;
  #compactedTo: RaftIndex = 0;
  #isRunning = false;

  constructor(options: LogCompactionOptions) {
    this.#options = options;
  }

  onApplied(index: RaftIndex): void {
    const { log, entriesKept, pinnedIndex, onCompacted, onFailure } = this.#options;
    const upTo = Math.min(index - entriesKept, pinnedIndex() ?? index);
    if (this.#isRunning || upTo - this.#compactedTo < entriesKept / 10) return;
    this.#isRunning = true;
    log
      .compact(upTo)
      .then((point) => {
        this.#isRunning = false;
        this.#compactedTo = point.index;
        onCompacted(point);
      })
      .catch(onFailure);
  }
}
