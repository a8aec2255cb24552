/** state.ledger: the single row that holds how far the log is applied. */
import { createHash } from "node:crypto";
import { ByteWriter, equalBytes } from "@event-anchoring/protocol";
import { numbered } from "../postgres/composed-statement.ts";
import type { Parameter, Reader, Session } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { GuardedStatement } from "./guarded-statement.ts";
import { bigint, bytea, selectOf, smallint } from "./table.ts";
import type { Columns } from "./table.ts";
import type { RaftIndex, Term } from "raft-ts";

export interface LedgerRow {
  readonly appliedIndex: RaftIndex;
  readonly appliedTerm: Term;
  readonly effect: Uint8Array;
  readonly nextSequence: number;
  readonly lastAcceptedMs: number;
  readonly groupIdsFrom: number;
  /** The log must not keep this entry, nor any before it; 0: none. */
  readonly forgetLogTo: RaftIndex;
  /** Encoded; null: none yet. */
  readonly confState: Uint8Array | null;
  /** The rules by which the next entry is decided. */
  readonly rules: number;
  /** Time of the newest entry, Unix milliseconds: no later one is accepted before it. */
  readonly stampMs: number;
  /** Root of the state tree, 32 bytes. */
  readonly stateRoot: Uint8Array;
  /** Running hashes, 32 bytes each. */
  readonly groupIdsHash: Uint8Array;
  readonly clientEventsHash: Uint8Array;
}

const COLUMNS: Columns<LedgerRow & { readonly checksum: Uint8Array }> = {
  appliedIndex: bigint("applied_index"),
  appliedTerm: bigint("applied_term"),
  effect: bytea("effect"),
  nextSequence: bigint("next_sequence"),
  lastAcceptedMs: bigint("last_accepted_ms"),
  groupIdsFrom: bigint("group_ids_from"),
  forgetLogTo: bigint("forget_log_to"),
  confState: bytea("conf_state"),
  rules: smallint("rules"),
  stampMs: bigint("stamp_ms"),
  stateRoot: bytea("state_root"),
  groupIdsHash: bytea("group_ids_hash"),
  clientEventsHash: bytea("client_events_hash"),
  checksum: bytea("checksum"),
};

const FIELDS = Object.keys(COLUMNS) as readonly (keyof typeof COLUMNS)[];

const UPDATE = `UPDATE state.ledger SET ${FIELDS.map((field) => `${COLUMNS[field].name} = ?`).join(", ")}`;

const UPDATE_AFTER = { name: "ledger", sql: `${UPDATE} WHERE ${COLUMNS.appliedIndex.name} = ? RETURNING 1` };

const UNGUARDED = { name: "unguarded", sql: "SELECT 1" };

/** SHA-256 over the columns in the order of the table; conf_state as 0x00 if null, else 0x01 and its bytes. */
export function ledgerRowChecksum(row: LedgerRow): Uint8Array {
  const writer = new ByteWriter(200)
    .u64(row.appliedIndex)
    .u64(row.appliedTerm)
    .bytes(row.effect, 32)
    .u64(row.nextSequence)
    .u64(row.lastAcceptedMs)
    .u16(row.rules)
    .u64(row.stampMs)
    .u64(row.groupIdsFrom)
    .u64(row.forgetLogTo)
    .bytes(row.stateRoot, 32)
    .bytes(row.groupIdsHash, 32)
    .bytes(row.clientEventsHash, 32)
    .u8(row.confState === null ? 0 : 1);
  const hash = createHash("sha256").update(writer.finish());
  if (row.confState !== null) hash.update(row.confState);
  return hash.digest();
}

function valuesOf(row: LedgerRow): Parameter[] {
  const whole = { ...row, checksum: ledgerRowChecksum(row) };
  return FIELDS.map((field) => whole[field]);
}

/** A statement that writes only if the ledger is where it should be. @param before the row as it must be stored now */
export function statementAfter(before: LedgerRow, row: LedgerRow): GuardedStatement {
  return new GuardedStatement(UPDATE_AFTER, [...valuesOf(row), before.appliedIndex]);
}

/** For a transaction that writes the row of the ledger itself. */
export function unguardedStatement(): GuardedStatement {
  return new GuardedStatement(UNGUARDED, []);
}

export async function updateLedgerRow(session: Session, row: LedgerRow): Promise<void> {
  await session.write({ text: numbered(UPDATE) }, valuesOf(row));
}

/** @throws StoreError `corrupt` */
export async function loadLedgerRow(session: Reader): Promise<LedgerRow> {
  const [found] = await session.read<LedgerRow & { readonly checksum: Uint8Array }>({
    text: `SELECT ${selectOf("l", COLUMNS)} FROM state.ledger l`,
  });
  if (found === undefined) throw new StoreError("corrupt", "the row of the ledger is missing");
  const { checksum, ...row } = found;
  if (!equalBytes(checksum, ledgerRowChecksum(row))) {
    throw new StoreError("corrupt", "the row of the ledger does not match its checksum");
  }
  return row;
}
