import { SAFE_HIGH_MAX, TWO_32 } from "./bytes.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";
import { EMPTY, readBytes, readMessage, readSnapshot, writeHeader, writeSnapshot } from "./codec.ts";
import { EngineDeadError } from "./errors.ts";
import type {
  AppendChore,
  ApplyChore,
  BasicStatus,
  ConfChange,
  ConfChangeSingle,
  Entry,
  EntryMeta,
  HardState,
  Message,
  MessageHeader,
  Progress,
  RaftId,
  ReadState,
  Ready,
  Role,
  SoftState,
  Term,
} from "./types.ts";

/** The layouts shared with engine/*.go; `abiVersion` there and ABI_VERSION here change with them. */

/** How an entry's payload is written; engine/message.go. */
const ENTRY_NORMAL = 0;
const ENTRY_CONF_CHANGE_BYTES = 1;
const ENTRY_CONF_CHANGE_SIZE = 2;
const ENTRY_RAW = 3;
const ENTRY_BYTES_MIN = 21;
const MESSAGE_BYTES_MIN = 74;
const READ_STATE_BYTES_MIN = 12;
const PROGRESS_BYTES = 27;
const SINGLE_BYTES = 9;

const READY_SOFT_STATE = 1;
const READY_APPEND = 2;
const READY_APPLY = 4;

const ROLES: readonly Role[] = ["follower", "candidate", "leader", "pre_candidate"];
const PROGRESS_STATES: readonly Progress["state"][] = ["probe", "replicate", "snapshot"];
const TRANSITIONS: readonly ConfChange["transition"][] = ["auto", "implicit", "explicit"];
/** The library's numbers; 2 is an update, which is never proposed here. */
const CHANGE_TYPES: readonly (ConfChangeSingle["type"] | null)[] = ["add_node", "remove_node", null, "add_learner"];

/** What the engine has left of a node's state with its latest call. */
export interface HeldStatus {
  readonly basic: BasicStatus;
  /** Term of the entry at `basic.lastIndex`. */
  readonly lastTerm: Term;
}

/** A ticket represents a payload that stays outside the engine; 0 means none. */
export type TicketOf = (payload: Uint8Array) => number;
/** Throws for a ticket that is not out. */
export type PayloadOf = (ticket: number) => Uint8Array;

function isRead(message: MessageHeader): boolean {
  return message.type === "MsgReadIndex" || message.type === "MsgReadIndexResp";
}

/** A message to be stepped. Without `ticketOf` the entries are taken as sizes only. */
export function writeMessage(
  writer: ByteWriter,
  message: MessageHeader & { readonly entries: readonly (Entry | EntryMeta)[] },
  ticketOf: TicketOf | null,
): void {
  writeHeader(writer, message);
  writer.u32(message.entries.length);
  const raw = isRead(message);
  for (const entry of message.entries) {
    if (raw && entry.payload !== undefined) writeRaw(writer, entry.payload);
    else writeEntry(writer, entry, ticketOf);
  }
  if (message.snapshot !== null) writeSnapshot(writer, message.snapshot);
}

function writeRaw(writer: ByteWriter, payload: Uint8Array): void {
  writer.u53(0);
  writer.u53(0);
  writer.u8(ENTRY_RAW);
  writer.u32(payload.length);
  writer.bytes(payload);
}

function writeEntry(writer: ByteWriter, entry: Entry | EntryMeta, ticketOf: TicketOf | null): void {
  writer.u53(entry.index);
  writer.u53(entry.term);
  if (entry.type === "normal") {
    writer.u8(ENTRY_NORMAL);
    writer.u32(payloadBytesOf(entry));
    writer.u32(ticketOf === null || entry.payload === undefined ? 0 : ticketOf(entry.payload));
  } else if (entry.payload === undefined) {
    writer.u8(ENTRY_CONF_CHANGE_SIZE);
    writer.u32(payloadBytesOf(entry));
  } else {
    writer.u8(ENTRY_CONF_CHANGE_BYTES);
    writer.u32(entry.payload.length);
    writer.bytes(entry.payload);
  }
}

export function payloadBytesOf(entry: Entry | EntryMeta): number {
  return "payloadBytes" in entry ? entry.payloadBytes : entry.payload.length;
}

export function writeEntries(writer: ByteWriter, entries: readonly (Entry | EntryMeta)[]): void {
  writer.u32(entries.length);
  for (const entry of entries) writeEntry(writer, entry, null);
}

export function writeHardState(writer: ByteWriter, hardState: HardState): void {
  writer.u53(hardState.term);
  writer.u64(hardState.vote);
  writer.u53(hardState.commit);
}

/** Tickets do not leave the package: outside, an entry is its (index, term). */
function readMeta(reader: ByteReader): EntryMeta {
  const index = reader.u53();
  const term = reader.u53();
  const kind = reader.u8();
  const payloadBytes = reader.u32();
  switch (kind) {
    case ENTRY_NORMAL:
      reader.u32();
      return { index, term, type: "normal", payloadBytes };
    case ENTRY_CONF_CHANGE_BYTES:
      return { index, term, type: "conf_change", payloadBytes, payload: reader.bytes(payloadBytes) };
    case ENTRY_CONF_CHANGE_SIZE:
      return { index, term, type: "conf_change", payloadBytes };
    case ENTRY_RAW:
      return { index, term, type: "normal", payloadBytes, payload: reader.bytes(payloadBytes) };
    default:
      throw reader.fail(`unknown kind of entry ${kind}`);
  }
}

function readWhole(reader: ByteReader, payloadOf: PayloadOf): Entry {
  const index = reader.u53();
  const term = reader.u53();
  const kind = reader.u8();
  const payloadBytes = reader.u32();
  if (kind === ENTRY_CONF_CHANGE_BYTES) {
    return { index, term, type: "conf_change", payload: reader.bytes(payloadBytes) };
  }
  if (kind !== ENTRY_NORMAL) throw reader.fail(`an entry to append is of kind ${kind}`);
  const ticket = reader.u32();
  return { index, term, type: "normal", payload: payloadBytes === 0 ? EMPTY : payloadOf(ticket) };
}

function readList<T>(reader: ByteReader, bytesEach: number, read: (reader: ByteReader) => T): T[] {
  const list: T[] = [];
  for (let count = reader.count(bytesEach); count > 0; count -= 1) list.push(read(reader));
  return list;
}

function readMetas(reader: ByteReader): EntryMeta[] {
  return readList(reader, ENTRY_BYTES_MIN, readMeta);
}

function readEngineMessage(reader: ByteReader): Message {
  return readMessage(reader, readMetas);
}

function readMessages(reader: ByteReader): Message[] {
  return readList(reader, MESSAGE_BYTES_MIN, readEngineMessage);
}

/** Reads the output of raft_ready. */
export function readReady(reader: ByteReader, payloadOf: PayloadOf): Ready {
  const flags = reader.u8();
  const ready: Ready = {
    softState: (flags & READY_SOFT_STATE) === 0 ? null : readSoftState(reader),
    readStates: readList(reader, READ_STATE_BYTES_MIN, readReadState),
    messages: readMessages(reader),
    append: (flags & READY_APPEND) === 0 ? null : readAppend(reader, payloadOf),
    apply: (flags & READY_APPLY) === 0 ? null : readApply(reader),
  };
  reader.end();
  return ready;
}

function readSoftState(reader: ByteReader): SoftState {
  return { leader: reader.u64(), role: readRole(reader) };
}

function readRole(reader: ByteReader): Role {
  const role = ROLES[reader.u8()];
  if (role === undefined) throw reader.fail("unknown role");
  return role;
}

function readReadState(reader: ByteReader): ReadState {
  return { index: reader.u53(), context: readBytes(reader) };
}

function readAppend(reader: ByteReader, payloadOf: PayloadOf): AppendChore {
  return {
    entries: readList(reader, ENTRY_BYTES_MIN, (from) => readWhole(from, payloadOf)),
    hardState: reader.u8() === 0 ? null : readHardState(reader),
    snapshot: reader.u8() === 0 ? null : readSnapshot(reader),
    responses: readMessages(reader),
  };
}

function readHardState(reader: ByteReader): HardState {
  return { term: reader.u53(), vote: reader.u64(), commit: reader.u53() };
}

function readApply(reader: ByteReader): ApplyChore {
  return { entries: readMetas(reader), responses: readMessages(reader) };
}

/** Reads the status that every call leaves: little-endian numbers of 8 bytes; `status` in engine/node.go. */
export function readStatus(view: DataView, id: RaftId): HeldStatus {
  const role = ROLES[readNumber(view, 9)];
  if (role === undefined) throw new EngineDeadError("the engine's status: unknown role");
  return {
    basic: {
      id,
      term: readNumber(view, 0),
      vote: view.getBigUint64(8, true),
      commit: readNumber(view, 2),
      applied: readNumber(view, 3),
      lead: view.getBigUint64(32, true),
      role,
      leadTransferee: view.getBigUint64(40, true),
      firstIndex: readNumber(view, 6),
      lastIndex: readNumber(view, 7),
    },
    lastTerm: readNumber(view, 8),
  };
}

function readNumber(view: DataView, position: number): number {
  const high = view.getUint32(position * 8 + 4, true);
  if (high > SAFE_HIGH_MAX) throw new EngineDeadError("the engine's status: a number is 2^53 or larger");
  return high * TWO_32 + view.getUint32(position * 8, true);
}

/** Reads the output of raft_progress. */
export function readAllProgress(reader: ByteReader): ReadonlyMap<RaftId, Progress> {
  const progress = new Map<RaftId, Progress>();
  for (let count = reader.count(PROGRESS_BYTES); count > 0; count -= 1) {
    progress.set(reader.u64(), readProgress(reader));
  }
  reader.end();
  return progress;
}

function readProgress(reader: ByteReader): Progress {
  const match = reader.u53();
  const next = reader.u53();
  const state = PROGRESS_STATES[reader.u8()];
  if (state === undefined) throw reader.fail("unknown state of progress");
  return { match, next, state, recentActive: reader.u8() === 1, isLearner: reader.u8() === 1 };
}

export function writeConfChange(writer: ByteWriter, change: ConfChange): void {
  writer.u8(TRANSITIONS.indexOf(change.transition));
  writer.u32(change.changes.length);
  for (const single of change.changes) {
    writer.u8(CHANGE_TYPES.indexOf(single.type));
    writer.u64(single.id);
  }
  writer.u32(change.context.length);
  writer.bytes(change.context);
}

export function readConfChange(reader: ByteReader): ConfChange {
  const transition = TRANSITIONS[reader.u8()];
  if (transition === undefined) throw reader.fail("unknown transition");
  const changes = readList(reader, SINGLE_BYTES, readSingle);
  const change: ConfChange = { transition, changes, context: readBytes(reader) };
  reader.end();
  return change;
}

function readSingle(reader: ByteReader): ConfChangeSingle {
  const type = CHANGE_TYPES[reader.u8()];
  if (type === undefined || type === null) throw reader.fail("unknown type of change");
  return { type, id: reader.u64() };
}
