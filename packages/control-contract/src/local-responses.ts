/** What the control plane of a node answers its api process, and the certificates that it sends before. */
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
import { SentOnce, readCertificate, writeCertificate } from "./sent-once.ts";
import type { ShownCertificate } from "./sent-once.ts";
import { readFinality, writeFinality } from "./local-frames.ts";
import type { Finality } from "./local-frames.ts";
import { KEYS_PER_FRAME, readKeys, writeKeys } from "./key-list.ts";
import type { CallerKey } from "./key-list.ts";
import { nodeStatusSchema } from "./node-status.ts";
import type { NodeStatus } from "./node-status.ts";
import { refusalCodeFromByte, refusalCodeToByte } from "./refusal-code.ts";
import type { RefusalCode } from "./refusal-code.ts";
import { readRejection, writeRejection } from "./rejection-codec.ts";
import { readWitnessAnswer, writeWitnessAnswer } from "./witness-answer.ts";
import type { WitnessAnswer } from "./witness-answer.ts";
import type { RaftIndex } from "raft-ts";

const RECORDS_MAX = 1000;
/** A tree of 2^53 leaves has paths of 53 hashes. */
const PATH_HASHES_MAX = 53;

/** That a leaf is under the root of a certificate of its origin. */
export interface Inclusion {
  readonly certificate: ShownCertificate;
  readonly path: readonly Uint8Array[];
}

/**
 * The last leaf of an origin's newest certified tree. One object as long as it is true: a newer certificate, or the
 * erasure of its client event id, makes another.
 */
export interface LatestAnchor extends Inclusion {
  readonly leaf: Uint8Array;
  readonly anchorId: AnchorId;
  /** null: it is no event, or its event has no client_event_id. */
  readonly clientEvent: LatestClientEvent | null;
}

export interface LatestClientEvent {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** null: erased. */
  readonly clientEventId: string | null;
  /** 32 bytes; null: erased. */
  readonly salt: Uint8Array | null;
}

export type SubmittedRecord =
  | {
      readonly status: "accepted";
      /** Bytes of the leaf, as hashed. */
      readonly leaf: Uint8Array;
      readonly anchorId: AnchorId;
      /** null while the leaf is only committed. */
      readonly inclusion: Inclusion | null;
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
      /** All that are of one origin are under one certificate. */
      readonly records: readonly SubmittedRecord[];
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
      /**
       * To `read_latest`, under the certificate of its origin: the answer itself, as of the read index or later. null:
       * it is to be read from the tables.
       */
      readonly latest: LatestAnchor | null;
    }
  /** The whole key table, revoked and expired keys too. The same object until it changes. */
  | { readonly type: "api_keys"; readonly requestId: number; readonly keys: readonly CallerKey[] }
  | {
      readonly type: "state_held";
      readonly requestId: number;
      readonly raftIndex: RaftIndex;
      /** Name of the database snapshot that has the state after that entry. */
      readonly databaseSnapshot: string;
      /** The state head, a note that a quorum has signed. */
      readonly stateHead: string;
    }
  | { readonly type: "checkpoint_added"; readonly requestId: number; readonly answer: WitnessAnswer }
  /** null: no checkpoint of that log has been cosigned. */
  | { readonly type: "cosigned_checkpoint"; readonly requestId: number; readonly checkpoint: string | null }
  | { readonly type: "status"; readonly requestId: number; readonly status: NodeStatus }
  | { readonly type: "metrics"; readonly requestId: number; readonly text: string }
  | {
      readonly type: "refused";
      readonly requestId: number;
      readonly code: RefusalCode;
      readonly detail: string;
      readonly retryAfterMs: number | null;
    };

const RESPONSE = {
  submitted: 1,
  ready_to_read: 2,
  status: 3,
  metrics: 4,
  refused: 5,
  state_held: 6,
  api_keys: 10,
  checkpoint_added: 11,
  cosigned_checkpoint: 12,
} as const;
/** Frames that are no responses: later responses name what is in them. */
const SENT_ONCE = { certificate: 7, latest: 8, keys: 9 } as const;
const OUTCOME = { records: 0, applied: 1, unchanged: 2, rejected: 3 } as const;
const RECORD = { accepted: 0, replayed: 1, rejected: 2 } as const;

/** The things that one connection sends once. */
class SentThings {
  readonly certificates = new SentOnce<ShownCertificate>(({ originFingerprint }) => originFingerprint);
  readonly latest = new SentOnce<LatestAnchor>(({ certificate }) => certificate.originFingerprint);
  /** There is one list at a time. null: none has been sent. */
  keys: readonly CallerKey[] | null = null;
}

/** Gives things their ids. */
interface Naming {
  readonly certificate: (certificate: ShownCertificate) => number;
  readonly latest: (latest: LatestAnchor) => number;
}

/** The control plane's end of one connection. */
export class LocalResponseWriter {
  readonly #sent = new SentThings();

  /**
   * The frame bodies of a response: first what it names and what is not the newest sent of its origin, then itself.
   * @throws RangeError if a value is out of its range, or two certificates of one origin are named
   */
  bodiesOf(response: LocalResponse): Uint8Array[] {
    const { certificates, latest } = this.#sent;
    const bodies: Uint8Array[] = [];
    const named = new Set<number>();
    const naming: Naming = {
      certificate: (certificate) => {
        const id =
          certificates.idOf(certificate) ?? sendCertificate(certificates.add(certificate), certificate, bodies);
        named.add(id);
        return id;
      },
      latest: (anchor) => latest.idOf(anchor) ?? sendLatest(latest.add(anchor), anchor, naming, bodies),
    };
    if (response.type === "api_keys") this.#sendKeys(response.keys, bodies);
    const body = encodeResponse(response, naming);
    for (const id of named) {
      if (certificates.find(id) === undefined) throw new RangeError("a response names two certificates of one origin");
    }
    bodies.push(body);
    return bodies;
  }

  #sendKeys(keys: readonly CallerKey[], bodies: Uint8Array[]): void {
    if (this.#sent.keys === keys) return;
    this.#sent.keys = keys;
    for (let from = 0; from === 0 || from < keys.length; from += KEYS_PER_FRAME) {
      const isLast = from + KEYS_PER_FRAME >= keys.length;
      bodies.push(keysFrame(keys.slice(from, from + KEYS_PER_FRAME), isLast));
    }
  }
}

function keysFrame(keys: readonly CallerKey[], isLast: boolean): Uint8Array {
  const writer = new ByteWriter(64 + keys.length * 69).u8(SENT_ONCE.keys);
  writeKeys(writer, keys, isLast);
  return writer.finish();
}

function sendCertificate(id: number, certificate: ShownCertificate, bodies: Uint8Array[]): number {
  const writer = new ByteWriter(1024).u8(SENT_ONCE.certificate).u64(id);
  writeCertificate(writer, certificate);
  bodies.push(writer.finish());
  return id;
}

function sendLatest(id: number, anchor: LatestAnchor, naming: Naming, bodies: Uint8Array[]): number {
  const writer = new ByteWriter(1024).u8(SENT_ONCE.latest).u64(id);
  writeInclusion(writer, anchor, naming);
  writer.lengthPrefixed16(anchor.leaf).bytes(anchor.anchorId, 32);
  writeOptional(writer, anchor.clientEvent, ({ apiClientId, clientEventId, salt }) => {
    writer.bytes(apiClientId, 16);
    writeOptional(writer, clientEventId, (text) => writeText(writer, text));
    writeOptional(writer, salt, (bytes) => writer.bytes(bytes, 32));
  });
  bodies.push(writer.finish());
  return id;
}

/** The api process's end of one connection. */
export class LocalResponseReader {
  readonly #received = new SentThings();
  /** Keys of a list whose last frame has not come. */
  #keys: CallerKey[] = [];

  /**
   * Leaves and paths of responses are not copied out of the frame, which is theirs from then on.
   * @returns null: the frame was something that later responses name. @throws DecodeError
   */
  read(body: Uint8Array): LocalResponse | null {
    const reader = new ByteReader(body);
    const kind = reader.u8();
    if (kind === SENT_ONCE.keys) {
      this.#receiveKeys(reader);
      return null;
    }
    if (kind === SENT_ONCE.certificate || kind === SENT_ONCE.latest) {
      this.#receive(kind, reader);
      return null;
    }
    const response = readResponse(reader, kind, this.#received);
    reader.finish();
    return response;
  }

  #receive(kind: number, reader: ByteReader): void {
    const { certificates, latest } = this.#received;
    const id = reader.u64();
    if (kind === SENT_ONCE.certificate) {
      const certificate = readCertificate(reader);
      reader.finish();
      certificates.receive(id, certificate);
    } else {
      const anchor = readLatest(reader, this.#received);
      reader.finish();
      latest.receive(id, anchor);
    }
  }

  #receiveKeys(reader: ByteReader): void {
    const { keys, isLast } = readKeys(reader);
    reader.finish();
    for (const key of keys) this.#keys.push(key);
    // Half a list answers nothing.
    this.#received.keys = isLast ? this.#keys : null;
    if (isLast) this.#keys = [];
  }
}

/** Kept for as long as it is true: copied out of its frame. */
function readLatest(reader: ByteReader, received: SentThings): LatestAnchor {
  const { certificate, path } = readInclusion(reader, received);
  return {
    certificate,
    path: path.map((hash) => hash.slice()),
    leaf: reader.lengthPrefixed16(),
    anchorId: toAnchorId(reader.bytes(32)),
    clientEvent: readOptional(reader, () => ({
      apiClientId: reader.bytes(16),
      clientEventId: readOptional(reader, () => readLongText(reader)),
      salt: readOptional(reader, () => reader.bytes(32)),
    })),
  };
}

function encodeResponse(response: LocalResponse, naming: Naming): Uint8Array {
  const writer = new ByteWriter(512);
  writer.u8(RESPONSE[response.type]).u32(response.requestId);
  switch (response.type) {
    case "submitted":
      writeFinality(writer, response.finality);
      writeOutcome(writer, response.outcome, naming);
      break;
    case "ready_to_read":
      writer.u64(response.readIndex).u32(response.trustRootVersion);
      writeList(writer, response.certificates, (certificate) => writer.u64(naming.certificate(certificate)));
      writeOptional(writer, response.latest, (latest) => writer.u64(naming.latest(latest)));
      break;
    case "api_keys":
      break;
    case "state_held":
      writer.u64(response.raftIndex);
      writeText(writer, response.databaseSnapshot);
      writeText(writer, response.stateHead);
      break;
    case "checkpoint_added":
      writeWitnessAnswer(writer, response.answer);
      break;
    case "cosigned_checkpoint":
      writeOptional(writer, response.checkpoint, (checkpoint) => writeText(writer, checkpoint));
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

function readResponse(reader: ByteReader, kind: number, received: SentThings): LocalResponse {
  const requestId = reader.u32();
  switch (kind) {
    case RESPONSE.submitted:
      return {
        type: "submitted",
        requestId,
        finality: readFinality(reader),
        outcome: readOutcome(reader, received),
      };
    case RESPONSE.ready_to_read: {
      const readIndex = reader.u64();
      const trustRootVersion = reader.u32();
      const certificates = readList(reader, ORIGINS_MAX, () => received.certificates.named(reader.u64()));
      const latest = readOptional(reader, () => received.latest.named(reader.u64()));
      return { type: "ready_to_read", requestId, readIndex, certificates, trustRootVersion, latest };
    }
    case RESPONSE.api_keys:
      if (received.keys === null) throw new DecodeError("value_invalid", "no list of keys was sent");
      return { type: "api_keys", requestId, keys: received.keys };
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
    case RESPONSE.checkpoint_added:
      return { type: "checkpoint_added", requestId, answer: readWitnessAnswer(reader) };
    case RESPONSE.cosigned_checkpoint: {
      const checkpoint = readOptional(reader, () => readLongText(reader));
      return { type: "cosigned_checkpoint", requestId, checkpoint };
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

function writeOutcome(writer: ByteWriter, outcome: SubmittedOutcome, naming: Naming): void {
  writer.u8(OUTCOME[outcome.kind]);
  switch (outcome.kind) {
    case "records":
      writeBoolean(writer, outcome.refused);
      writeList(writer, outcome.records, (record) => writeRecord(writer, record, naming));
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

function readOutcome(reader: ByteReader, received: SentThings): SubmittedOutcome {
  const kind = reader.u8();
  switch (kind) {
    case OUTCOME.records: {
      const refused = readBoolean(reader);
      const records = readList(reader, RECORDS_MAX, () => readRecord(reader, received));
      return { kind: "records", refused, records };
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

function writeRecord(writer: ByteWriter, record: SubmittedRecord, naming: Naming): void {
  writer.u8(RECORD[record.status]);
  switch (record.status) {
    case "accepted":
      writer.lengthPrefixed16(record.leaf).bytes(record.anchorId, 32);
      writeOptional(writer, record.inclusion, (inclusion) => writeInclusion(writer, inclusion, naming));
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

function readRecord(reader: ByteReader, received: SentThings): SubmittedRecord {
  const status = reader.u8();
  switch (status) {
    case RECORD.accepted:
      return {
        status: "accepted",
        leaf: reader.view(reader.u16()),
        anchorId: toAnchorId(reader.bytes(32)),
        inclusion: readOptional(reader, () => readInclusion(reader, received)),
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

function writeInclusion(writer: ByteWriter, { certificate, path }: Inclusion, naming: Naming): void {
  writer.u64(naming.certificate(certificate)).u8(path.length);
  for (const hash of path) writer.bytes(hash, 32);
}

function readInclusion(reader: ByteReader, received: SentThings): Inclusion {
  const certificate = received.certificates.named(reader.u64());
  const count = reader.u8();
  if (count > PATH_HASHES_MAX) throw new DecodeError("value_invalid", `a path of ${count} hashes`);
  return { certificate, path: Array.from({ length: count }, () => reader.view(32)) };
}
