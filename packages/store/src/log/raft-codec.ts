/** What the raft tables hold, in bytes: checksums over rows, and the membership. Local to this node's database. */
import { createHash } from "node:crypto";
import { ByteReader, ByteWriter, DecodeError } from "@event-anchoring/protocol";
import type { ConfState, EntryType, HardState, RaftId, RaftIndex, Term } from "raft-ts";
import { StoreError } from "../postgres/errors.ts";

const ID_BYTES = 8;

/** A 64-bit id as PostgreSQL's signed bigint. */
export function raftIdToSigned(id: RaftId): bigint {
  return BigInt.asIntN(64, id);
}

/** @param text a bigint column, cast to text because its values are beyond 2^53 */
export function raftIdFromSigned(text: string): RaftId {
  return BigInt.asUintN(64, BigInt(text));
}

export function typeToNumber(type: EntryType): number {
  return type === "normal" ? 0 : 1;
}

export function typeFromNumber(value: number): EntryType {
  if (value === 0) return "normal";
  if (value === 1) return "conf_change";
  throw new StoreError("corrupt", `a log row has type ${value}`);
}

export interface LogRow {
  readonly index: RaftIndex;
  readonly term: Term;
  readonly type: number;
  readonly commitHint: RaftIndex;
  readonly payload: Uint8Array;
}

/** The same value in SQL, for scans that need not ship the payloads; see logRowChecksum. */
export const LOG_ROW_CHECKSUM_SQL =
  "sha256(int8send(index) || int8send(term) || int2send(type) || int8send(commit_hint) || payload)";

/** SHA-256(index u64 ‖ term u64 ‖ type u16 ‖ commit hint u64 ‖ payload). */
export function logRowChecksum(row: LogRow): Uint8Array {
  const header = new ByteWriter(26).u64(row.index).u64(row.term).u16(row.type).u64(row.commitHint);
  return createHash("sha256").update(header.finish()).update(row.payload).digest();
}

/** SHA-256(term u64 ‖ vote 8 bytes). */
export function hardStateChecksum(state: Pick<HardState, "term" | "vote">): Uint8Array {
  const bytes = new ByteWriter(16).u64(state.term).bytes(encodeRaftId(state.vote));
  return createHash("sha256").update(bytes.finish()).digest();
}

/** SHA-256(index u64 ‖ term u64). */
export function compactionChecksum(index: RaftIndex, term: Term): Uint8Array {
  const bytes = new ByteWriter(16).u64(index).u64(term);
  return createHash("sha256").update(bytes.finish()).digest();
}

function encodeRaftId(id: RaftId): Uint8Array {
  const bytes = Buffer.allocUnsafe(ID_BYTES);
  bytes.writeBigUInt64BE(id);
  return bytes;
}

function readRaftId(reader: ByteReader): RaftId {
  const bytes = reader.bytes(ID_BYTES);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readBigUInt64BE();
}

function writeIds(writer: ByteWriter, ids: readonly RaftId[]): void {
  writer.u16(ids.length);
  for (const id of ids) writer.bytes(encodeRaftId(id));
}

function readIds(reader: ByteReader): RaftId[] {
  const count = reader.u16();
  return Array.from({ length: count }, () => readRaftId(reader));
}

/** Each list as u16 count and 8 bytes an id: voters, outgoing voters, learners, next learners; then u8 auto-leave. */
export function encodeConfState(confState: ConfState): Uint8Array {
  const writer = new ByteWriter();
  writeIds(writer, confState.voters);
  writeIds(writer, confState.votersOutgoing);
  writeIds(writer, confState.learners);
  writeIds(writer, confState.learnersNext);
  return writer.u8(confState.autoLeave ? 1 : 0).finish();
}

/** @throws DecodeError */
export function decodeConfState(bytes: Uint8Array): ConfState {
  const reader = new ByteReader(bytes);
  const voters = readIds(reader);
  const votersOutgoing = readIds(reader);
  const learners = readIds(reader);
  const learnersNext = readIds(reader);
  const flag = reader.u8();
  reader.finish();
  if (flag > 1) throw new DecodeError("value_invalid", `auto-leave flag is ${flag}`);
  return { voters, votersOutgoing, learners, learnersNext, autoLeave: flag === 1 };
}
