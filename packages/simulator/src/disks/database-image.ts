import type { EntryDecision } from "@event-anchoring/ledger";
import { type Identity, StoreError } from "@event-anchoring/store";
import type { ConfState, Entry, EntryId, HardState, RaftIndex } from "raft-ts";
import type { Bugs } from "../planted/planted-bugs.ts";
import type { Seeded } from "../world/seeded.ts";
import type { World } from "../world/world.ts";

export interface LogRow {
  readonly entry: Entry;
  readonly commitHint: RaftIndex;
  isCorrupt: boolean;
}

export interface AppliedRow {
  readonly decision: EntryDecision;
  readonly confState: ConfState | null;
}

/** What a database holds. Values are never changed in place, so a copy of the lists is a backup. */
export interface DatabaseImage {
  readonly rows: readonly LogRow[];
  readonly compacted: EntryId;
  readonly hardState: Pick<HardState, "term" | "vote"> | null;
  readonly identity: Identity | null;
  readonly applied: readonly AppliedRow[];
  readonly wal: bigint;
}

export interface DatabaseWatcher {
  /** These are durable from now on. */
  onDurable(entries: readonly Entry[], hardState: HardState | null): void;
  /** This is on its way into the tables: whoever waits for it may be answered. */
  onDecided(decision: EntryDecision, confState: ConfState | null): void;
}

export interface SimulatedDatabaseOptions {
  readonly world: World;
  readonly random: Seeded;
  readonly bugs: Bugs;
  readonly systemIdentifier: string;
  readonly watcher: DatabaseWatcher;
  /** For the bug that strikes one node alone. */
  readonly isFirst: boolean;
}

/** What the next write meets. */
export type WriteFault = "refused" | "lost_unknown" | "done_unknown";

export interface WriteUnderWay {
  /** What the statement does once it commits. */
  readonly commit: () => void;
  isOver: boolean;
}

export type Waiter<T> = { readonly resolve: (value: T) => void; readonly reject: (error: Error) => void };

export function answerOf<T>(commit: () => T, { resolve, reject }: Waiter<T>): () => void {
  try {
    const value = commit();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error instanceof Error ? error : new Error(String(error)));
  }
}

export function faultError(fault: WriteFault): StoreError {
  return fault === "refused"
    ? new StoreError("full", "no space left on device")
    : new StoreError("unknown_outcome", "the connection was lost at the commit");
}

/** What a scan of the log at its start finds. */
export function assertTermsAscend(compacted: EntryId, rows: readonly LogRow[]): void {
  let last = compacted.term;
  for (const { entry } of rows) {
    if (entry.term < last) {
      throw new StoreError("corrupt", `log row ${entry.index} is of term ${entry.term}, after term ${last}`);
    }
    last = entry.term;
  }
}
