import type { Entry, EntryId, RaftIndex, RawNode } from "raft-ts";
import type { Clock } from "@event-anchoring/telemetry";
import type { RaftLogStorage } from "../ports/storage.ts";
import type { LogSizes } from "./log-sizes.ts";

/**
 * An erasure waits this long for members that lack its entry. After that they need the state of a peer. It waits longer
 * only where too few nodes have the entry to prove that state.
 */
export const ERASURE_WAIT_MS_MAX = 30_000;

export interface LogCompactionOptions {
  readonly clock: Clock;
  readonly log: Pick<RaftLogStorage, "compact">;
  /** Sizes of the log as it was loaded; kept up to date here. */
  readonly sizes: LogSizes;
  /** Applied entries that stay in the log, for followers that lag … */
  readonly entriesKept: number;
  /** … or the newest of them that take no more than this, if these are fewer. */
  readonly bytesKept: number;
  /** The log must not keep this entry, nor any before it, as the tables said at the start; 0: none. */
  readonly forgetLogTo: RaftIndex;
  /** Knows what is applied and, on a leader, how far each member's log reaches. */
  readonly node: Pick<RawNode, "basicStatus" | "status">;
  /** The tables hold every entry up to this one: a restart decides what follows again, from the log. */
  readonly tablesIndex: () => RaftIndex;
  /** Entries after this one must stay: too few nodes have them to prove a state without them. */
  readonly heldByEnough: () => RaftIndex;
  /** Entries after this one must stay; null: no such bound. */
  readonly pinnedIndex: () => RaftIndex | null;
  /** Engine and payload cache may forget them as well. */
  readonly onCompacted: (point: EntryId) => void;
  readonly onFailure: (error: unknown) => void;
}

/** The part that is compacted at a time, relative to what is kept. */
const STEP = 0.1;

/** An entry that the log must drop, and since when. */
interface Debt {
  readonly index: RaftIndex;
  readonly sinceMs: number;
}

/**
 * Compacts old entries: a tenth of what is kept at a time, and without delay what an erasure has to drop.
 *
 * So the log holds as many entries or bytes as are kept, whichever is less, and up to a tenth more. A follower that
 * lags by less finds what it needs, one that lags by more takes over a state.
 *
 * Invariant: what is cut is in the logs of enough nodes to prove the state after it. A group of one voter with two
 * members that both lag would otherwise never get further: neither takes over a state that one node has signed.
 *
 * An erasure is *owed* from the moment that its entry is applied until the log begins after it. A follower pays at
 * once. A leader first lets every other member have the entries, for 30 s at most. What a node needs that takes over
 * the state of this one stays in any case.
 */
export class LogCompaction {
  readonly #options: LogCompactionOptions;
  /** Ascending by index. */
  #owed: Debt[] = [];
  #isRunning = false;

  constructor(options: LogCompactionOptions) {
    this.#options = options;
    this.owe(options.forgetLogTo);
  }

  /** How many entries are still in the log that an erasure has to drop. */
  get owedEntries(): number {
    return Math.max(0, (this.#owed.at(-1)?.index ?? 0) - this.#options.sizes.compactedTo);
  }

  /** Whether a sweep has anything to do. */
  get isOwing(): boolean {
    return this.#owed.length > 0;
  }

  /** How much the log holds. */
  get held(): { readonly entries: number; readonly bytes: number } {
    const { entries, bytes } = this.#options.sizes;
    return { entries, bytes };
  }

  /** These entries are being appended to the log. */
  onArrived(entries: readonly Entry[]): void {
    this.#options.sizes.append(entries);
  }

  onApplied(index: RaftIndex): void {
    const { sizes, entriesKept, bytesKept } = this.#options;
    sizes.onApplied(index);
    const isOverEntries = index - entriesKept - sizes.compactedTo >= entriesKept * STEP;
    const isOverBytes = sizes.appliedBytes - bytesKept >= bytesKept * STEP;
    if (!(isOverEntries || isOverBytes) || this.#isRunning) return;
    const due = Math.max(index - entriesKept, sizes.cutFor(bytesKept));
    const upTo = Math.min(due, this.#bound());
    // What may be cut grows slowly here: many small cuts would each cost as much as a large one.
    if (upTo - sizes.compactedTo < (due - sizes.compactedTo) * STEP) return;
    this.#compact(upTo);
  }

  /** Something in this entry or before it was erased. */
  owe(index: RaftIndex): void {
    if (index > this.#options.sizes.compactedTo) this.#owed.push({ index, sinceMs: this.#options.clock.monotonicMs() });
  }

  /** Drops what is owed and can be dropped now. Called every few ms. */
  sweep(): void {
    if (this.#owed.length === 0) return;
    const { clock, node } = this.#options;
    const { role, progress } = node.status();
    const bound = this.#bound();
    // Only a leader sends entries.
    const needed = role === "leader" ? [...progress.values()].map(({ match }) => match) : [];
    const heldByAll = Math.min(...needed);
    const overdueMs = clock.monotonicMs() - ERASURE_WAIT_MS_MAX;
    const due = this.#owed.findLast(
      ({ index, sinceMs }) => index <= bound && (index <= heldByAll || sinceMs <= overdueMs),
    );
    if (due !== undefined) this.#compact(due.index);
  }

  /** Nothing after this entry may be cut now. */
  #bound(): RaftIndex {
    const { node, tablesIndex, heldByEnough, pinnedIndex } = this.#options;
    // The engine learns of a chore of the apply lane only when all of it is done.
    const { applied } = node.basicStatus();
    return Math.min(applied, tablesIndex(), heldByEnough(), pinnedIndex() ?? Number.POSITIVE_INFINITY);
  }

  #compact(upTo: RaftIndex): void {
    const { log, sizes, onCompacted, onFailure } = this.#options;
    if (this.#isRunning || upTo <= sizes.compactedTo) return;
    this.#isRunning = true;
    log
      .compact(upTo)
      .then((point) => {
        this.#isRunning = false;
        sizes.forget(point.index);
        this.#owed = this.#owed.filter(({ index }) => index > point.index);
        onCompacted(point);
      })
      .catch(onFailure);
  }
}
