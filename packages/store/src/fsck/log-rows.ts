/** The raft log of the node: row by row, and compared with what the ledger has decided. */
import { LIMITS, LedgerHaltError, decodeEntry, encodeGroupId } from "@event-anchoring/ledger";
import type { Entry, RuleTable } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { compactionChecksum, hardStateChecksum, logRowChecksum, raftIdFromSigned } from "../log/raft-codec.ts";
import type { Findings, RowName } from "./findings.ts";
import { isSame, show } from "./findings.ts";
import type { LedgerEnds } from "./small-tables.ts";
import type { RaftIndex, Term } from "raft-ts";

const GROUP_ID_BYTES = 24;
const NORMAL = 0;

/** How much one step reads. */
export interface StepBounds {
  /** Leaves, claims, grants or log entries. */
  readonly rowsMax: number;
  /** Payload bytes of log entries; at least one entry is read. */
  readonly logBytesMax: number;
}

interface Point {
  readonly index: RaftIndex;
  readonly term: Term;
}

interface WalkedLogRow extends Point {
  readonly type: number;
  readonly commit_hint: number;
  readonly payload: Uint8Array;
  readonly checksum: Uint8Array;
}

const ROWS = {
  name: "fsck_log",
  text: `SELECT index, term, type, commit_hint, payload, checksum FROM (
      SELECT *, sum(octet_length(payload)) OVER (ORDER BY index) AS bytes_so_far FROM (
        SELECT * FROM node.raft_log WHERE index >= $1 ORDER BY index LIMIT $2
      ) AS asked
    ) AS range WHERE index <= $1 + 1 OR bytes_so_far <= $3 ORDER BY index`,
};

function logRow(index: RaftIndex): RowName {
  return { table: "node.raft_log", key: `index ${index}`, at: index };
}

async function judgeHardState(session: Reader, lastTerm: Term, findings: Findings): Promise<void> {
  const name: RowName = { table: "node.raft_state", key: "the only row", at: Number.MAX_SAFE_INTEGER };
  const [row] = await session.read<{ term: Term; vote: string; checksum: Uint8Array }>({
    name: "fsck_hard_state",
    text: "SELECT term, vote::text AS vote, checksum FROM node.raft_state",
  });
  if (row === undefined) {
    if (lastTerm > 0) findings.add(name, null, "missing", `term and vote of a log that reaches term ${lastTerm}`);
    return;
  }
  const derived = hardStateChecksum({ term: row.term, vote: raftIdFromSigned(row.vote) });
  findings.compare(name, { checksum: row.checksum }, { checksum: derived });
  if (row.term < lastTerm) findings.add(name, "term", String(row.term), `${lastTerm} or higher, as the log's end`);
}

async function judgeCompaction(session: Reader, ends: LedgerEnds, findings: Findings): Promise<Point> {
  const name: RowName = { table: "node.raft_compaction", key: "the only row", at: 0 };
  const [row] = await session.read<Point & { readonly checksum: Uint8Array }>({
    name: "fsck_compaction",
    text: "SELECT index, term, checksum FROM node.raft_compaction",
  });
  if (row === undefined) return { index: 0, term: 0 };
  const { index, term, checksum } = row;
  findings.compare(name, { checksum }, { checksum: compactionChecksum(index, term) });
  if (index > ends.appliedIndex) {
    findings.add(name, "index", String(index), `${ends.appliedIndex} at most: entries go once they are applied`);
  }
  const strays = await session.read<{ index: RaftIndex }>(
    { name: "fsck_log_strays", text: "SELECT index FROM node.raft_log WHERE index <= $1 ORDER BY index LIMIT 100" },
    [index],
  );
  for (const stray of strays) findings.add(logRow(stray.index), null, "a row", `none up to ${index}`);
  return { index, term };
}

/** Walks the log. Between two steps the log may grow, or lose its end or its beginning. */
export class LogWalk {
  readonly #findings: Findings;
  readonly #ruleTable: RuleTable;
  /** The next index to be judged. */
  #next = 1;

  /** @param ruleTable the rules that the program that wrote the log can decide by */
  constructor(findings: Findings, ruleTable: RuleTable) {
    this.#findings = findings;
    this.#ruleTable = ruleTable;
  }

  get next(): number {
    return this.#next;
  }

  /**
   * @param ends of the snapshot that the session is in
   * @returns true: that was the end of the log
   */
  async step(session: Reader, { rowsMax, logBytesMax }: StepBounds, ends: LedgerEnds): Promise<boolean> {
    const compacted = await judgeCompaction(session, ends, this.#findings);
    // One row back: the next row and the one that it must follow are read in the same snapshot.
    const from = Math.max(this.#next - 1, compacted.index + 1);
    const rows = await session.read<WalkedLogRow>(ROWS, [from, rowsMax + 1, logBytesMax]);
    const isGoingOn = from < this.#next && rows[0]?.index === from;
    let before: Point = isGoingOn ? (rows[0] ?? compacted) : compacted;
    if (!isGoingOn && from < this.#next) {
      // The end that was judged has been replaced: starts from the beginning.
      this.#next = compacted.index + 1;
      return false;
    }
    const judged = isGoingOn ? rows.slice(1) : rows;
    for (const row of judged) {
      this.#judgeRow(row, before);
      before = row;
    }
    await this.#judgeDecided(session, judged, ends);
    this.#next = before.index + 1;
    if (judged.length > 0) return false;
    if (before.index < ends.appliedIndex) {
      const last = logRow(before.index + 1);
      this.#findings.add(last, null, "missing", `there: entries up to ${ends.appliedIndex} are applied`);
    }
    await judgeHardState(session, before.term, this.#findings);
    return true;
  }

  #judgeRow(row: WalkedLogRow, before: Point): void {
    const { index, term, type, payload, checksum, commit_hint: commitHint } = row;
    const name = logRow(index);
    this.#findings.checked.logRows += 1;
    if (index !== before.index + 1) {
      this.#findings.add(logRow(before.index + 1), null, "missing", `there, before row ${index}`);
    }
    if (term < before.term) this.#findings.add(name, "term", String(term), `${before.term} or higher`);
    const derived = logRowChecksum({ index, term, type, commitHint, payload });
    this.#findings.compare(name, { checksum }, { checksum: derived });
  }

  /** Entries that are applied: they decode, and their groups are in state.group_ids once. */
  async #judgeDecided(session: Reader, rows: readonly WalkedLogRow[], ends: LedgerEnds): Promise<void> {
    const last = rows.findLast(({ index }) => index <= ends.appliedIndex);
    const [first] = rows;
    if (first === undefined || last === undefined) return;
    this.#judgeAppliedTerm(rows, ends);
    const stored = await session.read<{ index: RaftIndex; groups: Uint8Array }>(
      { name: "fsck_groups", text: "SELECT index, groups FROM state.group_ids WHERE index >= $1 AND index <= $2" },
      [first.index, last.index],
    );
    const byIndex = new Map(stored.map(({ index, groups }) => [index, groups]));
    for (const row of rows) {
      if (row.type !== NORMAL || row.payload.length === 0) {
        if (byIndex.has(row.index)) this.#addGroups(row.index, byIndex.get(row.index), null);
        continue;
      }
      const entry = this.#decode(row);
      if (entry === null || row.index > ends.appliedIndex || row.index < ends.groupIdsFrom) continue;
      await this.#judgeGroups(session, { index: row.index, entry, stored: byIndex.get(row.index) ?? null }, ends);
    }
  }

  #judgeAppliedTerm(rows: readonly WalkedLogRow[], ends: LedgerEnds): void {
    const applied = rows.find(({ index }) => index === ends.appliedIndex);
    if (applied === undefined) return;
    const name: RowName = { table: "state.ledger", key: "the only row", at: applied.index };
    this.#findings.compare(name, { applied_term: ends.appliedTerm }, { applied_term: applied.term });
  }

  #decode({ index, payload }: WalkedLogRow): Entry | null {
    try {
      return decodeEntry(payload, this.#ruleTable);
    } catch (error) {
      if (!(error instanceof LedgerHaltError)) throw error;
      this.#findings.add(logRow(index), "payload", error.message, "an entry");
      return null;
    }
  }

  /** Every group that has not expired is decided by this entry, or was by an earlier one. */
  async #judgeGroups(
    session: Reader,
    { index, entry, stored }: { readonly index: RaftIndex; readonly entry: Entry; readonly stored: Uint8Array | null },
    ends: LedgerEnds,
  ): Promise<void> {
    const decided: Uint8Array[] = [];
    const seen = new Set<string>();
    const storedIds = new Set(idsOf(stored ?? new Uint8Array(0)));
    for (const { id, notAfter } of entry.groups) {
      const bytes = encodeGroupId(id);
      const hex = bytesToHex(bytes);
      if (seen.has(hex) || notAfter < index) continue;
      seen.add(hex);
      const isElsewhere = !storedIds.has(hex) && (await wasDecidedBefore(session, bytes, index, ends));
      if (!isElsewhere) decided.push(bytes);
    }
    const derived = decided.length === 0 ? null : Buffer.concat(decided);
    if (!isSame(stored, derived === null ? null : Uint8Array.from(derived))) {
      this.#addGroups(index, stored ?? undefined, derived);
    }
  }

  #addGroups(index: RaftIndex, stored: Uint8Array | undefined, derived: Uint8Array | null): void {
    const name: RowName = { table: "state.group_ids", key: `index ${index}`, at: index };
    this.#findings.add(name, "groups", show(stored ?? null), show(derived));
  }
}

function idsOf(groups: Uint8Array): readonly string[] {
  const ids: string[] = [];
  for (let at = 0; at < groups.length; at += GROUP_ID_BYTES)
    ids.push(bytesToHex(groups.subarray(at, at + GROUP_ID_BYTES)));
  return ids;
}

/** Also true if it may have been: ids of older decided groups are no longer kept. */
async function wasDecidedBefore(session: Reader, id: Uint8Array, index: RaftIndex, ends: LedgerEnds): Promise<boolean> {
  if (ends.groupIdsFrom > 0 && index - LIMITS.groupIdEntriesKept < ends.groupIdsFrom) return true;
  const rows = await session.read(
    {
      name: "fsck_group_before",
      text: "SELECT 1 FROM state.group_ids WHERE index < $1 AND position($2::bytea in groups) > 0 LIMIT 1",
    },
    [index, id],
  );
  return rows.length > 0;
}
