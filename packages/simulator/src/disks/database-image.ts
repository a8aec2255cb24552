import type { EntryDecision } from "@event-anchoring/ledger";
import type { Identity, Restoration } from "@event-anchoring/store";
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
  /** Names of certificates that were deleted. */
  readonly thinned: ReadonlySet<string>;
  /** Which backup the database began from; absent or null: none. */
  readonly restoration?: Restoration | null;
}

/** The last entry of its log. */
export function endOf({ rows, compacted }: Pick<DatabaseImage, "rows" | "compacted">): EntryId {
  return rows.at(-1)?.entry ?? compacted;
}

export interface DatabaseWatcher {
  /** These are durable from now on. */
  onDurable(entries: readonly Entry[], hardState: HardState | null): void;
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
