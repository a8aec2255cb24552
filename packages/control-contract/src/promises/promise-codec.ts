import {
  ByteReader,
  ZERO_32,
  ByteWriter,
  DecodeError,
  InvalidBytesError,
  bytesToHex,
  bytesToUtf8,
  equalBytes,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { EntryId, RaftId, RaftIndex, Term } from "raft-ts";
import { crc32 } from "../crc32.ts";

/** The newest checkpoint of one origin that this node has cosigned, and the entry that produced it. */
export interface SignedHead {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
  /** The certify point: index and term of the entry after which the tree had this size. */
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  /** Unix seconds written into the cosignature. */
  readonly timeS: number;
}

/** The newest state head that this node has signed. */
export interface SignedState {
  readonly raftIndex: RaftIndex;
  /** SHA-256 of its text, 32 bytes. */
  readonly textHash: Uint8Array;
}

/** One peer's progress, signed by its auth key: the newest that this node has received. */
export interface PeerPromises {
  /** Epoch of the group. */
  readonly epoch: number;
  readonly incarnation: number;
  /** 16 bytes: identifies the process of that incarnation. */
  readonly lifeId: Uint8Array;
  /** The highest end that its log has had, in Raft's order. */
  readonly term: Term;
  readonly index: RaftIndex;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** The Postgres that belongs to the promises, and how far its log was flushed. */
export interface PostgresPosition {
  /** Decimal, as Postgres prints it. */
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly walPosition: bigint;
}

/** Everything a node must never forget. Invariant: no later value takes back what an earlier one promised. */
export interface Promises {
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  readonly nodeId: string;
  /** 16 random bytes that are also in the database: they show that file and database belong together. */
  readonly pairId: Uint8Array;
  /** Rises by one at every start. */
  readonly incarnation: number;
  readonly term: Term;
  /** The node voted for in `term`; 0n: none. */
  readonly vote: RaftId;
  /** By origin fingerprint in hex. */
  readonly signedHeads: ReadonlyMap<string, SignedHead>;
  /** null: none. */
  readonly stateHead: SignedState | null;
  readonly postgres: PostgresPosition;
  /** The last entry known to be durable in the database, or one that the log is about to go back to: see `reached`. */
  readonly lastAppend: EntryId;
  /**
   * The highest end, in Raft's order, that the log has had. It is above `lastAppend` only while a later leader replaces
   * an uncommitted tail in several steps, the first of which may end lower than the tail did.
   */
  readonly reached: EntryId;
  /** By Raft id, 16 hex digits. Those of nodes that have left the group for good may be gone. */
  readonly peers: ReadonlyMap<string, PeerPromises>;
  /** A slot was found damaged at a start, and no peer has confirmed yet that no promise is missing. */
  readonly mayLackNewest: boolean;
}

/**
 * Describes what `next` takes back of what `previous` promised; null: nothing.
 * @param left peers whose words may be gone, by Raft id
 */
export function brokenPromise(previous: Promises, next: Promises, left: ReadonlySet<string>): string | null {
  if (!equalBytes(previous.clusterId, next.clusterId) || previous.nodeId !== next.nodeId) return "another node";
  if (!equalBytes(previous.pairId, next.pairId)) return "another pair id";
  if (next.incarnation < previous.incarnation) return `incarnation ${next.incarnation} after ${previous.incarnation}`;
  if (next.term < previous.term) return `term ${next.term} after ${previous.term}`;
  if (next.term === previous.term && previous.vote !== 0n && next.vote !== previous.vote) {
    return `a second vote in term ${next.term}`;
  }
  if (next.postgres.walPosition < previous.postgres.walPosition) return "an earlier WAL position";
  if (isBefore(next.reached, previous.reached))
    return `a log that reached ${next.reached.index} after ${previous.reached.index}`;
  return brokenHead(previous, next) ?? brokenState(previous, next) ?? brokenPeer(previous, next, left);
}

/** Raft's order of logs: by last term, then by length. */
export function isBefore(left: EntryId, right: EntryId): boolean {
  return left.term === right.term ? left.index < right.index : left.term < right.term;
}

/** The later of two ends of a log, in Raft's order. */
export function furthest(left: EntryId, right: EntryId): EntryId {
  return isBefore(left, right) ? right : left;
}

function brokenHead(previous: Promises, next: Promises): string | null {
  for (const [origin, head] of previous.signedHeads) {
    const later = next.signedHeads.get(origin);
    if (later === head) continue;
    if (later === undefined) return `no head of origin ${origin}`;
    if (later.treeSize < head.treeSize) return `tree size ${later.treeSize} after ${head.treeSize} of origin ${origin}`;
    if (later.treeSize === head.treeSize && !equalBytes(later.rootHash, head.rootHash)) {
      return `a second root of size ${head.treeSize} of origin ${origin}`;
    }
  }
  return null;
}

function brokenState({ stateHead: known }: Promises, { stateHead: later }: Promises): string | null {
  if (known === null) return null;
  if (later === null || later.raftIndex < known.raftIndex) return `no state head of entry ${known.raftIndex}`;
  const isOther = later.raftIndex === known.raftIndex && !equalBytes(later.textHash, known.textHash);
  return isOther ? `a second state head of entry ${known.raftIndex}` : null;
}

function brokenPeer(previous: Promises, next: Promises, left: ReadonlySet<string>): string | null {
  for (const [peer, known] of previous.peers) {
    const later = next.peers.get(peer);
    if (later === known) continue;
    if (later === undefined) {
      if (left.has(peer)) continue;
      return `peer ${peer} is gone`;
    }
    if (later.incarnation < known.incarnation) return `an earlier incarnation of peer ${peer}`;
    if (later.epoch === known.epoch && isBefore(later, known)) return `an earlier log of peer ${peer}`;
  }
  return null;
}

// A slot: mark 8 ‖ format u32 ‖ counter u64 ‖ body length u32 ‖ CRC-32 u32 of all before it and the body ‖ body ‖
// zeros up to the slot's size. Integers are big-endian.
const SLOT_MARK = Uint8Array.from([0x65, 0x61, 0x2d, 0x70, 0x72, 0x6f, 0x6d, 0x0a]);
const FORMAT = 1;
const HEADER_BYTES = 28;
const CHECKED_HEADER_BYTES = 24;

/** Slots come in classes of 4 KiB · 2^class; a class begins where the one before it ends, so growing moves nothing. */
export const SLOT_CLASS_MAX = 8;

export function slotBytesOf(slotClass: number): number {
  return 4096 * 2 ** slotClass;
}

export function slotOffsetOf(slotClass: number, slot: 0 | 1): number {
  return 2 * 4096 * (2 ** slotClass - 1) + slot * slotBytesOf(slotClass);
}

/** The smallest class whose slots hold a body of this size. @throws RangeError above 1 MiB */
export function slotClassFor(bodyBytes: number): number {
  for (let slotClass = 0; slotClass <= SLOT_CLASS_MAX; slotClass++) {
    if (HEADER_BYTES + bodyBytes <= slotBytesOf(slotClass)) return slotClass;
  }
  throw new RangeError(`promises of ${bodyBytes} bytes exceed the largest slot, ${slotBytesOf(SLOT_CLASS_MAX)} bytes`);
}

/** The bytes of a whole slot. */
export function encodeSlot(counter: number, body: Uint8Array, slotBytes: number): Uint8Array {
  const slot = new Uint8Array(slotBytes);
  slot.set(new ByteWriter(CHECKED_HEADER_BYTES).bytes(SLOT_MARK).u32(FORMAT).u64(counter).u32(body.length).finish(), 0);
  slot.set(body, HEADER_BYTES);
  new DataView(slot.buffer).setUint32(CHECKED_HEADER_BYTES, slotCrc(slot, body.length));
  return slot;
}

function slotCrc(slot: Uint8Array, bodyBytes: number): number {
  const headerCrc = crc32(slot.subarray(0, CHECKED_HEADER_BYTES));
  return crc32(slot.subarray(HEADER_BYTES, HEADER_BYTES + bodyBytes), headerCrc);
}

/**
 * `empty`: never written. `damaged`: torn or rotten. `alien`: not the beginning of a slot. `unknown_format`: intact,
 * but written by a newer program than this one.
 */
export type SlotReading =
  | { readonly state: "empty" | "damaged" | "alien" | "unknown_format" }
  | { readonly state: "good"; readonly counter: number; readonly promises: Promises };

/** Reads one slot. None of it is trusted before the CRC is checked. */
export function readSlot(slot: Uint8Array): SlotReading {
  if (slot.every((byte) => byte === 0)) return { state: "empty" };
  if (!equalBytes(slot.subarray(0, SLOT_MARK.length), SLOT_MARK)) return { state: "alien" };
  if (slot.length < HEADER_BYTES) return { state: "damaged" };
  const view = new DataView(slot.buffer, slot.byteOffset, slot.byteLength);
  const bodyBytes = view.getUint32(20);
  if (HEADER_BYTES + bodyBytes > slot.length) return { state: "damaged" };
  if (view.getUint32(CHECKED_HEADER_BYTES) !== slotCrc(slot, bodyBytes)) return { state: "damaged" };
  const format = view.getUint32(8);
  if (format !== FORMAT) return { state: "unknown_format" };
  const counter = Number(view.getBigUint64(12));
  const body = slot.slice(HEADER_BYTES, HEADER_BYTES + bodyBytes);
  try {
    return { state: "good", counter, promises: decodePromises(body) };
  } catch (error) {
    // The CRC holds, so these are the bytes that were written: another program's version of this format.
    if (error instanceof DecodeError || error instanceof InvalidBytesError) return { state: "unknown_format" };
    throw error;
  }
}

function readText(reader: ByteReader): string {
  return bytesToUtf8(reader.lengthPrefixed16());
}

function bigU64(value: bigint): Uint8Array {
  if (value < 0n || value >= 1n << 64n) throw new RangeError(`not an unsigned 64-bit value: ${value}`);
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
}

function readBigU64(reader: ByteReader): bigint {
  const bytes = reader.bytes(8);
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0);
}

const PEER_KEY = /^[0-9a-f]{16}$/;

/** The body of a slot. Equal promises give equal bytes. */
export function encodePromises(promises: Promises): Uint8Array {
  const { postgres, lastAppend } = promises;
  const writer = new ByteWriter(1024)
    .bytes(promises.clusterId, 32)
    .lengthPrefixed16(utf8ToBytes(promises.nodeId))
    .bytes(promises.pairId, 16)
    .u64(promises.incarnation)
    .u64(promises.term)
    .bytes(bigU64(promises.vote))
    .lengthPrefixed16(utf8ToBytes(postgres.systemIdentifier))
    .u32(postgres.timeline)
    .bytes(bigU64(postgres.walPosition))
    .u64(lastAppend.index)
    .u64(lastAppend.term)
    .u64(promises.reached.index)
    .u64(promises.reached.term)
    .u32(promises.signedHeads.size);
  for (const [key, head] of sortedEntries(promises.signedHeads)) writer.bytes(encodedOnce(key, head, encodeHead));
  writer.u32(promises.peers.size);
  for (const [key, peer] of sortedEntries(promises.peers)) writer.bytes(encodedOnce(key, peer, encodePeer));
  const { mayLackNewest, stateHead } = promises;
  writer.u8(mayLackNewest ? 1 : 0);
  writer.u64(stateHead?.raftIndex ?? 0).bytes(stateHead?.textHash ?? ZERO_32, 32);
  return writer.finish();
}

/** The bytes of heads and peers, which are not changed once they are made, with their keys. */
const ENCODED = new WeakMap<object, { readonly key: string; readonly bytes: Uint8Array }>();

/** A cluster has a head for each node that it ever had: most of them never change again. */
function encodedOnce<Item extends object>(
  key: string,
  item: Item,
  encode: (key: string, item: Item) => Uint8Array,
): Uint8Array {
  const known = ENCODED.get(item);
  if (known?.key === key) return known.bytes;
  const bytes = encode(key, item);
  ENCODED.set(item, { key, bytes });
  return bytes;
}

function encodeHead(key: string, head: SignedHead): Uint8Array {
  if (key !== bytesToHex(head.originFingerprint)) throw new RangeError(`head filed under another origin: ${key}`);
  const writer = new ByteWriter(96).bytes(head.originFingerprint, 32).u64(head.treeSize).bytes(head.rootHash, 32);
  return writer.u64(head.raftIndex).u64(head.raftTerm).u64(head.timeS).finish();
}

function encodePeer(key: string, peer: PeerPromises): Uint8Array {
  if (!PEER_KEY.test(key)) throw new RangeError(`not a Raft id of 16 hex digits: ${key}`);
  const writer = new ByteWriter(120).bytes(bigU64(BigInt(`0x${key}`))).u64(peer.epoch);
  writer.u64(peer.incarnation).bytes(peer.lifeId, 16).u64(peer.term).u64(peer.index);
  return writer.bytes(peer.signature, 64).finish();
}

function sortedEntries<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([left], [right]) => (left < right ? -1 : 1));
}

/** @throws DecodeError */
export function decodePromises(bytes: Uint8Array): Promises {
  const reader = new ByteReader(bytes);
  const clusterId = reader.bytes(32);
  const nodeId = readText(reader);
  const pairId = reader.bytes(16);
  const incarnation = reader.u64();
  const term = reader.u64();
  const vote = readBigU64(reader);
  const systemIdentifier = readText(reader);
  const postgres = { systemIdentifier, timeline: reader.u32(), walPosition: readBigU64(reader) };
  const lastAppend = { index: reader.u64(), term: reader.u64() };
  const reached = { index: reader.u64(), term: reader.u64() };
  const signedHeads = readMap(reader, readHead);
  const peers = readMap(reader, readPeer);
  const flag = reader.u8();
  if (flag > 1) throw new DecodeError("value_invalid", `${flag} is neither 0 nor 1`);
  const stateHead = { raftIndex: reader.u64(), textHash: reader.bytes(32) };
  reader.finish();
  const remembered = { signedHeads, stateHead: stateHead.raftIndex === 0 ? null : stateHead, postgres, lastAppend };
  const others = { reached, peers, mayLackNewest: flag === 1 };
  return { clusterId, nodeId, pairId, incarnation, term, vote, ...remembered, ...others };
}

function readMap<Value>(reader: ByteReader, readItem: (from: ByteReader) => [string, Value]): Map<string, Value> {
  const map = new Map<string, Value>();
  const count = reader.u32();
  let previous = "";
  for (let at = 0; at < count; at++) {
    const [key, value] = readItem(reader);
    if (at > 0 && key <= previous) throw new DecodeError("value_invalid", `${key} does not ascend`);
    map.set(key, value);
    previous = key;
  }
  return map;
}

function readHead(reader: ByteReader): [string, SignedHead] {
  const originFingerprint = toOriginFingerprint(reader.bytes(32));
  const head = {
    originFingerprint,
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    raftIndex: reader.u64(),
    raftTerm: reader.u64(),
    timeS: reader.u64(),
  };
  return [bytesToHex(originFingerprint), head];
}

function readPeer(reader: ByteReader): [string, PeerPromises] {
  const key = readBigU64(reader).toString(16).padStart(16, "0");
  const peer = {
    epoch: reader.u64(),
    incarnation: reader.u64(),
    lifeId: reader.bytes(16),
    term: reader.u64(),
    index: reader.u64(),
    signature: reader.bytes(64),
  };
  return [key, peer];
}
