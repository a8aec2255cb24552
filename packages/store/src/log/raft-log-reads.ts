import { equalBytes } from "@event-anchoring/protocol";
import type { Entry, EntryId, EntryMeta, HardState, RaftIndex, Term } from "raft-ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import {
  LOG_ROW_CHECKSUM_SQL,
  compactionChecksum,
  hardStateChecksum,
  logRowChecksum,
  raftIdFromSigned,
  typeFromNumber,
} from "./raft-codec.ts";

/** What a node remembers when it starts. */
export interface LoadedRaftLog {
  /** Its commit is `commitHint`. null: this node has never taken part in a group. */
  readonly hardState: HardState | null;
  /** The last entry that the log no longer holds; (0, 0) if it is whole. */
  readonly compacted: EntryId;
  /** Every entry after `compacted`, contiguous. */
  readonly entries: readonly EntryMeta[];
  /** The highest commit index in any row, at least `compacted.index`. */
  readonly commitHint: RaftIndex;
  /** Changes when the database is replaced by another one. */
  readonly systemIdentifier: string;
  readonly timeline: number;
  /** WAL position that was flushed when this was loaded. */
  readonly walFlushed: bigint;
}

/** Rows checked by one statement of the scan. */
const SCAN_ROWS = 20_000;

const SCAN = {
  text: `SELECT index, term, type, commit_hint, octet_length(payload) AS payload_bytes,
      checksum = ${LOG_ROW_CHECKSUM_SQL} AS is_intact
    FROM node.raft_log WHERE index > $1 ORDER BY index LIMIT ${SCAN_ROWS}`,
};

/** Upper bound of rows that one range read reads. */
const READ_ROWS_MAX = 4_096;

const READ_RANGE = {
  name: "raft_read",
  text: `SELECT index, term, type, commit_hint, payload, checksum FROM (
      SELECT *, sum(octet_length(payload)) OVER (ORDER BY index) AS bytes_so_far FROM node.raft_log
      WHERE index >= $1 AND index < least($2, $1 + ${READ_ROWS_MAX})
    ) AS range WHERE index = $1 OR bytes_so_far <= $3 ORDER BY index`,
};

interface ScanRow {
  readonly index: RaftIndex;
  readonly term: Term;
  readonly type: number;
  readonly commit_hint: number;
  readonly payload_bytes: number;
  readonly is_intact: boolean;
}

interface EntryRow {
  readonly index: RaftIndex;
  readonly term: Term;
  readonly type: number;
  readonly commit_hint: number;
  readonly payload: Uint8Array;
  readonly checksum: Uint8Array;
}

interface ServerRow {
  readonly system_identifier: string;
  readonly timeline: string;
  readonly wal_flushed: string;
}

/** @throws StoreError `corrupt`; null: there is no row */
export async function loadTermAndVote(session: Reader): Promise<Pick<HardState, "term" | "vote"> | null> {
  const rows = await session.read<{ term: Term; vote: string; checksum: Uint8Array }>({
    text: "SELECT term, vote::text AS vote, checksum FROM node.raft_state",
  });
  const row = rows[0];
  if (row === undefined) return null;
  const state = { term: row.term, vote: raftIdFromSigned(row.vote) };
  if (!equalBytes(row.checksum, hardStateChecksum(state))) {
    throw new StoreError("corrupt", "the row of term and vote does not match its checksum");
  }
  return state;
}

async function loadCompactionPoint(session: Reader): Promise<EntryId> {
  const rows = await session.read<{ index: RaftIndex; term: Term; checksum: Uint8Array }>({
    text: "SELECT index, term, checksum FROM node.raft_compaction",
  });
  const row = rows[0];
  if (row === undefined) return { index: 0, term: 0 };
  if (!equalBytes(row.checksum, compactionChecksum(row.index, row.term))) {
    throw new StoreError("corrupt", "the row of the compaction point does not match its checksum");
  }
  return { index: row.index, term: row.term };
}

/** Reads on from the compaction point; a gap, a term that goes back or a bad checksum is corruption. */
class LogScan {
  readonly entries: EntryMeta[] = [];
  commitHint: RaftIndex;
  #last: EntryId;

  constructor(compacted: EntryId) {
    this.#last = compacted;
    this.commitHint = compacted.index;
  }

  get lastIndex(): RaftIndex {
    return this.#last.index;
  }

  add(row: ScanRow): void {
    const { index, term } = row;
    if (!row.is_intact) throw new StoreError("corrupt", `log row ${index} does not match its checksum`);
    if (index !== this.#last.index + 1) {
      throw new StoreError("corrupt", `log row ${this.#last.index + 1} is missing before row ${index}`);
    }
    if (term < this.#last.term) {
      throw new StoreError("corrupt", `log row ${index} is of term ${term}, after term ${this.#last.term}`);
    }
    this.entries.push({ index, term, type: typeFromNumber(row.type), payloadBytes: row.payload_bytes });
    this.commitHint = Math.max(this.commitHint, row.commit_hint);
    this.#last = { index, term };
  }
}

function assertHardState(state: Pick<HardState, "term" | "vote"> | null, lastTerm: Term): void {
  if (state === null && lastTerm > 0) {
    throw new StoreError("corrupt", "there is a log, but no term and vote");
  }
  if (state !== null && state.term < lastTerm) {
    throw new StoreError("corrupt", `the log has term ${lastTerm}, term and vote are of ${state.term}`);
  }
}

/** @throws StoreError `corrupt` */
export async function loadRaftLog(session: Reader): Promise<LoadedRaftLog> {
  const state = await loadTermAndVote(session);
  const compacted = await loadCompactionPoint(session);
  const stray = await session.read<{ index: RaftIndex }>(
    { text: "SELECT index FROM node.raft_log WHERE index <= $1 LIMIT 1" },
    [compacted.index],
  );
  if (stray.length > 0) throw new StoreError("corrupt", "a log row lies before the compaction point");
  const scan = new LogScan(compacted);
  for (;;) {
    const rows = await session.read<ScanRow>(SCAN, [scan.lastIndex]);
    for (const row of rows) scan.add(row);
    if (rows.length < SCAN_ROWS) break;
  }
  assertHardState(state, scan.entries.at(-1)?.term ?? compacted.term);
  if (scan.commitHint > scan.lastIndex) {
    throw new StoreError("corrupt", `commit index ${scan.commitHint} is beyond the log's end ${scan.lastIndex}`);
  }
  const server = await loadServerRow(session);
  return {
    hardState: state === null ? null : { ...state, commit: scan.commitHint },
    compacted,
    entries: await withConfChangePayloads(session, scan.entries),
    commitHint: scan.commitHint,
    systemIdentifier: server.system_identifier,
    timeline: Number.parseInt(server.timeline, 16),
    walFlushed: BigInt(server.wal_flushed),
  };
}

/** The timeline is the first 8 hex digits of a WAL file's name. */
async function loadServerRow(session: Reader): Promise<ServerRow> {
  const rows = await session.read<ServerRow>({
    text: `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
      substring(pg_walfile_name(pg_current_wal_flush_lsn()) FOR 8) AS timeline,
      (pg_current_wal_flush_lsn() - '0/0')::bigint::text AS wal_flushed`,
  });
  const row = rows[0];
  if (row === undefined) throw new StoreError("unavailable", "the server does not say what it is");
  return row;
}

/** Conf changes are few, and the consensus engine needs their bytes. */
async function withConfChangePayloads(session: Reader, entries: readonly EntryMeta[]): Promise<EntryMeta[]> {
  const filled: EntryMeta[] = [];
  for (const entry of entries) {
    if (entry.type !== "conf_change") {
      filled.push(entry);
      continue;
    }
    const [whole] = await readEntries(session, entry.index, entry.index + 1, 0);
    filled.push(whole === undefined ? entry : { ...entry, payload: whole.payload });
  }
  return filled;
}

/**
 * Entries of [from, to), at least one, then as many as `maxBytes` of payload allow.
 * @throws StoreError `corrupt` for a missing row or one that does not match its checksum
 */
export async function readEntries(session: Reader, from: RaftIndex, to: RaftIndex, maxBytes: number): Promise<Entry[]> {
  const rows = await session.read<EntryRow>(READ_RANGE, [from, to, maxBytes]);
  if (rows.length === 0) throw new StoreError("corrupt", `log row ${from} is missing`);
  return rows.map((row, position) => {
    const { index, term, payload } = row;
    if (index !== from + position) {
      throw new StoreError("corrupt", `log row ${from + position} is missing before row ${index}`);
    }
    const checksum = logRowChecksum({ index, term, type: row.type, commitHint: row.commit_hint, payload });
    if (!equalBytes(row.checksum, checksum)) {
      throw new StoreError("corrupt", `log row ${index} does not match its checksum`);
    }
    return { index, term, type: typeFromNumber(row.type), payload };
  });
}
