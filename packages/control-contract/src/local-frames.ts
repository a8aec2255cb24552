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
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { readCallContext, writeCallContext } from "./call-context.ts";
import type { CallContext } from "./call-context.ts";
import { readBoolean, readList, readOptional, writeBoolean, writeList, writeOptional } from "./fields.ts";

/** Longest frame either way: a batch of 1,000 events answered with leaves and paths is about 2 MiB. */
export const LOCAL_FRAME_BYTES_MAX = 8 * 1024 * 1024;
/** How long a state is kept readable: time enough to open it. */
export const STATE_HELD_MS = 60_000;
/** Requests one connection may have outstanding. Beyond it the api process answers `overloaded` itself. */
export const LOCAL_WINDOW = 1024;

/** What a state is held for. */
export type HoldPurpose = "backup" | "proof";

/** When `submitted` is answered: once the events are certified, or as soon as they are known to be committed. */
export type Finality = "certified" | "committed";

/**
 * - `submit`: one command is the whole body of one API request, decided as a unit. `remainingMs` is the caller's
 *   remaining time; no response comes later than that plus 250 ms.
 * - `read`: asks for a read index, and for the certificate rule for `origins`.
 * - `read_latest`: the same for one origin, and for the last leaf under its certificate, if it is in memory.
 * - `await_head`: asks for a certificate of one origin above a size, as soon as there is one. Not linearizable: it is
 *   the newest that this node holds, once its tables hold the leaves. Answered without one if none comes in time.
 *   `isWitnessed`: of heads that enough witnesses have cosigned; one that is there is answered at once.
 * - `api_keys`: asks for the key table as of a read index.
 * - `add_checkpoint`: another log asks this node as its witness, with the body of a tlog-witness request. The control
 *   plane checks everything in it itself.
 * - `cosigned_checkpoint`: asks for the newest checkpoint of another log that this node has cosigned.
 * - `hold_state`: for a backup, or for proofs that the api process makes: each has places of its own. Has a quorum sign
 *   the state after an entry, and keeps it readable in this node's database until the connection ends, STATE_HELD_MS at
 *   most.
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
  | {
      readonly type: "read_latest";
      readonly requestId: number;
      readonly remainingMs: number;
      readonly origin: OriginFingerprint;
    }
  | {
      readonly type: "await_head";
      readonly requestId: number;
      readonly remainingMs: number;
      readonly origin: OriginFingerprint;
      readonly afterSize: number;
      readonly isWitnessed: boolean;
    }
  | { readonly type: "api_keys"; readonly requestId: number; readonly remainingMs: number }
  | {
      readonly type: "add_checkpoint";
      readonly requestId: number;
      readonly remainingMs: number;
      /** As the log has sent it. */
      readonly body: Uint8Array;
    }
  | {
      readonly type: "cosigned_checkpoint";
      readonly requestId: number;
      /** SHA-256 of the log's origin, 32 bytes. */
      readonly originHash: Uint8Array;
    }
  | {
      readonly type: "hold_state";
      readonly requestId: number;
      readonly remainingMs: number;
      readonly purpose: HoldPurpose;
    }
  | { readonly type: "status"; readonly requestId: number }
  | { readonly type: "metrics"; readonly requestId: number };

const REQUEST = {
  submit: 1,
  read: 2,
  status: 3,
  metrics: 4,
  hold_state: 5,
  read_latest: 6,
  api_keys: 7,
  await_head: 8,
  add_checkpoint: 9,
  cosigned_checkpoint: 10,
} as const;
const ORIGINS = { none: 0, all: 1, listed: 2 } as const;

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
    case "read_latest":
      writer.u32(request.remainingMs).bytes(request.origin, 32);
      break;
    case "await_head":
      writer.u32(request.remainingMs).bytes(request.origin, 32).u64(request.afterSize);
      writeBoolean(writer, request.isWitnessed);
      break;
    case "add_checkpoint":
      writer.u32(request.remainingMs).lengthPrefixed32(request.body);
      break;
    case "cosigned_checkpoint":
      writer.bytes(request.originHash, 32);
      break;
    case "api_keys":
      writer.u32(request.remainingMs);
      break;
    case "hold_state":
      writer.u32(request.remainingMs);
      writeBoolean(writer, request.purpose === "proof");
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
    case REQUEST.read_latest: {
      const remainingMs = reader.u32();
      return { type: "read_latest", requestId, remainingMs, origin: toOriginFingerprint(reader.bytes(32)) };
    }
    case REQUEST.await_head: {
      const remainingMs = reader.u32();
      const origin = toOriginFingerprint(reader.bytes(32));
      const afterSize = reader.u64();
      return { type: "await_head", requestId, remainingMs, origin, afterSize, isWitnessed: readBoolean(reader) };
    }
    case REQUEST.add_checkpoint:
      return { type: "add_checkpoint", requestId, remainingMs: reader.u32(), body: reader.lengthPrefixed32() };
    case REQUEST.cosigned_checkpoint:
      return { type: "cosigned_checkpoint", requestId, originHash: reader.bytes(32) };
    case REQUEST.api_keys:
      return { type: "api_keys", requestId, remainingMs: reader.u32() };
    case REQUEST.hold_state:
      return {
        type: "hold_state",
        requestId,
        remainingMs: reader.u32(),
        purpose: readBoolean(reader) ? "proof" : "backup",
      };
    case REQUEST.status:
      return { type: "status", requestId };
    case REQUEST.metrics:
      return { type: "metrics", requestId };
    default:
      throw new DecodeError("kind_unknown", `local request ${kind}`);
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

export function writeFinality(writer: ByteWriter, finality: Finality): void {
  writeBoolean(writer, finality === "certified");
}

export function readFinality(reader: ByteReader): Finality {
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
