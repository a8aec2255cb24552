import { ByteReader, ByteWriter } from "./bytes.ts";
import { InvalidArgumentError, InvalidMessageError } from "./errors.ts";
import { findShapeFault, isPeerMessage } from "./message-shape.ts";
import { MESSAGE_TYPES } from "./types.ts";
import type { ConfState, Entry, InboundMessage, MessageHeader, RaftId, SnapshotMeta } from "./types.ts";

/** First byte of every encoded message. */
const MESSAGE_VERSION = 1;
const FLAG_REJECT = 1;
const FLAG_SNAPSHOT = 2;
const ENTRY_HEADER_BYTES = 21;
const ID_BYTES = 8;
const ENTRY_NORMAL = 0;
const ENTRY_CONF_CHANGE = 1;

export const EMPTY = new Uint8Array(0);

const peerWriter = new ByteWriter();

/**
 * The bytes of a message to a peer, payloads included. Layout, big-endian: version, type, flags (1 each); from, to,
 * term, logTerm, index, commit, vote, rejectHint (8 each); context length (4) and context; number of entries (4) and
 * for each index, term (8 each), type (1), payload length (4), payload; the snapshot if its flag is set.
 * Throws InvalidArgumentError for a type that is not for peers.
 */
export function encodeMessage(message: InboundMessage): Uint8Array {
  if (!isPeerMessage(message.type)) throw new InvalidArgumentError(`${message.type} is not for peers`);
  const writer = peerWriter;
  writer.reset();
  writer.u8(MESSAGE_VERSION);
  writeHeader(writer, message);
  writer.u32(message.entries.length);
  for (const entry of message.entries) {
    writer.u53(entry.index);
    writer.u53(entry.term);
    writer.u8(entry.type === "normal" ? ENTRY_NORMAL : ENTRY_CONF_CHANGE);
    writer.u32(entry.payload.length);
    writer.bytes(entry.payload);
  }
  if (message.snapshot !== null) writeSnapshot(writer, message.snapshot);
  return writer.take();
}

/**
 * The message in `bytes`, which are attacker-controlled. Throws InvalidMessageError unless they are exactly the
 * encoding of one message that a correct peer could send; nothing is allocated beyond their own size.
 */
export function decodeMessage(bytes: Uint8Array): InboundMessage {
  const reader = new ByteReader(bytes, (reason) => new InvalidMessageError(reason));
  const version = reader.u8();
  if (version !== MESSAGE_VERSION) throw new InvalidMessageError(`unknown version ${version}`);
  const message = readMessage(reader, readPeerEntries);
  reader.end();
  const fault = findShapeFault(message);
  if (fault !== null) throw new InvalidMessageError(`${message.type}: ${fault}`);
  return message;
}

function readPeerEntries(reader: ByteReader): Entry[] {
  const entries: Entry[] = [];
  for (let count = reader.count(ENTRY_HEADER_BYTES); count > 0; count -= 1) entries.push(readPeerEntry(reader));
  return entries;
}

function readPeerEntry(reader: ByteReader): Entry {
  const index = reader.u53();
  const term = reader.u53();
  const type = reader.u8();
  if (type > ENTRY_CONF_CHANGE) throw reader.fail(`unknown entry type ${type}`);
  return {
    index,
    term,
    type: type === ENTRY_NORMAL ? "normal" : "conf_change",
    payload: reader.bytes(reader.u32()),
  };
}

/** A message up to its entries: type, flags, numbers and context, to peers and into the engine alike. */
export function writeHeader(writer: ByteWriter, message: MessageHeader): void {
  writer.u8(MESSAGE_TYPES.indexOf(message.type));
  writer.u8((message.reject ? FLAG_REJECT : 0) | (message.snapshot === null ? 0 : FLAG_SNAPSHOT));
  writer.u64(message.from);
  writer.u64(message.to);
  writer.u53(message.term);
  writer.u53(message.logTerm);
  writer.u53(message.index);
  writer.u53(message.commit);
  writer.u64(message.vote);
  writer.u53(message.rejectHint);
  writer.u32(message.context.length);
  writer.bytes(message.context);
}

/** Everything `writeHeader` wrote, then the entries as `readEntries` finds them, then the snapshot. */
export function readMessage<E>(
  reader: ByteReader,
  readEntries: (reader: ByteReader) => readonly E[],
): MessageHeader & { readonly entries: readonly E[] } {
  const typeNumber = reader.u8();
  const type = MESSAGE_TYPES[typeNumber];
  if (type === undefined) throw reader.fail(`unknown message type ${typeNumber}`);
  const flags = reader.u8();
  if (flags > (FLAG_REJECT | FLAG_SNAPSHOT)) throw reader.fail(`unknown flags ${flags}`);
  // The fields are read in the order in which they stand here.
  return {
    type,
    reject: (flags & FLAG_REJECT) !== 0,
    from: reader.u64(),
    to: reader.u64(),
    term: reader.u53(),
    logTerm: reader.u53(),
    index: reader.u53(),
    commit: reader.u53(),
    vote: reader.u64(),
    rejectHint: reader.u53(),
    context: readBytes(reader),
    entries: readEntries(reader),
    snapshot: (flags & FLAG_SNAPSHOT) === 0 ? null : readSnapshot(reader),
  };
}

/** A length and that many bytes; nothing is allocated for none. */
export function readBytes(reader: ByteReader): Uint8Array {
  const length = reader.u32();
  return length === 0 ? EMPTY : reader.bytes(length);
}

export function writeSnapshot(writer: ByteWriter, snapshot: SnapshotMeta): void {
  writer.u53(snapshot.index);
  writer.u53(snapshot.term);
  writeConfState(writer, snapshot.confState);
}

export function readSnapshot(reader: ByteReader): SnapshotMeta {
  return { index: reader.u53(), term: reader.u53(), confState: readConfState(reader) };
}

export function writeConfState(writer: ByteWriter, conf: ConfState): void {
  writer.u8(conf.autoLeave ? 1 : 0);
  for (const ids of [conf.voters, conf.votersOutgoing, conf.learners, conf.learnersNext]) {
    writer.u32(ids.length);
    for (const id of ids) writer.u64(id);
  }
}

export function readConfState(reader: ByteReader): ConfState {
  const autoLeave = reader.u8();
  if (autoLeave > 1) throw reader.fail("autoLeave is neither 0 nor 1");
  return {
    autoLeave: autoLeave === 1,
    voters: readIds(reader),
    votersOutgoing: readIds(reader),
    learners: readIds(reader),
    learnersNext: readIds(reader),
  };
}

function readIds(reader: ByteReader): RaftId[] {
  const ids: RaftId[] = [];
  for (let count = reader.count(ID_BYTES); count > 0; count -= 1) ids.push(reader.u64());
  return ids;
}
