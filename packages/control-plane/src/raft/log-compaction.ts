import type { EntryId, RaftIndex, RawNode } from "raft-ts";
import type { Clock } from "../environment.ts";
import type { RaftLogStorage } from "../storage.ts";

/** An erasure waits this long for members that lack its entry. After that they need the state of a peer. */
export const ERASURE_WAIT_MS_MAX = 30_000;

export interface LogCompactionOptions {
  readonly clock: Clock;
  readonly log: RaftLogStorage;
  /** What the log begins after. */
  readonly compactedIndex: RaftIndex;
  /** Applied entries that stay in the log, for followers that lag. */
  readonly entriesKept: number;
  /** What was promised before this session to be forgotten; 0: nothing. */
  readonly forgetLogTo: RaftIndex;
  /** Knows what is applied and, on a leader, how far each member's log reaches. */
  readonly node: Pick<RawNode, "basicStatus" | "status">;
  /** Nothing after this entry may go; null: no such bound. */
  readonly pinnedIndex: () => RaftIndex | null;
  /** Engine and payload cache may forget them as well. */
  readonly onCompacted: (point: EntryId) => void;
  readonly onFailure: (error: unknown) => void;
}

/** An entry that the log may not keep, and since when. */
interface Debt {
  readonly index: RaftIndex;
  readonly sinceMs: number;
}

/**
 * Forgets old entries: a tenth of what is kept at a time, and without delay what an erasure has promised to forget.
 *
 * An erasure is *owed* from the moment that its entry is applied until the log begins after it. A follower pays at
 * once. A leader first lets every other member have the entries, for 30 s at most; it does not cut off a node that is
 * taking over the state of this one, which ends 60 s after that node's last question.
 */
export class LogCompaction {
  readonly #options: LogCompactionOptions;
  #compactedTo: RaftIndex;
  /** Ascending by index. */
  #owed: Debt[] = [];
  #isRunning = false;

  constructor(options: LogCompactionOptions) {
    this.#options = options;
    this.#compactedTo = options.compactedIndex;
    this.owe(options.forgetLogTo);
  }

  /** How many entries still stand in the log that an erasure has promised to forget. */
  get owedEntries(): number {
    return Math.max(0, (this.#owed.at(-1)?.index ?? 0) - this.#compactedTo);
  }

  onApplied(index: RaftIndex): void {
    const { entriesKept, node, pinnedIndex } = this.#options;
    const upTo = Math.min(index - entriesKept, pinnedIndex() ?? index);
    if (upTo - this.#compactedTo < entriesKept / 10) return;
    // The engine hears of a whole chore of the apply lane at its end.
    this.#compact(Math.min(upTo, node.basicStatus().applied));
  }

  /** Something in this entry or before it was erased. */
  owe(index: RaftIndex): void {
    if (index > this.#compactedTo) this.#owed.push({ index, sinceMs: this.#options.clock.monotonicMs() });
  }

  /** Pays what can be paid now. Called every few ms. */
  sweep(): void {
    if (this.#owed.length === 0) return;
    const { clock, node, pinnedIndex } = this.#options;
    const { role, applied, progress } = node.status();
    const bound = Math.min(applied, pinnedIndex() ?? Number.POSITIVE_INFINITY);
    // Whoever does not lead is not asked for entries.
    const needed = role === "leader" ? [...progress.values()].map(({ match }) => match) : [];
    const heldByAll = Math.min(...needed);
    const overdueMs = clock.monotonicMs() - ERASURE_WAIT_MS_MAX;
    const due = this.#owed.findLast(
      ({ index, sinceMs }) => index <= bound && (index <= heldByAll || sinceMs <= overdueMs),
    );
    if (due !== undefined) this.#compact(due.index);
  }

  #compact(upTo: RaftIndex): void {
    const { log, onCompacted, onFailure } = this.#options;
    if (this.#isRunning) return;
    this.#isRunning = true;
    log
      .compact(upTo)
      .then((point) => {
        this.#isRunning = false;
        this.#compactedTo = point.index;
        this.#owed = this.#owed.filter(({ index }) => index > point.index);
        onCompacted(point);
      })
      .catch(onFailure);
  }
}
