/** The bodies of the signed first frame each way. README.md, "Hello". */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  ORIGINS_MAX,
  assertNever,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, SignedTrustRoot, TrustRoot } from "@event-anchoring/protocol";
import { readOwnWord, readSignedProgress, writeOwnWord, writeSignedProgress } from "./own-word.ts";
import type { OwnWord, SignedProgress } from "./own-word.ts";
import {
  readBoolean,
  readDetail,
  readList,
  readLongText,
  readNodeId,
  readOptional,
  writeBoolean,
  writeDetail,
  writeList,
  writeNodeId,
  writeOptional,
  writeText,
} from "./fields.ts";
import type { RaftIndex } from "raft-ts";

/** Fingerprint, size and root of one signed head. */
const SIGNED_HEAD_BYTES = 32 + 8 + 32;
/**
 * Longest first frame, Cluster-auth header included: a head for the maximum number of origins, and room for the rest.
 * An answer may carry trust roots: it has its own limit.
 */
export const HELLO_FRAME_BYTES_MAX = 16 * 1024 + ORIGINS_MAX * SIGNED_HEAD_BYTES;
export const HELLO_ANSWER_FRAME_BYTES_MAX = 1024 * 1024;

const TRUST_ROOTS_MAX = 1024;
const TRUST_ROOTS_BYTES_MAX = HELLO_ANSWER_FRAME_BYTES_MAX / 2;

/** The largest tree of an origin that a node has cosigned. */
export interface SignedSize {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

/** What a node states about itself when a session opens. A peer that remembers more than this refuses it (amnesia). */
export interface Hello {
  readonly nodeId: string;
  readonly clusterId: Uint8Array;
  /** How far its log has ever reached, in which incarnation (which rises by one at every start), signed. */
  readonly progress: SignedProgress;
  readonly signed: readonly SignedSize[];
  /** The newest trust root that the node knows: one that refuses it may show it later ones. */
  readonly trustRootVersion: number;
  /** The highest rules that this node lets the cluster raise to (docs/versions.md). */
  readonly rulesMax: number;
  /**
   * For a node of a group that was restored from a backup: the log entry of that backup, and the effect chain there.
   */
  readonly restoredFrom?: { readonly raftIndex: RaftIndex; readonly effect: Uint8Array };
}

/**
 * Why a hello was refused; the position is the byte on the wire.
 * - `amnesia`: we remember a promise of yours that you do not. What you signed yourself is attached.
 * - `stale_incarnation`: a later start of you, or another process in the same one, has already spoken to us. One of
 *   you is a clone. What it signed is attached.
 * - `retired`: the trust root in force says that you are not a member any more; later ones than yours are attached.
 * - `unknown_node`: you are not in the newest trust root we know; later ones than yours are attached.
 * - `wrong_cluster`, `bad_signature`, `replayed`: the frame was not made by that node for this connection.
 * - `other_backup`: both were restored from backups, but not from the same one.
 * - `not_ready`: the answering node is loading. Nothing is wrong with the hello; dial again.
 * - `cut_off`: you have sent what no node sends that keeps its promises, and are cut off for a while.
 */
const HELLO_REFUSAL_CODES = [
  "amnesia",
  "stale_incarnation",
  "retired",
  "unknown_node",
  "wrong_cluster",
  "bad_signature",
  "replayed",
  "not_ready",
  "other_backup",
  "cut_off",
] as const;

export type HelloRefusalCode = (typeof HELLO_REFUSAL_CODES)[number];

export interface HelloRefusal {
  readonly accepted: false;
  readonly code: HelloRefusalCode;
  readonly detail: string;
  /** For a node that may have missed a rotation, made by `trustRootsAfter`. They prove themselves. */
  readonly trustRootChain?: readonly string[];
  /** With `amnesia` and `stale_incarnation`. Without it they are only a peer's word, which fences no node. */
  readonly ownWord?: OwnWord;
}

export type HelloAnswer = { readonly accepted: true; readonly hello: Hello } | HelloRefusal;

/** What a node decides about a peer's hello after Cluster-auth has accepted it. */
export type HelloVerdict = { readonly accepted: true } | HelloRefusal;

/** The signed document of a version. */
type NotedVersion = Pick<SignedTrustRoot, "note"> & { readonly trustRoot: Pick<TrustRoot, "version"> };

/**
 * The signed documents of later versions than a hello names, oldest first, as many as its answer has room for. A
 * node that has learnt them names the newest in its next hello, and is shown what follows.
 * @param held consecutive versions, oldest first
 */
export function trustRootsAfter(held: readonly NotedVersion[], version: number): readonly string[] {
  const shown: string[] = [];
  let bytes = 0;
  for (const { note } of held.filter(({ trustRoot }) => trustRoot.version > version)) {
    bytes += utf8ToBytes(note).length;
    if (bytes > TRUST_ROOTS_BYTES_MAX || shown.length === TRUST_ROOTS_MAX) break;
    shown.push(note);
  }
  return shown;
}

/** @throws RangeError if a value is out of its range */
export function encodeHello(hello: Hello): Uint8Array {
  const writer = new ByteWriter();
  writeHello(writer, hello);
  return writer.finish();
}

/** @throws DecodeError */
export function decodeHello(bytes: Uint8Array): Hello {
  const reader = new ByteReader(bytes);
  const hello = readHello(reader);
  reader.finish();
  return hello;
}

/** @throws RangeError if a value is out of its range */
export function encodeHelloAnswer(answer: HelloAnswer): Uint8Array {
  const writer = new ByteWriter();
  writeBoolean(writer, answer.accepted);
  switch (answer.accepted) {
    case true:
      writeHello(writer, answer.hello);
      break;
    case false:
      writer.u8(HELLO_REFUSAL_CODES.indexOf(answer.code));
      writeDetail(writer, answer.detail);
      writeOptional(writer, answer.trustRootChain ?? null, (chain) =>
        writeList(writer, chain, (document) => writeText(writer, document)),
      );
      writeOptional(writer, answer.ownWord ?? null, (word) => writeOwnWord(writer, word));
      break;
    default:
      assertNever(answer);
  }
  return writer.finish();
}

/** @throws DecodeError */
export function decodeHelloAnswer(bytes: Uint8Array): HelloAnswer {
  const reader = new ByteReader(bytes);
  const answer: HelloAnswer = readBoolean(reader) ? { accepted: true, hello: readHello(reader) } : readRefusal(reader);
  reader.finish();
  return answer;
}

function readRefusal(reader: ByteReader): HelloRefusal {
  const byte = reader.u8();
  const code = HELLO_REFUSAL_CODES[byte];
  if (code === undefined) throw new DecodeError("kind_unknown", `hello refusal ${byte}`);
  const detail = readDetail(reader);
  const chain = readOptional(reader, () => readList(reader, TRUST_ROOTS_MAX, () => readLongText(reader)));
  const ownWord = readOptional(reader, () => readOwnWord(reader));
  return {
    accepted: false,
    code,
    detail,
    ...(chain === null ? {} : { trustRootChain: chain }),
    ...(ownWord === null ? {} : { ownWord }),
  };
}

function writeHello(writer: ByteWriter, hello: Hello): void {
  writeNodeId(writer, hello.nodeId);
  writer.bytes(hello.clusterId, 32);
  writeSignedProgress(writer, hello.progress);
  writeList(writer, hello.signed, (head) =>
    writer.bytes(head.originFingerprint, 32).u64(head.treeSize).bytes(head.rootHash, 32),
  );
  writer.u32(hello.trustRootVersion).u16(hello.rulesMax);
  writeOptional(writer, hello.restoredFrom ?? null, ({ raftIndex, effect }) => writer.u64(raftIndex).bytes(effect, 32));
}

function readHello(reader: ByteReader): Hello {
  const hello = {
    nodeId: readNodeId(reader),
    clusterId: reader.bytes(32),
    progress: readSignedProgress(reader),
    signed: readList(reader, ORIGINS_MAX, () => ({
      originFingerprint: toOriginFingerprint(reader.bytes(32)),
      treeSize: reader.u64(),
      rootHash: reader.bytes(32),
    })),
    trustRootVersion: reader.u32(),
    rulesMax: reader.u16(),
  };
  const restoredFrom = readOptional(reader, () => ({ raftIndex: reader.u64(), effect: reader.bytes(32) }));
  return restoredFrom === null ? hello : { ...hello, restoredFrom };
}
