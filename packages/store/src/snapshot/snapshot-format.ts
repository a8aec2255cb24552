/**
 * A snapshot is a stream of records: a header, trust roots, the state head that a quorum signed, API keys, operators,
 * group ids, then leaves by sequence, each followed by the certificate of the tree that it completes, and an end.
 * Tiles, look-up keys, statuses and positions are not in it: the installer derives them anew. The stream is cut into
 * chunks of equal size, regardless of record boundaries.
 */
import { SCOPES, scopesFromBits, scopesToBits } from "@event-anchoring/ledger";
import type { ApiKey, Cosignature, OperatorAct } from "@event-anchoring/ledger";
import { ByteReader, ByteWriter, DecodeError, assertNever, bytesToUtf8, utf8ToBytes } from "@event-anchoring/protocol";
import type { ConfState, RaftIndex, Term } from "raft-ts";
import { decodeCosignatures, encodeCosignatures } from "../tables/certificates.ts";
import { decodeConfState, encodeConfState } from "../log/raft-codec.ts";

/** What is known of a snapshot before its first byte. None of it is trusted: the stream must agree. */
export interface SnapshotManifest {
  /** 16 random bytes drawn by the exporter. */
  readonly snapshotId: Uint8Array;
  /** The state after this entry. */
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  /** Effect chain at raftIndex, 32 bytes. */
  readonly effect: Uint8Array;
  /** Bytes of every chunk except the last. */
  readonly chunkBytes: number;
  readonly totalBytes: number;
  /** SHA-256 of each chunk, in order. */
  readonly chunkHashes: readonly Uint8Array[];
  /** SHA-256 of all chunks joined. */
  readonly wholeHash: Uint8Array;
}

/** Bytes of a chunk. */
export const SNAPSHOT_CHUNK_BYTES = 1024 * 1024;

const NO_BYTES = new Uint8Array(0);
const FORMAT_VERSION = 1;
const FRAME_BYTES = 5;
/** A trust root has at most 256 KiB, an entry's group ids 24 KiB; everything else is far smaller. */
const RECORD_BYTES_MAX = 1024 * 1024;
/** A leaf with its certificate has some 600 bytes, in two records. */
const RECORD_BYTES_USUAL = 320;

/** What follows a leaf. */
const BEHIND = { nothing: 0, clientEvent: 1, erasedClientEvent: 2, recorder: 3 } as const;

const RECORD = {
  header: 0,
  trustRoot: 1,
  stateHead: 2,
  apiKey: 3,
  operator: 4,
  groupIds: 5,
  leaf: 6,
  certificate: 7,
  end: 255,
} as const;

export interface SnapshotHeader {
  readonly type: "header";
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  readonly effect: Uint8Array;
  readonly nextSequence: number;
  readonly lastAcceptedMs: number;
  readonly groupIdsFrom: number;
  /** Running hash of the groups that were decided before `groupIdsFrom`, 32 bytes. */
  readonly groupIdsHashBefore: Uint8Array;
  /** null: the members are still those with which the cluster was born, the active nodes of trust root version 1. */
  readonly confState: ConfState | null;
  /** The rules by which the next entry is decided. */
  readonly rules: number;
  /** Time of the newest entry, Unix milliseconds: no later one is accepted before it. */
  readonly stampMs: number;
}

export interface SnapshotTrustRoot {
  readonly type: "trust_root";
  readonly document: string;
}

/** The state head after the entry, as a quorum signed it. */
export interface SnapshotStateHead {
  readonly type: "state_head";
  /** The signed note. */
  readonly note: string;
}

export interface SnapshotApiKey {
  readonly type: "api_key";
  readonly apiKey: ApiKey;
}

/** The newest act of an operator. */
export interface SnapshotOperator {
  readonly type: "operator";
  readonly act: OperatorAct;
}

export interface SnapshotGroupIds {
  readonly type: "group_ids";
  readonly index: RaftIndex;
  readonly groups: Uint8Array;
}

/** The clear id with its salt; or, if it was erased, the index prefix under which it is still taken. */
export type SnapshotClientEvent =
  | {
      readonly isErased: false;
      /** 16 bytes. */
      readonly apiClientId: Uint8Array;
      readonly clientEventId: string;
      /** 32 bytes. */
      readonly salt: Uint8Array;
    }
  | {
      readonly isErased: true;
      /** 16 bytes. */
      readonly apiClientId: Uint8Array;
      /** The first 8 bytes of the hash of API client and id. */
      readonly prefix: Uint8Array;
    };

export interface SnapshotLeaf {
  readonly type: "leaf";
  readonly bytes: Uint8Array;
  readonly clientEvent: SnapshotClientEvent | null;
  /** 16 bytes: the API client that recorded a claim or a grant; null for other leaves. */
  readonly recordedBy: Uint8Array | null;
}

/** A certificate over the tree that the preceding leaf completes, in that leaf's origin. */
export interface SnapshotCertificate {
  readonly type: "certificate";
  readonly rootHash: Uint8Array;
  readonly certifiedAtS: number;
  readonly trustRootVersion: number;
  readonly cosignatures: readonly Cosignature[];
}

export interface SnapshotEnd {
  readonly type: "end";
}

export type SnapshotRecord =
  | SnapshotHeader
  | SnapshotTrustRoot
  | SnapshotStateHead
  | SnapshotApiKey
  | SnapshotOperator
  | SnapshotGroupIds
  | SnapshotLeaf
  | SnapshotCertificate
  | SnapshotEnd;

function writeHeader(writer: ByteWriter, header: SnapshotHeader): void {
  writer.u8(FORMAT_VERSION);
  writer.u64(header.raftIndex).u64(header.raftTerm).bytes(header.effect, 32);
  writer.u64(header.nextSequence).u64(header.lastAcceptedMs).u16(header.rules).u64(header.stampMs);
  writer.u64(header.groupIdsFrom).bytes(header.groupIdsHashBefore, 32);
  writer.lengthPrefixed16(header.confState === null ? NO_BYTES : encodeConfState(header.confState));
}

function writeApiKey(writer: ByteWriter, key: ApiKey): void {
  writer
    .bytes(key.keyId, 16)
    .bytes(key.keyHash, 32)
    .bytes(key.apiClientId, 16)
    .lengthPrefixed16(utf8ToBytes(key.label))
    .u8(scopesToBits(key.scopes))
    .u64(key.expiresMs)
    .u64(key.requestsPerSecond)
    .u64(key.createdMs)
    .u64(key.revokedMs)
    .lengthPrefixed16(utf8ToBytes(key.createdBy.operator))
    .u64(key.createdBy.counter)
    .lengthPrefixed16(utf8ToBytes(key.endedBy?.operator ?? ""))
    .u64(key.endedBy?.counter ?? 0);
}

function writeLeaf(writer: ByteWriter, { bytes, clientEvent, recordedBy }: SnapshotLeaf): void {
  writer.lengthPrefixed16(bytes);
  if (recordedBy !== null) {
    writer.u8(BEHIND.recorder).bytes(recordedBy, 16);
    return;
  }
  if (clientEvent === null) {
    writer.u8(BEHIND.nothing);
    return;
  }
  const { apiClientId } = clientEvent;
  if (clientEvent.isErased) {
    writer.u8(BEHIND.erasedClientEvent).bytes(apiClientId, 16).bytes(clientEvent.prefix, 8);
    return;
  }
  const { clientEventId, salt } = clientEvent;
  writer.u8(BEHIND.clientEvent).bytes(apiClientId, 16).lengthPrefixed16(utf8ToBytes(clientEventId)).bytes(salt, 32);
}

/** @returns the number of the record's kind; its body is in the writer */
function writeBody(writer: ByteWriter, record: SnapshotRecord): number {
  switch (record.type) {
    case "header":
      writeHeader(writer, record);
      return RECORD.header;
    case "trust_root":
      writer.lengthPrefixed32(utf8ToBytes(record.document));
      return RECORD.trustRoot;
    case "state_head":
      writer.lengthPrefixed32(utf8ToBytes(record.note));
      return RECORD.stateHead;
    case "api_key":
      writeApiKey(writer, record.apiKey);
      return RECORD.apiKey;
    case "operator":
      writer.lengthPrefixed16(utf8ToBytes(record.act.operator)).u64(record.act.counter);
      return RECORD.operator;
    case "group_ids":
      writer.u64(record.index).lengthPrefixed32(record.groups);
      return RECORD.groupIds;
    case "leaf":
      writeLeaf(writer, record);
      return RECORD.leaf;
    case "certificate":
      writer.bytes(record.rootHash, 32).u64(record.certifiedAtS).u64(record.trustRootVersion);
      writer.lengthPrefixed16(encodeCosignatures(record.cosignatures));
      return RECORD.certificate;
    case "end":
      return RECORD.end;
    default:
      return assertNever(record);
  }
}

/**
 * Each record: u8 kind, u32 length of the body, the body. All in one piece: thousands of small ones leave holes in the
 * memory of a process that go back to no one.
 */
export function encodeRecords(records: readonly SnapshotRecord[]): Uint8Array {
  const writer = new ByteWriter(records.length * RECORD_BYTES_USUAL);
  // Kind and length of each are known behind its body.
  const frames = records.map((record) => {
    const at = writer.length;
    writer.u8(0).u32(0);
    const kind = writeBody(writer, record);
    return { at, kind, bodyBytes: writer.length - at - FRAME_BYTES };
  });
  const bytes = writer.finish();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const { at, kind, bodyBytes } of frames) {
    view.setUint8(at, kind);
    view.setUint32(at + 1, bodyBytes);
  }
  return bytes;
}

function readConfState(bytes: Uint8Array): ConfState | null {
  return bytes.length === 0 ? null : decodeConfState(bytes);
}

function readHeader(reader: ByteReader): SnapshotHeader {
  const version = reader.u8();
  if (version !== FORMAT_VERSION) throw new DecodeError("kind_unknown", `snapshot format ${version}`);
  return {
    type: "header",
    raftIndex: reader.u64(),
    raftTerm: reader.u64(),
    effect: reader.bytes(32),
    nextSequence: reader.u64(),
    lastAcceptedMs: reader.u64(),
    rules: reader.u16(),
    stampMs: reader.u64(),
    groupIdsFrom: reader.u64(),
    groupIdsHashBefore: reader.bytes(32),
    confState: readConfState(reader.lengthPrefixed16()),
  };
}

function readScopes(reader: ByteReader): ApiKey["scopes"] {
  const bits = reader.u8();
  if (bits >= 2 ** SCOPES.length) throw new DecodeError("value_invalid", `scopes ${bits}`);
  return scopesFromBits(bits);
}

function readAct(reader: ByteReader): OperatorAct {
  return { operator: bytesToUtf8(reader.lengthPrefixed16()), counter: reader.u64() };
}

function readEnd(reader: ByteReader): OperatorAct | null {
  const act = readAct(reader);
  if (act.operator !== "") return act;
  if (act.counter !== 0) throw new DecodeError("value_invalid", "a counter without an operator");
  return null;
}

function readApiKey(reader: ByteReader): SnapshotApiKey {
  const apiKey: ApiKey = {
    keyId: reader.bytes(16),
    keyHash: reader.bytes(32),
    apiClientId: reader.bytes(16),
    label: bytesToUtf8(reader.lengthPrefixed16()),
    scopes: readScopes(reader),
    expiresMs: reader.u64(),
    requestsPerSecond: reader.u64(),
    createdMs: reader.u64(),
    revokedMs: reader.u64(),
    createdBy: readAct(reader),
    endedBy: readEnd(reader),
  };
  return { type: "api_key", apiKey };
}

function readClientEvent(reader: ByteReader): SnapshotClientEvent {
  return {
    isErased: false,
    apiClientId: reader.bytes(16),
    clientEventId: bytesToUtf8(reader.lengthPrefixed16()),
    salt: reader.bytes(32),
  };
}

function readLeaf(reader: ByteReader): SnapshotLeaf {
  const leaf = { type: "leaf", bytes: reader.lengthPrefixed16(), clientEvent: null, recordedBy: null } as const;
  const behind = reader.u8();
  switch (behind) {
    case BEHIND.nothing:
      return leaf;
    case BEHIND.clientEvent:
      return { ...leaf, clientEvent: readClientEvent(reader) };
    case BEHIND.erasedClientEvent:
      return { ...leaf, clientEvent: { isErased: true, apiClientId: reader.bytes(16), prefix: reader.bytes(8) } };
    case BEHIND.recorder:
      return { ...leaf, recordedBy: reader.bytes(16) };
    default:
      throw new DecodeError("value_invalid", `${behind} behind a leaf`);
  }
}

function readBody(kind: number, reader: ByteReader): SnapshotRecord {
  switch (kind) {
    case RECORD.header:
      return readHeader(reader);
    case RECORD.trustRoot:
      return { type: "trust_root", document: bytesToUtf8(reader.lengthPrefixed32()) };
    case RECORD.stateHead:
      return { type: "state_head", note: bytesToUtf8(reader.lengthPrefixed32()) };
    case RECORD.apiKey:
      return readApiKey(reader);
    case RECORD.operator:
      return { type: "operator", act: readAct(reader) };
    case RECORD.groupIds:
      return { type: "group_ids", index: reader.u64(), groups: reader.lengthPrefixed32() };
    case RECORD.leaf:
      return readLeaf(reader);
    case RECORD.certificate:
      return {
        type: "certificate",
        rootHash: reader.bytes(32),
        certifiedAtS: reader.u64(),
        trustRootVersion: reader.u64(),
        cosignatures: decodeCosignatures(reader.lengthPrefixed16()),
      };
    case RECORD.end:
      return { type: "end" };
    default:
      throw new DecodeError("kind_unknown", `record kind ${kind}`);
  }
}

/** Takes the stream in pieces of any size, which may be attacker-controlled, and gives whole records. */
export class RecordDecoder {
  #rest: Uint8Array = new Uint8Array(0);

  /** The records that this piece completes. @throws DecodeError, InvalidBytesError */
  push(piece: Uint8Array): SnapshotRecord[] {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const records: SnapshotRecord[] = [];
    let offset = 0;
    while (bytes.length - offset >= FRAME_BYTES) {
      const frame = new ByteReader(bytes.subarray(offset, offset + FRAME_BYTES));
      const kind = frame.u8();
      const length = frame.u32();
      if (length > RECORD_BYTES_MAX) throw new DecodeError("length_wrong", `a record of ${length} bytes`);
      if (bytes.length - offset - FRAME_BYTES < length) break;
      const start = offset + FRAME_BYTES;
      const reader = new ByteReader(bytes.subarray(start, start + length));
      records.push(readBody(kind, reader));
      reader.finish();
      offset = start + length;
    }
    this.#rest = Uint8Array.from(bytes.subarray(offset));
    return records;
  }

  /** Bytes that are not part of a complete record yet. */
  get pendingBytes(): number {
    return this.#rest.length;
  }
}
