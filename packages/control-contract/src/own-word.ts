/** What a node has signed about itself, and how a peer sends it back as proof. README.md, "Progress". */
import { ByteWriter, DecodeError, asciiToBytes, tag, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ByteReader, OriginFingerprint } from "@event-anchoring/protocol";
import type { RaftIndex, Term } from "raft-ts";

/** The furthest that a node's durable log has ever reached, by its own statement, and in which of its lives. */
export interface Progress {
  /** The group's epoch: a restored cluster has another one. */
  readonly epoch: number;
  readonly incarnation: number;
  /** 16 random bytes, drawn with the incarnation: a clone in the same incarnation has other ones. */
  readonly lifeId: Uint8Array;
  /** Term and index of the highest end that the log has had, in Raft's order: term first, then index. */
  readonly term: Term;
  readonly index: RaftIndex;
}

/** A progress with the signature of its node's auth key. It proves itself, whichever peer sends it. */
export interface SignedProgress extends Progress {
  /** 64 bytes, over progressSignedBytes. */
  readonly signature: Uint8Array;
}

/** A statement that only the accused node can have signed: it is a proof, and no peer's word is needed. */
export type OwnWord =
  | { readonly kind: "progress"; readonly progress: SignedProgress }
  | {
      readonly kind: "cosignature";
      readonly originFingerprint: OriginFingerprint;
      readonly treeSize: number;
      readonly rootHash: Uint8Array;
      /** Unix seconds, as signed. */
      readonly timeS: number;
      readonly signature: Uint8Array;
      /** Where the size was reached, if the peer knows: the log index of that certify point; else 0. Not signed. */
      readonly raftIndex: RaftIndex;
    };

const KIND = { progress: 1, cosignature: 2 } as const;

/** The bytes that a node's auth key signs. */
export function progressSignedBytes(
  node: { readonly clusterId: Uint8Array; readonly nodeId: string },
  progress: Progress,
): Uint8Array {
  const writer = new ByteWriter(160).bytes(tag("progress")).bytes(node.clusterId, 32);
  writer.u64(progress.epoch).lengthPrefixed16(asciiToBytes(node.nodeId));
  writer.u64(progress.incarnation).bytes(progress.lifeId, 16);
  return writer.u64(progress.term).u64(progress.index).finish();
}

export function writeSignedProgress(writer: ByteWriter, progress: SignedProgress): void {
  writer.u64(progress.epoch).u64(progress.incarnation).bytes(progress.lifeId, 16);
  writer.u64(progress.term).u64(progress.index).bytes(progress.signature, 64);
}

export function readSignedProgress(reader: ByteReader): SignedProgress {
  return {
    epoch: reader.u64(),
    incarnation: reader.u64(),
    lifeId: reader.bytes(16),
    term: reader.u64(),
    index: reader.u64(),
    signature: reader.bytes(64),
  };
}

export function writeOwnWord(writer: ByteWriter, word: OwnWord): void {
  writer.u8(KIND[word.kind]);
  if (word.kind === "progress") return writeSignedProgress(writer, word.progress);
  writer.bytes(word.originFingerprint, 32).u64(word.treeSize).bytes(word.rootHash, 32);
  writer.u64(word.timeS).bytes(word.signature, 64).u64(word.raftIndex);
}

/** @throws DecodeError */
export function readOwnWord(reader: ByteReader): OwnWord {
  const kind = reader.u8();
  if (kind === KIND.progress) return { kind: "progress", progress: readSignedProgress(reader) };
  if (kind !== KIND.cosignature) throw new DecodeError("kind_unknown", `own word ${kind}`);
  return {
    kind: "cosignature",
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    timeS: reader.u64(),
    signature: reader.bytes(64),
    raftIndex: reader.u64(),
  };
}
