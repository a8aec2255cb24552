import { isBefore } from "@event-anchoring/control-contract";
import type { AppendChore, Entry, EntryId, HardState, Message, RaftIndex, SnapshotMeta, Term } from "raft-ts";

/** The durable Raft log, as the append lane needs it. */
export interface AppendTarget {
  append(batch: {
    entries: readonly Entry[];
    hardState: HardState | null;
    commit: RaftIndex;
  }): Promise<{ walPosition: bigint }>;
}

export interface AppendLaneOptions {
  readonly log: AppendTarget;
  /** What the log holds at the start. */
  readonly hardState: HardState;
  /** The last entry of the log, as it was loaded; 0 and 0: it is empty. */
  readonly lastEntry: EntryId;
  /** Resolves once the promise file holds that the log may end there, lower in Raft's order than now. */
  readonly promiseRetreat: (end: EntryId) => Promise<void>;
  /** The promise file's part: resolves once a vote, or a term without one, is remembered outside the database. */
  readonly promiseVote: (vote: { term: Term; vote: bigint }) => Promise<void>;
  /** Entries and hard state are durable: tell the mirror, the cache and the promise file's bookkeeping. */
  readonly onDurable: (done: { entries: readonly Entry[]; lastAppend: EntryId | null; walPosition: bigint }) => void;
  /** Responses, in order, once all before them is durable. */
  readonly onResponses: (messages: readonly Message[]) => void;
  /** The leader's log starts after ours ends: state must be fetched. Nothing later in this lane is executed. */
  readonly onSnapshot: (meta: SnapshotMeta) => void;
  /** The log cannot be written: the session is over. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The append lane: first in, first out, and nothing in it is skipped.
 *
 * Invariant: a response leaves only when its chore *and every earlier one* is durable; a vote, in addition, only when
 * the promise file remembers it. All chores that wait are written in one transaction.
 */
export class AppendLane {
  readonly #options: AppendLaneOptions;
  #waiting: AppendChore[] = [];
  #running: Promise<void> | null = null;
  #isStopped = false;
  #term: Term;
  #vote: bigint;
  #commit: RaftIndex;
  #last: EntryId;

  constructor(options: AppendLaneOptions) {
    this.#options = options;
    this.#term = options.hardState.term;
    this.#vote = options.hardState.vote;
    this.#commit = options.hardState.commit;
    this.#last = options.lastEntry;
  }

  push(chore: AppendChore): void {
    if (this.#isStopped) return;
    this.#waiting.push(chore);
    this.#running ??= this.#run();
  }

  /** Nothing further is written or answered. An append that is under way ends by itself, unanswered. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting = [];
  }

  /** After `stop`: resolves when the write that was under way has ended. */
  async drained(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && !this.#isStopped) await this.#writeWaiting();
    } catch (error) {
      if (!this.#isStopped) this.#options.onFailure(error);
      this.stop();
    } finally {
      this.#running = null;
    }
  }

  async #writeWaiting(): Promise<void> {
    const chores = this.#waiting;
    this.#waiting = [];
    const snapshotAt = chores.findIndex((chore) => chore.snapshot !== null);
    const writable = snapshotAt < 0 ? chores : chores.slice(0, snapshotAt);
    if (writable.length > 0) await this.#write(writable);
    const snapshot = snapshotAt < 0 ? null : chores[snapshotAt]?.snapshot;
    if (snapshot && !this.#isStopped) {
      this.stop();
      this.#options.onSnapshot(snapshot);
    }
  }

  async #write(chores: readonly AppendChore[]): Promise<void> {
    const entries = mergedEntries(chores);
    const hardState = lastHardState(chores);
    const isPromise = hardState !== null && (hardState.term !== this.#term || hardState.vote !== this.#vote);
    this.#commit = Math.max(this.#commit, hardState?.commit ?? 0);
    const end = entries.at(-1);
    const lastAppend = end === undefined ? null : { index: end.index, term: end.term };
    if (lastAppend !== null && isBefore(lastAppend, this.#last)) await this.#options.promiseRetreat(lastAppend);
    if (entries.length > 0 || isPromise) {
      const { walPosition } = await this.#options.log.append({
        entries,
        hardState: isPromise ? hardState : null,
        commit: this.#commit,
      });
      if (this.#isStopped) return;
      this.#last = lastAppend ?? this.#last;
      this.#options.onDurable({ entries, lastAppend, walPosition });
    }
    if (isPromise) {
      await this.#options.promiseVote({ term: hardState.term, vote: hardState.vote });
      this.#term = hardState.term;
      this.#vote = hardState.vote;
    }
    if (!this.#isStopped) this.#options.onResponses(chores.flatMap(({ responses }) => responses));
  }
}

/** What remains of several appends in a row: a later one replaces everything from its first index on. */
function mergedEntries(chores: readonly AppendChore[]): readonly Entry[] {
  let merged: Entry[] = [];
  for (const { entries } of chores) {
    const first = entries[0];
    if (first === undefined) continue;
    if (merged.length > 0) merged = merged.filter((entry) => entry.index < first.index);
    merged = merged.length === 0 ? [...entries] : merged.concat(entries);
  }
  return merged;
}

function lastHardState(chores: readonly AppendChore[]): HardState | null {
  for (let at = chores.length - 1; at >= 0; at--) {
    const hardState = chores[at]?.hardState ?? null;
    if (hardState !== null) return hardState;
  }
  return null;
}
