import type { Entry, EntryId, HardState, RaftId, RaftIndex, Term } from "raft-ts";
import { bigintArray, byteaArray, smallintArray } from "../postgres/binary-array.ts";
import { Connection } from "../postgres/connection.ts";
import type { Parameter, Session, Statement } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { RAFT_LOG_LOCK } from "../postgres/locks.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { loadRaftLog, readEntries } from "./raft-log-reads.ts";
import type { LoadedRaftLog } from "./raft-log-reads.ts";
import { compactionChecksum, hardStateChecksum, logRowChecksum, raftIdToSigned, typeToNumber } from "./raft-codec.ts";
import { assertSafeSettings } from "../postgres/settings.ts";

/** For operators; never part of a decision. */
export type StoreLogger = (level: "debug" | "info" | "warning" | "error", text: string) => void;

export interface RaftLogOptions {
  readonly url: string;
  /** How long to wait for an earlier session to leave. Default 10,000. */
  readonly lockTimeoutMs?: number;
  readonly logger?: StoreLogger;
}

export interface AppendRequest {
  /** Contiguous; they replace everything from the first of them on. May be empty. */
  readonly entries: readonly Entry[];
  /** null: unchanged. Its commit index is stored only as a hint, see `commit`. */
  readonly hardState: HardState | null;
  /**
   * Commit index known now: kept with each row as a hint, so that a restart knows what was committed. It is capped at
   * the last entry of this append, because later ones are not durable yet.
   */
  readonly commit: RaftIndex;
}

export interface AppendResult {
  /** A WAL position that is flushed; it never goes back unless the database did. */
  readonly walPosition: bigint;
}

/** Rows one statement deletes when the log is compacted: an append waits a few milliseconds at most. */
const COMPACT_ROWS_MAX = 1_000;

const WAL_SQL = "(pg_current_wal_insert_lsn() - '0/0')::bigint::text AS wal";

const INSERT_ENTRIES_SQL = `
  INSERT INTO node.raft_log (index, term, type, commit_hint, payload, checksum)
  SELECT i, t, y, $1, p, c
  FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bytea[], $6::bytea[]) AS r (i, t, y, p, c)
  RETURNING 1`;

/** One entry is the usual case. Its row is in the tables and in the WAL before RETURNING is computed. */
const APPEND_ENTRY = {
  name: "raft_append_entry",
  text: `INSERT INTO node.raft_log (index, term, type, commit_hint, payload, checksum) VALUES ($1, $2, $3, $4, $5, $6)
    RETURNING 1 AS written, ${WAL_SQL}`,
};

function writeStateSql(first: number): string {
  return `
  INSERT INTO node.raft_state (term, vote, checksum) VALUES ($${first}, $${first + 1}, $${first + 2})
  ON CONFLICT (only_row) DO UPDATE SET term = excluded.term, vote = excluded.vote, checksum = excluded.checksum
  RETURNING 1`;
}

/** The count is what makes the server finish the insert before it looks at its WAL position. */
const APPEND_ENTRIES = {
  name: "raft_append",
  text: `WITH inserted AS (${INSERT_ENTRIES_SQL}) SELECT count(*) AS written, ${WAL_SQL} FROM inserted`,
};

const APPEND_STATE = {
  name: "raft_append_state",
  text: `WITH written AS (${writeStateSql(1)}) SELECT count(*) AS written, ${WAL_SQL} FROM written`,
};

const APPEND_BOTH = {
  name: "raft_append_both",
  text: `WITH inserted AS (${INSERT_ENTRIES_SQL}), stated AS (${writeStateSql(7)})
    SELECT (SELECT count(*) FROM inserted) + (SELECT count(*) FROM stated) AS written, ${WAL_SQL}`,
};

/**
 * The durable raft log and hard state of one node. `append` resolves when what it wrote survives a crash of this
 * machine. One append at a time; one process at a time: opening waits until an earlier session has ended, so no write
 * whose outcome that session left unknown can be committed after `load`.
 *
 * After `unknown_outcome`, and after the connection was lost, every call fails: open anew and load.
 */
export class RaftLog {
  readonly #writer: Connection;
  readonly #reader: Connection;
  #compacted: EntryId = { index: 0, term: 0 };
  #lastIndex: RaftIndex = 0;
  /** Highest commit index in a stored row: entries below it are never replaced. */
  #commitHint: RaftIndex = 0;
  #term: Term = 0;
  #vote: RaftId = 0n;
  #walPosition = 0n;
  #isLoaded = false;
  #isUnknown = false;
  #isLostTold = false;

  private constructor(writer: Connection, reader: Connection) {
    this.#writer = writer;
    this.#reader = reader;
  }

  /**
   * Opens two sessions: one that writes, one for range reads, so that catching a peer up delays no append.
   * @throws StoreError `unavailable`, `schema`, `unsafe_settings`, `locked`
   */
  static async open(options: RaftLogOptions): Promise<RaftLog> {
    const { url } = options;
    const writer = await Connection.open({ url, name: "event-anchoring raft log" });
    try {
      await assertMigrated(writer);
      await assertSafeSettings(writer, true);
      // From here on a reload of the server's configuration cannot change it for this session.
      await writer.write({ text: "SET synchronous_commit = on" });
      await writer.lock(RAFT_LOG_LOCK, options.lockTimeoutMs);
      const reader = await Connection.open({
        url,
        name: "event-anchoring raft log reads",
        settings: { default_transaction_read_only: "on" },
      });
      options.logger?.("debug", "raft log opened");
      return new RaftLog(writer, reader);
    } catch (cause) {
      await writer.close();
      throw cause;
    }
  }

  /** Called at most once, when either session is lost; never because of close(). */
  onLost(handler: (cause: Error) => void): void {
    const once = (cause: Error): void => {
      if (this.#isLostTold) return;
      this.#isLostTold = true;
      handler(cause);
    };
    this.#writer.onLost(once);
    this.#reader.onLost(once);
  }

  /** @throws StoreError `unsafe_settings`: a reload of the server's configuration may have changed them */
  async assertSafeSettings(): Promise<void> {
    await assertSafeSettings(this.#reader, false);
  }

  /**
   * Everything a node must remember, each row checked. To be called once, before anything else.
   * @throws StoreError `corrupt` for a bad checksum, a gap, a term that goes back, or a missing hard state
   */
  async load(): Promise<LoadedRaftLog> {
    const loaded = await this.#writer.transaction(loadRaftLog, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    this.#compacted = loaded.compacted;
    this.#lastIndex = loaded.entries.at(-1)?.index ?? loaded.compacted.index;
    this.#commitHint = loaded.commitHint;
    this.#term = loaded.hardState?.term ?? 0;
    this.#vote = loaded.hardState?.vote ?? 0n;
    this.#walPosition = loaded.walFlushed;
    this.#isLoaded = true;
    return loaded;
  }

  /**
   * Makes entries and hard state durable together. One statement that commits by itself, unless a suffix is replaced.
   * Nothing to write (no entries, same term and vote) is no round trip.
   * @throws StoreError `unknown_outcome`; `out_of_order` for a gap, or for replacing what is known to be committed;
   *   `full` and `unavailable`, after which nothing was written
   */
  async append(request: AppendRequest): Promise<AppendResult> {
    this.#assertUsable();
    const { entries } = request;
    const hardState = this.#changedHardState(request.hardState);
    const first = entries[0];
    if (first === undefined && hardState === null) return { walPosition: this.#walPosition };
    this.#assertFollows(entries);
    const replacesSuffix = first !== undefined && first.index <= this.#lastIndex;
    this.#walPosition = await this.#noteUnknown(() =>
      replacesSuffix
        ? this.#replaceSuffix(first.index, request, hardState)
        : writeAppend(this.#writer, request, hardState),
    );
    if (hardState !== null) {
      this.#term = hardState.term;
      this.#vote = hardState.vote;
    }
    const last = entries.at(-1);
    if (last !== undefined) {
      this.#lastIndex = last.index;
      this.#commitHint = Math.max(this.#commitHint, Math.min(request.commit, last.index));
    }
    return { walPosition: this.#walPosition };
  }

  #changedHardState(hardState: HardState | null): HardState | null {
    if (hardState === null) return null;
    if (hardState.term < this.#term) {
      throw new StoreError("out_of_order", `term ${hardState.term} after term ${this.#term}`);
    }
    return hardState.term === this.#term && hardState.vote === this.#vote ? null : hardState;
  }

  #assertUsable(): void {
    if (!this.#isLoaded) throw new StoreError("out_of_order", "the raft log was not loaded");
    if (this.#isUnknown) {
      throw new StoreError("unavailable", "an earlier write has an unknown outcome: open the log anew");
    }
  }

  #assertFollows(entries: readonly Entry[]): void {
    let expected = entries[0]?.index ?? 0;
    if (expected > this.#lastIndex + 1) {
      throw new StoreError("out_of_order", `entry ${expected} does not follow ${this.#lastIndex}`);
    }
    const floor = Math.max(this.#compacted.index, this.#commitHint);
    if (entries.length > 0 && expected <= floor) {
      throw new StoreError("out_of_order", `entry ${expected} would replace what is committed up to ${floor}`);
    }
    for (const { index } of entries) {
      if (index !== expected) throw new StoreError("out_of_order", `entry ${index} where ${expected} was due`);
      expected += 1;
    }
  }

  /** Delete, then insert: an upsert would leave the tail of a dead leader's entries behind ours. */
  async #replaceSuffix(first: RaftIndex, request: AppendRequest, hardState: HardState | null): Promise<bigint> {
    return this.#writer.transaction(async (session) => {
      await session.write({ name: "raft_truncate", text: "DELETE FROM node.raft_log WHERE index >= $1" }, [first]);
      return writeAppend(session, request, hardState);
    });
  }

  async #noteUnknown<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof StoreError && cause.code === "unknown_outcome") this.#isUnknown = true;
      throw cause;
    }
  }

  /**
   * Entries of [from, to) in order, as many as fit into `maxBytes` of payload, but always at least one. Each is
   * checked against its checksum.
   * @throws StoreError `out_of_order` if `from` is compacted away or not stored yet, `corrupt`
   */
  async read(from: RaftIndex, to: RaftIndex, maxBytes: number): Promise<Entry[]> {
    this.#assertUsable();
    if (from <= this.#compacted.index || from >= to || to > this.#lastIndex + 1) {
      throw new StoreError(
        "out_of_order",
        `entries ${from} to ${to} are not in the log (${this.#compacted.index + 1} to ${this.#lastIndex})`,
      );
    }
    return readEntries(this.#reader, from, to, maxBytes);
  }

  /**
   * Forgets entries up to and including `upTo`, in steps, each durable before the next. Fewer than asked may be gone if
   * it fails. Entries that are already gone are not an error.
   * @throws StoreError `out_of_order` if the ledger has not applied `upTo`, or the log does not hold it
   */
  async compact(upTo: RaftIndex): Promise<EntryId> {
    this.#assertUsable();
    if (upTo > this.#lastIndex) {
      throw new StoreError("out_of_order", `cannot compact to ${upTo}: the log ends at ${this.#lastIndex}`);
    }
    while (this.#compacted.index < upTo) {
      const point = Math.min(upTo, this.#compacted.index + COMPACT_ROWS_MAX);
      this.#compacted = await this.#noteUnknown(() => this.#writer.transaction((session) => compactTo(session, point)));
    }
    return this.#compacted;
  }

  /**
   * Empties the log and lets it begin after `point`, where an installed snapshot ends.
   * @throws StoreError `out_of_order` unless the ledger has applied it
   */
  async reset(point: EntryId): Promise<void> {
    this.#assertUsable();
    await this.#noteUnknown(() =>
      this.#writer.transaction(async (session) => {
        await assertApplied(session, point.index);
        await resetRaftLog(session, point);
      }),
    );
    this.#compacted = { index: point.index, term: point.term };
    this.#lastIndex = point.index;
    this.#commitHint = point.index;
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#reader.close();
  }
}

function rowChecksum(entry: Entry, commitHint: RaftIndex): Uint8Array {
  const { index, term, payload } = entry;
  return logRowChecksum({ index, term, type: typeToNumber(entry.type), commitHint, payload });
}

function entryParameters(entry: Entry, commit: RaftIndex): Parameter[] {
  const { index, term, type, payload } = entry;
  const commitHint = Math.min(commit, index);
  return [index, term, typeToNumber(type), commitHint, payload, rowChecksum(entry, commitHint)];
}

function entriesParameters(entries: readonly Entry[], commit: RaftIndex): Parameter[] {
  const commitHint = Math.min(commit, entries.at(-1)?.index ?? 0);
  return [
    commitHint,
    bigintArray(entries.map(({ index }) => index)),
    bigintArray(entries.map(({ term }) => term)),
    smallintArray(entries.map(({ type }) => typeToNumber(type))),
    byteaArray(entries.map(({ payload }) => payload)),
    byteaArray(entries.map((entry) => rowChecksum(entry, commitHint))),
  ];
}

function stateParameters(state: HardState): Parameter[] {
  return [state.term, raftIdToSigned(state.vote), hardStateChecksum(state)];
}

type AppendStatement = readonly [statement: Required<Statement>, values: readonly Parameter[]];

function appendStatement({ entries, commit }: AppendRequest, hardState: HardState | null): AppendStatement {
  const [entry] = entries;
  if (hardState === null && entry !== undefined && entries.length === 1) {
    return [APPEND_ENTRY, entryParameters(entry, commit)];
  }
  if (hardState === null) return [APPEND_ENTRIES, entriesParameters(entries, commit)];
  if (entry === undefined) return [APPEND_STATE, stateParameters(hardState)];
  return [APPEND_BOTH, [...entriesParameters(entries, commit), ...stateParameters(hardState)]];
}

/** @returns the WAL position behind what was written */
async function writeAppend(session: Session, request: AppendRequest, hardState: HardState | null): Promise<bigint> {
  const row = await session.writeLane(...appendStatement(request, hardState));
  const [written, wal] = row ?? [];
  const expected = request.entries.length + (hardState === null ? 0 : 1);
  if (Number(written) !== expected || !wal) {
    throw new StoreError("unknown_outcome", `an append of ${expected} rows wrote ${written ?? 0}`);
  }
  return BigInt(wal);
}

const WRITE_COMPACTION = {
  text: `INSERT INTO node.raft_compaction (index, term, checksum) VALUES ($1, $2, $3)
    ON CONFLICT (only_row) DO UPDATE SET index = excluded.index, term = excluded.term, checksum = excluded.checksum`,
};

async function assertApplied(session: Session, point: RaftIndex): Promise<void> {
  const applied = await session.read<{ applied_index: number }>({
    text: "SELECT applied_index FROM state.ledger",
  });
  const appliedIndex = applied[0]?.applied_index ?? 0;
  if (appliedIndex < point) {
    throw new StoreError("out_of_order", `the log cannot begin after ${point}: applied is ${appliedIndex}`);
  }
}

async function compactTo(session: Session, point: RaftIndex): Promise<EntryId> {
  await assertApplied(session, point);
  const [entry] = await readEntries(session, point, point + 1, Number.MAX_SAFE_INTEGER);
  if (entry === undefined) throw new StoreError("corrupt", `log row ${point} is missing`);
  await session.write({ text: "DELETE FROM node.raft_log WHERE index <= $1" }, [point]);
  await session.write(WRITE_COMPACTION, [point, entry.term, compactionChecksum(point, entry.term)]);
  return { index: point, term: entry.term };
}

/** Empties the log and sets its compaction point to a snapshot's. */
export async function resetRaftLog(session: Session, point: EntryId): Promise<void> {
  const { index, term } = point;
  const checksum = compactionChecksum(index, term);
  await session.write({ text: "DELETE FROM node.raft_log" });
  await session.write(WRITE_COMPACTION, [index, term, checksum]);
}

/** Writes term and vote within another transaction. */
export async function writeHardState(session: Session, hardState: HardState): Promise<void> {
  await session.write({ text: writeStateSql(1) }, stateParameters(hardState));
}
