/**
 * A backup file: its first line, the records of a snapshot, a manifest, and a hash over all of it.
 *
 *     "event-anchoring/backup/v1" LF ‖ records ‖ manifest ‖ u32 length of the manifest ‖ SHA-256 of everything before
 *
 * The manifest follows the records, because the file is written in one pass; a file that was cut off has none.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  InvalidBytesError,
  ORIGIN_STATUSES,
  asciiToBytes,
  bytesToUtf8,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, OriginStatus } from "@event-anchoring/protocol";
import { BackupError } from "./backup-error.ts";
import type { RaftIndex, Term } from "raft-ts";

/** One origin as the backup has it. */
export interface BackupOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly status: OriginStatus;
  readonly treeSize: number;
  /** Root of the tree of `treeSize`, 32 bytes. */
  readonly rootHash: Uint8Array;
  /** Size of the newest certificate that is recorded; 0: none. */
  readonly certifiedSize: number;
}

/** What a backup states about itself. None of it is trusted: a reader compares it with the records. */
export interface BackupManifest {
  readonly clusterName: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  /** The node whose database it was taken from; null: not known. */
  readonly nodeId: string | null;
  /** Clock of the process that took it, Unix milliseconds. */
  readonly takenAtMs: number;
  /** The state after this log entry. */
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  /** Effect chain at raftIndex, 32 bytes. */
  readonly effect: Uint8Array;
  /** How many leaves there are, over all origins. */
  readonly nextSequence: number;
  /** Time of the newest leaf, Unix milliseconds. */
  readonly lastAcceptedMs: number;
  readonly trustRootVersion: number;
  readonly epoch: number;
  /** RootTHK of that version, 32 bytes. */
  readonly rootThk: Uint8Array;
  /** Whether it contains a state head that a quorum has signed. */
  readonly isSigned: boolean;
  /** Ascending by fingerprint. */
  readonly origins: readonly BackupOrigin[];
}

export const BACKUP_MARK = asciiToBytes("event-anchoring/backup/v1\n");
export const NO_ENDING = "it does not end as a backup does: it was cut off, or is something else";
/** The beginning of every version of the format. */
export const BACKUP_MARK_COMMON = asciiToBytes("event-anchoring/backup/v");
export const DIGEST_BYTES = 32;
/** Length of the manifest, and the hash. */
export const ENDING_BYTES = 4 + DIGEST_BYTES;
/** The origins that a trust root of 256 KiB can list fit into this. */
export const MANIFEST_BYTES_MAX = 1024 * 1024;

export function encodeManifest(manifest: BackupManifest): Uint8Array {
  const writer = new ByteWriter(1024)
    .lengthPrefixed16(utf8ToBytes(manifest.clusterName))
    .bytes(manifest.clusterId, 32)
    .lengthPrefixed16(utf8ToBytes(manifest.nodeId ?? ""))
    .u64(manifest.takenAtMs)
    .u64(manifest.raftIndex)
    .u64(manifest.raftTerm)
    .bytes(manifest.effect, 32)
    .u64(manifest.nextSequence)
    .u64(manifest.lastAcceptedMs)
    .u32(manifest.trustRootVersion)
    .u32(manifest.epoch)
    .bytes(manifest.rootThk, 32)
    .u8(manifest.isSigned ? 1 : 0)
    .u32(manifest.origins.length);
  for (const { originFingerprint, status, treeSize, rootHash, certifiedSize } of manifest.origins) {
    writer.bytes(originFingerprint, 32).u8(ORIGIN_STATUSES.indexOf(status)).u64(treeSize);
    writer.bytes(rootHash, 32).u64(certifiedSize);
  }
  return writer.finish();
}

/** @throws BackupError `not_a_backup` */
export function decodeManifest(bytes: Uint8Array): BackupManifest {
  try {
    return readManifest(new ByteReader(bytes));
  } catch (cause) {
    if (!(cause instanceof DecodeError) && !(cause instanceof InvalidBytesError)) throw cause;
    throw new BackupError("not_a_backup", NO_ENDING, { cause });
  }
}

function readManifest(reader: ByteReader): BackupManifest {
  const clusterName = bytesToUtf8(reader.lengthPrefixed16());
  const clusterId = reader.bytes(32);
  const nodeId = bytesToUtf8(reader.lengthPrefixed16());
  const manifest = {
    clusterName,
    clusterId,
    nodeId: nodeId === "" ? null : nodeId,
    takenAtMs: reader.u64(),
    raftIndex: reader.u64(),
    raftTerm: reader.u64(),
    effect: reader.bytes(32),
    nextSequence: reader.u64(),
    lastAcceptedMs: reader.u64(),
    trustRootVersion: reader.u32(),
    epoch: reader.u32(),
    rootThk: reader.bytes(32),
    isSigned: readFlag(reader),
  };
  const count = reader.u32();
  const origins: BackupOrigin[] = [];
  for (let at = 0; at < count; at++) origins.push(readOrigin(reader));
  reader.finish();
  return { ...manifest, origins };
}

function readFlag(reader: ByteReader): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new DecodeError("value_invalid", `flag ${flag}`);
  return flag === 1;
}

function readOrigin(reader: ByteReader): BackupOrigin {
  const originFingerprint = toOriginFingerprint(reader.bytes(32));
  const number = reader.u8();
  const status = ORIGIN_STATUSES[number];
  if (status === undefined) throw new DecodeError("value_invalid", `origin status ${number}`);
  return {
    originFingerprint,
    status,
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    certifiedSize: reader.u64(),
  };
}
