/** What the log of a database refuses: when it is loaded, when entries are appended, and when they are read. */
import { StoreError } from "@event-anchoring/store";
import type { Entry, EntryId, HardState, RaftIndex, Term } from "raft-ts";
import type { LogRow } from "./database-image.ts";

/** What a scan of the log at its start finds. @returns the term of the last entry */
export function assertTermsAscend(compacted: EntryId, rows: readonly LogRow[]): Term {
  let last = compacted.term;
  for (const { entry } of rows) {
    if (entry.term < last) {
      throw new StoreError("corrupt", `log row ${entry.index} is of term ${entry.term}, after term ${last}`);
    }
    last = entry.term;
  }
  return last;
}

export function assertHardState(state: Pick<HardState, "term" | "vote"> | null, lastTerm: Term): void {
  if (state === null && lastTerm > 0) throw new StoreError("corrupt", "there is a log, but no term and vote");
  if (state !== null && state.term < lastTerm) {
    throw new StoreError("corrupt", `the log has term ${lastTerm}, term and vote are of ${state.term}`);
  }
}

/** @param committed nothing up to here may be replaced */
export function assertFollows(entries: readonly Entry[], lastIndex: RaftIndex, committed: RaftIndex): void {
  const first = entries[0]?.index;
  if (first === undefined) return;
  if (first > lastIndex + 1) throw new StoreError("out_of_order", `entry ${first} does not follow ${lastIndex}`);
  if (first <= committed) throw new StoreError("out_of_order", `entry ${first} would replace what is committed`);
  entries.forEach(({ index }, at) => {
    if (index !== first + at) throw new StoreError("out_of_order", `entry ${index} where ${first + at} was due`);
  });
}

export interface RowRange {
  readonly from: RaftIndex;
  /** Not included. */
  readonly to: RaftIndex;
  readonly maxBytes: number;
}

/** @param compacted the rows follow this index */
export function readRows(rows: readonly LogRow[], compacted: RaftIndex, { from, to, maxBytes }: RowRange): Entry[] {
  if (from <= compacted || from >= to || to > compacted + rows.length + 1) {
    throw new StoreError("out_of_order", `entries ${from} to ${to} are not in the log`);
  }
  const found: Entry[] = [];
  let bytes = 0;
  for (const row of rows.slice(from - compacted - 1, to - compacted - 1)) {
    bytes += row.entry.payload.length;
    if (found.length > 0 && bytes > maxBytes) break;
    if (row.isCorrupt) throw new StoreError("corrupt", `log row ${row.entry.index} does not match its checksum`);
    found.push(row.entry);
  }
  return found;
}
