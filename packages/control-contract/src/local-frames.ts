/**
 * The link between the api process of a node and its control plane: one connection, frames multiplexed by request id.
 * README.md, "Local link". Each frame body is one request or one response; all frames of an event-loop turn
 * are written together.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  ORIGINS_MAX,
  assertNever,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import type { Rejection } from "@event-anchoring/ledger";
import { readCallContext, writeCallContext } from "./call-context.ts";
import type { CallContext } from "./call-context.ts";
import {
  readBoolean,
  readDetail,
  readList,
  readLongText,
  readOptional,
  writeBoolean,
  writeDetail,
  writeList,
  writeOptional,
  writeText,
} from "./fields.ts";
import { decodeJson, encodeJson } from "./json-codec.ts";
import { nodeStatusSchema } from "./node-status.ts";
import type { NodeStatus } from "./node-status.ts";
import { refusalCodeFromByte, refusalCodeToByte } from "./refusal-code.ts";
import type { RefusalCode } from "./refusal-code.ts";
import { readRejection, writeRejection } from "./rejection-codec.ts";
import type { RaftIndex } from "raft-ts";

/** Longest frame either way: a batch of 1,000 events answered with leaves and paths is about 2 MiB. */
export const LOCAL_FRAME_BYTES_MAX = 8 * 1024 * 1024;
/** How long a state is kept readable for a backup: time enough to open it. */
export const STATE_HELD_MS = 60_000;
/** Requests one connection may have outstanding. Beyond it the api process answers `overloaded` itself. */
export const LOCAL_WINDOW = 1024;

const RECORDS_MAX = 1000;
/** A tree of 2^53 leaves has paths of 53 hashes. */
const PATH_HASHES_MAX = 53;

/** When `submitted` is answered: once the events are certified, or as soon as they are known to be committed. */
export type Finality = "certified" | "committed";

/**
 * - `submit`: one command is the whole body of one API request, decided as a unit. `remainingMs` is the caller's
 *   remaining time; no response comes later than that plus 250 ms.
 * - `read`: asks for a read index, and for the certificate rule for `origins`.
 * - `hold_state`: for a backup. Has a quorum sign the state after an entry, and keeps it readable in this node's
 *   database until the connection ends, STATE_HELD_MS at most.
 */
export type LocalRequest =
  | {
      readonly type: "submit";
      /** Chosen by the api process, unique among its outstanding requests; a u32. */
      readonly requestId: number;
      readonly remainingMs: number;
      readonly answer: Finality;
      /**
       * The bytes of one command, as its log entry will hold them; the control plane decodes them to decide whether to
       * propose it.
       */
      readonly command: Uint8Array;
      /** null: it belongs to no client's request. */
      readonly call: CallContext | null;
    }
  | {
      readonly type: "read";
      readonly requestId: number;
      readonly remainingMs: number;
      readonly origins: readonly OriginFingerprint[] | "all" | "none";
    }
  | { readonly type: "hold_state"; readonly requestId: number; readonly remainingMs: number }
  | { readonly type: "status"; readonly requestId: number }
  | { readonly type: "metrics"; readonly requestId: number };

/** A quorum certificate as this node holds it. It may be newer than the recorded one in its tables. */
export interface ShownCertificate {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds: the k-th smallest time of the cosignatures shown. */
  readonly certifiedAtS: number;
  /** The whole signed note: checkpoint text, log line and cosignature lines. */
  readonly checkpoint: string;
  /** The trust-root version that judges this size. */
  readonly trustRootVersion: number;
}

export type SubmittedRecord =
  | {
      readonly status: "accepted";
      /** Bytes of the leaf, as hashed. */
      readonly leaf: Uint8Array;
      readonly anchorId: AnchorId;
      /** Inclusion path under the certificate of the leaf's origin; null while the leaf is only committed. */
      readonly path: readonly Uint8Array[] | null;
      /** 32 bytes iff the event has a client_event_id. */
      readonly clientEventSalt: Uint8Array | null;
    }
  | {
      readonly status: "replayed";
      readonly anchorId: AnchorId;
      readonly originFingerprint: OriginFingerprint;
      readonly sequence: number;
    }
  | { readonly status: "rejected"; readonly rejection: Rejection };

export type SubmittedOutcome =
  | {
      readonly kind: "records";
      /** True: an atomic batch was refused as a whole, and nothing of it is anchored. */
      readonly refused: boolean;
      readonly records: readonly SubmittedRecord[];
      /** The certificates that the paths belong to, one per origin. */
      readonly checkpoints: readonly ShownCertificate[];
    }
  | { readonly kind: "applied" | "unchanged" }
  | { readonly kind: "rejected"; readonly rejection: Rejection };

export type LocalResponse =
  | {
      readonly type: "submitted";
      readonly requestId: number;
      readonly finality: Finality;
      readonly outcome: SubmittedOutcome;
    }
  | {
      readonly type: "ready_to_read";
      readonly requestId: number;
      /** A snapshot of the tables answers this read iff its applied index is at least this. */
      readonly readIndex: RaftIndex;
      readonly certificates: readonly ShownCertificate[];
      readonly trustRootVersion: number;
    }
  | {
      readonly type: "state_held";
      readonly requestId: number;
      readonly raftIndex: RaftIndex;
      /** Name of the database snapshot that has the state after that entry. */
      readonly databaseSnapshot: string;
      /** The state head, a note that a quorum has signed. */
      readonly stateHead: string;
    }
  | { readonly type: "status"; readonly requestId: number; readonly status: NodeStatus }
  | { readonly type: "metrics"; readonly requestId: number; readonly text: string }
  | {
      readonly type: "refused";
      readonly requestId: number;
      readonly code: RefusalCode;
      readonly detail: string;
      readonly retryAfterMs: number | null;
    };

const REQUEST = { submit: 1, read: 2, status: 3, metrics: 4, hold_state: 5 } as const;
const RESPONSE = { submitted: 1, ready_to_read: 2, status: 3, metrics: 4, refused: 5, state_held: 6 } as const;
const ORIGINS = { none: 0, all: 1, listed: 2 } as const;
const OUTCOME = { records: 0, applied: 1, unchanged: 2, rejected: 3 } as const;
const RECORD = { accepted: 0, replayed: 1, rejected: 2 } as const;

/** The body of a request frame. @throws RangeError if a value is out of its range */
export function encodeLocalRequest(request: LocalRequest): Uint8Array {
  const writer = new ByteWriter();
  writer.u8(REQUEST[request.type]).u32(request.requestId);
  switch (request.type) {
    case "submit":
      writeOptional(writer, request.call, (call) => writeCallContext(writer, call));
      writer.u32(request.remainingMs);
      writeFinality(writer, request.answer);
      writeCommandBytes(writer, request.command);
      break;
    case "read":
      writer.u32(request.remainingMs);
      writeOrigins(writer, request.origins);
      break;
    case "hold_state":
      writer.u32(request.remainingMs);
      break;
    case "status":
    case "metrics":
      break;
    default:
      assertNever(request);
  }
  return writer.finish();
}

/** @throws DecodeError */
export function decodeLocalRequest(body: Uint8Array): LocalRequest {
  const reader = new ByteReader(body);
  const kind = reader.u8();
  const requestId = reader.u32();
  const request = readRequest(reader, kind, requestId);
  reader.finish();
  return request;
}

function readRequest(reader: ByteReader, kind: number, requestId: number): LocalRequest {
  switch (kind) {
    case REQUEST.submit:
      return {
        type: "submit",
        requestId,
        call: readOptional(reader, () => readCallContext(reader)),
        remainingMs: reader.u32(),
        answer: readFinality(reader),
        command: readCommandBytes(reader),
      };
    case REQUEST.read:
      return { type: "read", requestId, remainingMs: reader.u32(), origins: readOrigins(reader) };
    case REQUEST.hold_state:
      return { type: "hold_state", requestId, remainingMs: reader.u32() };
    case REQUEST.status:
      return { type: "status", requestId };
    case REQUEST.metrics:
      return { type: "metrics", requestId };
    default:
      throw new DecodeError("kind_unknown", `local request ${kind}`);
  }
}

/** The body of a response frame. @throws RangeError if a value is out of its range */
export function encodeLocalResponse(response: LocalResponse): Uint8Array {
  const writer = new ByteWriter(512);
  writer.u8(RESPONSE[response.type]).u32(response.requestId);
  switch (response.type) {
    case "submitted":
      writeFinality(writer, response.finality);
      writeOutcome(writer, response.outcome);
      break;
    case "ready_to_read":
      writer.u64(response.readIndex).u32(response.trustRootVersion);
      writeList(writer, response.certificates, (certificate) => writeCertificate(writer, certificate));
      break;
    case "state_held":
      writer.u64(response.raftIndex);
      writeText(writer, response.databaseSnapshot);
      writeText(writer, response.stateHead);
      break;
    case "status":
      writer.lengthPrefixed32(encodeJson(response.status));
      break;
    case "metrics":
      writeText(writer, response.text);
      break;
    case "refused":
      writer.u8(refusalCodeToByte(response.code));
      writeDetail(writer, response.detail);
      writeOptional(writer, response.retryAfterMs, (milliseconds) => writer.u32(milliseconds));
      break;
    default:
      assertNever(response);
  }
  return writer.finish();
}

/** @throws DecodeError */
export function decodeLocalResponse(body: Uint8Array): LocalResponse {
  const reader = new ByteReader(body);
  const kind = reader.u8();
  const requestId = reader.u32();
  const response = readResponse(reader, kind, requestId);
  reader.finish();
  return response;
}

function readResponse(reader: ByteReader, kind: number, requestId: number): LocalResponse {
  switch (kind) {
    case RESPONSE.submitted:
      return { type: "submitted", requestId, finality: readFinality(reader), outcome: readOutcome(reader) };
    case RESPONSE.ready_to_read: {
      const readIndex = reader.u64();
      const trustRootVersion = reader.u32();
      const certificates = readList(reader, ORIGINS_MAX, () => readCertificate(reader));
      return { type: "ready_to_read", requestId, readIndex, certificates, trustRootVersion };
    }
    case RESPONSE.state_held: {
      const raftIndex = reader.u64();
      return {
        type: "state_held",
        requestId,
        raftIndex,
        databaseSnapshot: readLongText(reader),
        stateHead: readLongText(reader),
      };
    }
    case RESPONSE.status:
      return { type: "status", requestId, status: decodeJson(reader.lengthPrefixed32(), nodeStatusSchema) };
    case RESPONSE.metrics:
      return { type: "metrics", requestId, text: readLongText(reader) };
    case RESPONSE.refused: {
      const code = refusalCodeFromByte(reader.u8());
      const detail = readDetail(reader);
      return { type: "refused", requestId, code, detail, retryAfterMs: readOptional(reader, () => reader.u32()) };
    }
    default:
      throw new DecodeError("kind_unknown", `local response ${kind}`);
  }
}

function writeCommandBytes(writer: ByteWriter, bytes: Uint8Array): void {
  if (bytes.length === 0) throw new RangeError("a command has bytes");
  writer.lengthPrefixed32(bytes);
}

function readCommandBytes(reader: ByteReader): Uint8Array {
  const bytes = reader.lengthPrefixed32();
  if (bytes.length === 0) throw new DecodeError("length_wrong", "a submission without a command");
  return bytes;
}

function writeFinality(writer: ByteWriter, finality: Finality): void {
  writeBoolean(writer, finality === "certified");
}

function readFinality(reader: ByteReader): Finality {
  return readBoolean(reader) ? "certified" : "committed";
}

function writeOrigins(writer: ByteWriter, origins: readonly OriginFingerprint[] | "all" | "none"): void {
  if (origins === "none" || origins === "all") {
    writer.u8(ORIGINS[origins]);
    return;
  }
  writer.u8(ORIGINS.listed);
  writeList(writer, origins, (origin) => writer.bytes(origin, 32));
}

function readOrigins(reader: ByteReader): readonly OriginFingerprint[] | "all" | "none" {
  const kind = reader.u8();
  if (kind === ORIGINS.none) return "none";
  if (kind === ORIGINS.all) return "all";
  if (kind !== ORIGINS.listed) throw new DecodeError("kind_unknown", `origins ${kind}`);
  return readList(reader, ORIGINS_MAX, () => toOriginFingerprint(reader.bytes(32)));
}

function writeCertificate(writer: ByteWriter, certificate: ShownCertificate): void {
  writer.bytes(certificate.originFingerprint, 32).u64(certificate.treeSize).bytes(certificate.rootHash, 32);
  writer.u64(certificate.certifiedAtS).u32(certificate.trustRootVersion);
  writeText(writer, certificate.checkpoint);
}

function readCertificate(reader: ByteReader): ShownCertificate {
  return {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    certifiedAtS: reader.u64(),
    trustRootVersion: reader.u32(),
    checkpoint: readLongText(reader),
  };
}

function writeOutcome(writer: ByteWriter, outcome: SubmittedOutcome): void {
  writer.u8(OUTCOME[outcome.kind]);
  switch (outcome.kind) {
    case "records":
      writeBoolean(writer, outcome.refused);
      writeList(writer, outcome.records, (record) => writeRecord(writer, record));
      writeList(writer, outcome.checkpoints, (certificate) => writeCertificate(writer, certificate));
      break;
    case "applied":
    case "unchanged":
      break;
    case "rejected":
      writeRejection(writer, outcome.rejection);
      break;
    default:
      assertNever(outcome);
  }
}

function readOutcome(reader: ByteReader): SubmittedOutcome {
  const kind = reader.u8();
  switch (kind) {
    case OUTCOME.records: {
      const refused = readBoolean(reader);
      const records = readList(reader, RECORDS_MAX, () => readRecord(reader));
      return {
        kind: "records",
        refused,
        records,
        checkpoints: readList(reader, ORIGINS_MAX, () => readCertificate(reader)),
      };
    }
    case OUTCOME.applied:
      return { kind: "applied" };
    case OUTCOME.unchanged:
      return { kind: "unchanged" };
    case OUTCOME.rejected:
      return { kind: "rejected", rejection: readRejection(reader) };
    default:
      throw new DecodeError("kind_unknown", `outcome ${kind}`);
  }
}

function writeRecord(writer: ByteWriter, record: SubmittedRecord): void {
  writer.u8(RECORD[record.status]);
  switch (record.status) {
    case "accepted":
      writer.lengthPrefixed16(record.leaf).bytes(record.anchorId, 32);
      writeOptional(writer, record.path, (path) => writeList(writer, path, (hash) => writer.bytes(hash, 32)));
      writeOptional(writer, record.clientEventSalt, (salt) => writer.bytes(salt, 32));
      break;
    case "replayed":
      writer.bytes(record.anchorId, 32).bytes(record.originFingerprint, 32).u64(record.sequence);
      break;
    case "rejected":
      writeRejection(writer, record.rejection);
      break;
    default:
      assertNever(record);
  }
}

function readRecord(reader: ByteReader): SubmittedRecord {
  const status = reader.u8();
  switch (status) {
    case RECORD.accepted:
      return {
        status: "accepted",
        leaf: reader.lengthPrefixed16(),
        anchorId: toAnchorId(reader.bytes(32)),
        path: readOptional(reader, () => readList(reader, PATH_HASHES_MAX, () => reader.bytes(32))),
        clientEventSalt: readOptional(reader, () => reader.bytes(32)),
      };
    case RECORD.replayed: {
      const anchorId = toAnchorId(reader.bytes(32));
      const originFingerprint = toOriginFingerprint(reader.bytes(32));
      return { status: "replayed", anchorId, originFingerprint, sequence: reader.u64() };
    }
    case RECORD.rejected:
      return { status: "rejected", rejection: readRejection(reader) };
    default:
      throw new DecodeError("kind_unknown", `record status ${status}`);
  }
}
