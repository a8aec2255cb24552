/**
 * The messages between nodes once a session is open. README.md, "Peer frames".
 *
 * A node dials two connections to every peer, one per lane, and sends only on the ones it dialled. Every frame after
 * the handshake is u32 length ‖ sequence u64 ‖ frame body; the sequence starts at 1 and rises by one. A frame with an
 * empty body is a keepalive, the only thing a listener answers, with its own sequence.
 */
import { ByteReader, ByteWriter, DecodeError, assertNever, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { decodeGroupId, encodeGroupId } from "@event-anchoring/ledger";
import type { Certificate, Cosignature, GroupId } from "@event-anchoring/ledger";
import { readTraceContext, writeTraceContext } from "./call-context.ts";
import type { TraceContext } from "./call-context.ts";
import {
  readBoolean,
  readDetail,
  readList,
  readNodeId,
  writeBoolean,
  writeDetail,
  writeList,
  writeNodeId,
} from "./fields.ts";
import { readSignedProgress, writeSignedProgress } from "./own-word.ts";
import type { SignedProgress } from "./own-word.ts";
import { refusalCodeFromByte, refusalCodeToByte } from "./refusal-code.ts";
import type { RefusalCode } from "./refusal-code.ts";
import type { RaftIndex, Term } from "raft-ts";

/**
 * `control`: heartbeats, votes, acknowledgements, read index, cosignatures, small entries. `bulk`: everything that is
 * longer than CONTROL_FRAME_BYTES_MAX. They are two connections, so that nothing large delays a heartbeat.
 */
export type Lane = "control" | "bulk";

/** Longest frame body on the control lane; a longer one is sent on the bulk lane whichever lane the caller chose. */
export const CONTROL_FRAME_BYTES_MAX = 64 * 1024;
/** Longest frame body at all: an entry of 1 MiB with its headers, with room to spare. */
export const BULK_FRAME_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of the sequence number before each frame body. */
export const SEQUENCE_BYTES = 8;

const COSIGNATURES_MAX = 4096;
/** Signatures in one exchange: those of all nodes over a few sizes. */
export const LINES_MAX = 256;
const GROUPS_MAX = 8192;
const STATE_SIGNATURES_MAX = 64;
const GROUP_ID_BYTES = 24;
/** Two heads of each of some origins; a sender with more sends several frames. */
export const WITNESSED_HEADS_MAX = 64;
/** Lines of one kind over one head: as many as a note has. */
const HEAD_LINES_MAX = 64;
/** Traced writes named with one frame of proposals; any others in it are not traced. */
export const GROUP_TRACES_MAX = 64;

/** One node's cosignature over its own root of an origin, with the state it belongs to. */
export interface PeerCosignature {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds, as signed. */
  readonly timeS: number;
  readonly signature: Uint8Array;
  /** The entry whose certify point this is. */
  readonly raftIndex: RaftIndex;
  /** The sender's effect chain at raftIndex: a node that differs has diverged. */
  readonly effect: Uint8Array;
}

/** What a node's key has signed about one size of one origin; any node may pass it on. */
export interface HeadLine {
  /** The signer. */
  readonly nodeId: string;
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds, as signed. */
  readonly timeS: number;
  readonly signature: Uint8Array;
}

/** One node's signature over the state head after an entry. */
export interface StateSignature {
  readonly raftIndex: RaftIndex;
  /** SHA-256 of the text of the sender's state head, 32 bytes: a node that differs has diverged. */
  readonly textHash: Uint8Array;
  /** 64 bytes over stateHeadMessage. */
  readonly signature: Uint8Array;
}

/** What a witness has signed about a head. */
export interface WitnessLine {
  /** Its name in the trust root. */
  readonly witness: string;
  /** Unix seconds, as signed. */
  readonly timeS: number;
  readonly signature: Uint8Array;
}

/** A certified head with lines of witnesses. */
export interface WitnessedHead extends Certificate {
  readonly lines: readonly WitnessLine[];
}

/** A traced write among the proposal groups of its frame. */
export interface GroupTrace {
  /** Position of its group in the frame. */
  readonly group: number;
  readonly context: TraceContext;
}

export type PeerFrame =
  /** A raft message as raft-ts encodes it; opaque here. */
  | { readonly type: "raft"; readonly message: Uint8Array }
  /** `asks`: the sender lacks certificates of these, and wants the receiver's own cosignatures. */
  | { readonly type: "cosignatures"; readonly items: readonly PeerCosignature[]; readonly asks: boolean }
  /** Where roots of one size differ: all signatures over that size that the sender holds, over any root. */
  | { readonly type: "lines"; readonly items: readonly HeadLine[] }
  /** The sender's log has grown: sent before it acknowledges that to a leader, and periodically to all nodes. */
  | { readonly type: "progress"; readonly progress: SignedProgress }
  /** `asks`: the sender has no quorum for them, and wants the receiver's own. */
  | { readonly type: "state_signatures"; readonly items: readonly StateSignature[]; readonly asks: boolean }
  /**
   * Proposal groups as ledger encodes them, for the leader; `remainingMs` of the most patient caller. `traces` are
   * beside the groups, never in them: the content of a log entry does not depend on tracing.
   */
  | {
      readonly type: "proposals";
      readonly groups: readonly Uint8Array[];
      readonly remainingMs: number;
      readonly traces: readonly GroupTrace[];
    }
  /** The leader's answer to groups that it did not propose. */
  | {
      readonly type: "proposals_refused";
      readonly ids: readonly GroupId[];
      readonly code: RefusalCode;
      readonly detail: string;
    }
  /** The sender's wall clock in Unix milliseconds, its applied index and its monotonic clock; all whole numbers. */
  | {
      readonly type: "clock";
      readonly wallMs: number;
      readonly appliedIndex: RaftIndex;
      readonly monotonicMs: number;
    }
  /** What witnesses have cosigned: from the leader when it gets a line, and from any node when a peer connects. */
  | { readonly type: "witnessed"; readonly heads: readonly WitnessedHead[] }
  /** The leader's span of an entry that holds traced writes, so that each node's spans of it are of the same trace. */
  | { readonly type: "entry_trace"; readonly index: RaftIndex; readonly term: Term; readonly context: TraceContext };

const FRAME = {
  raft: 1,
  cosignatures: 2,
  proposals: 3,
  proposals_refused: 4,
  clock: 5,
  entry_trace: 6,
  lines: 7,
  progress: 8,
  state_signatures: 9,
  witnessed: 10,
} as const;

/** @throws RangeError if a value is out of its range */
export function encodePeerFrame(frame: PeerFrame): Uint8Array {
  if (frame.type === "raft") return encodeRaftFrame(frame.message);
  const writer = new ByteWriter();
  writer.u8(FRAME[frame.type]);
  switch (frame.type) {
    case "cosignatures":
      writeBoolean(writer, frame.asks);
      writeList(writer, frame.items, (item) => writeCosignature(writer, item));
      break;
    case "lines":
      writeList(writer, frame.items, (item) => writeLine(writer, item));
      break;
    case "progress":
      writeSignedProgress(writer, frame.progress);
      break;
    case "state_signatures":
      writeBoolean(writer, frame.asks);
      writeList(writer, frame.items, (item) => writeStateSignature(writer, item));
      break;
    case "proposals":
      writer.u32(frame.remainingMs);
      writeList(writer, frame.groups, (group) => writer.lengthPrefixed32(group));
      writeGroupTraces(writer, frame.traces);
      break;
    case "proposals_refused":
      writer.u8(refusalCodeToByte(frame.code));
      writeDetail(writer, frame.detail);
      writeList(writer, frame.ids, (id) => writer.bytes(encodeGroupId(id), GROUP_ID_BYTES));
      break;
    case "clock":
      writer.u64(frame.wallMs).u64(frame.appliedIndex).u64(frame.monotonicMs);
      break;
    case "witnessed":
      writeList(writer, frame.heads, (head) => writeWitnessedHead(writer, head));
      break;
    case "entry_trace":
      writer.u64(frame.index).u64(frame.term);
      writeTraceContext(writer, frame.context);
      break;
    default:
      assertNever(frame);
  }
  return writer.finish();
}

/** Attacker-controlled input of an authenticated peer. @throws DecodeError */
export function decodePeerFrame(body: Uint8Array): PeerFrame {
  const reader = new ByteReader(body);
  const frame = readFrame(reader);
  reader.finish();
  return frame;
}

function encodeRaftFrame(message: Uint8Array): Uint8Array {
  const body = new Uint8Array(1 + message.length);
  body[0] = FRAME.raft;
  body.set(message, 1);
  return body;
}

function readFrame(reader: ByteReader): PeerFrame {
  const kind = reader.u8();
  switch (kind) {
    case FRAME.raft:
      if (reader.remaining === 0) throw new DecodeError("truncated", "empty raft message");
      return { type: "raft", message: reader.bytes(reader.remaining) };
    case FRAME.cosignatures: {
      const asks = readBoolean(reader);
      return { type: "cosignatures", items: readList(reader, COSIGNATURES_MAX, () => readCosignature(reader)), asks };
    }
    case FRAME.lines:
      return { type: "lines", items: readList(reader, LINES_MAX, () => readLine(reader)) };
    case FRAME.progress:
      return { type: "progress", progress: readSignedProgress(reader) };
    case FRAME.state_signatures: {
      const asks = readBoolean(reader);
      const items = readList(reader, STATE_SIGNATURES_MAX, () => readStateSignature(reader));
      return { type: "state_signatures", items, asks };
    }
    case FRAME.proposals:
      return readProposals(reader);
    case FRAME.proposals_refused: {
      const code = refusalCodeFromByte(reader.u8());
      const detail = readDetail(reader);
      return {
        type: "proposals_refused",
        code,
        detail,
        ids: readList(reader, GROUPS_MAX, () => decodeGroupId(reader.view(GROUP_ID_BYTES))),
      };
    }
    case FRAME.clock:
      return { type: "clock", wallMs: reader.u64(), appliedIndex: reader.u64(), monotonicMs: reader.u64() };
    case FRAME.witnessed:
      return { type: "witnessed", heads: readList(reader, WITNESSED_HEADS_MAX, () => readWitnessedHead(reader)) };
    case FRAME.entry_trace:
      return { type: "entry_trace", index: reader.u64(), term: reader.u64(), context: readTraceContext(reader) };
    default:
      throw new DecodeError("kind_unknown", `peer frame ${kind}`);
  }
}

type Proposals = Extract<PeerFrame, { type: "proposals" }>;

function readProposals(reader: ByteReader): Proposals {
  const remainingMs = reader.u32();
  const groups = readList(reader, GROUPS_MAX, () => reader.lengthPrefixed32());
  const traces = readList(reader, GROUP_TRACES_MAX, () => ({ group: reader.u16(), context: readTraceContext(reader) }));
  const stray = traces.find(({ group }) => group >= groups.length);
  if (stray !== undefined) throw new DecodeError("value_invalid", `a trace of group ${stray.group}, which is not here`);
  return { type: "proposals", remainingMs, groups, traces };
}

function writeGroupTraces(writer: ByteWriter, traces: readonly GroupTrace[]): void {
  if (traces.length > GROUP_TRACES_MAX) throw new RangeError(`${traces.length} traces in one frame`);
  writeList(writer, traces, ({ group, context }) => {
    writer.u16(group);
    writeTraceContext(writer, context);
  });
}

function writeCosignature(writer: ByteWriter, item: PeerCosignature): void {
  writer.bytes(item.originFingerprint, 32).u64(item.treeSize).bytes(item.rootHash, 32);
  writer.u64(item.timeS).bytes(item.signature, 64).u64(item.raftIndex).bytes(item.effect, 32);
}

function readCosignature(reader: ByteReader): PeerCosignature {
  return {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    timeS: reader.u64(),
    signature: reader.bytes(64),
    raftIndex: reader.u64(),
    effect: reader.bytes(32),
  };
}

function writeLine(writer: ByteWriter, { nodeId, ...line }: HeadLine): void {
  writeNodeId(writer, nodeId);
  writer.bytes(line.originFingerprint, 32).u64(line.treeSize).bytes(line.rootHash, 32);
  writer.u64(line.timeS).bytes(line.signature, 64);
}

function readLine(reader: ByteReader): HeadLine {
  return {
    nodeId: readNodeId(reader),
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    timeS: reader.u64(),
    signature: reader.bytes(64),
  };
}

function writeStateSignature(writer: ByteWriter, item: StateSignature): void {
  writer.u64(item.raftIndex).bytes(item.textHash, 32).bytes(item.signature, 64);
}

function readStateSignature(reader: ByteReader): StateSignature {
  return { raftIndex: reader.u64(), textHash: reader.bytes(32), signature: reader.bytes(64) };
}

function writeWitnessedHead(writer: ByteWriter, head: WitnessedHead): void {
  writer.bytes(head.originFingerprint, 32).u64(head.treeSize).bytes(head.rootHash, 32);
  const write = (name: string, { timeS, signature }: Pick<Cosignature, "timeS" | "signature">): void => {
    writeNodeId(writer, name);
    writer.u64(timeS).bytes(signature, 64);
  };
  writeList(writer, head.cosignatures, (cosignature) => write(cosignature.nodeId, cosignature));
  writeList(writer, head.lines, (line) => write(line.witness, line));
}

function readWitnessedHead(reader: ByteReader): WitnessedHead {
  const originFingerprint = toOriginFingerprint(reader.bytes(32));
  const treeSize = reader.u64();
  const rootHash = reader.bytes(32);
  const read = (): Cosignature => ({
    nodeId: readNodeId(reader),
    timeS: reader.u64(),
    signature: reader.bytes(64),
  });
  const cosignatures = readList(reader, HEAD_LINES_MAX, read);
  // A witness's name is of the same form as a node id.
  const lines = readList(reader, HEAD_LINES_MAX, read).map(({ nodeId, ...line }) => ({ witness: nodeId, ...line }));
  return { originFingerprint, treeSize, rootHash, cosignatures, lines };
}
