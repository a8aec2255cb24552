/** The control plane's private HTTPS calls: paths, callers, bodies. README.md, "Unary calls". */
import { ByteReader, ByteWriter, DecodeError, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { z } from "zod";
import { readList, writeList } from "./fields.ts";
import { decodeJson, encodeJson } from "./json-codec.ts";
import { nodeStatusSchema } from "./node-status.ts";
import type { NodeStatus } from "./node-status.ts";
import type { Lane } from "./peer-frames.ts";
import type { RaftIndex, Term } from "raft-ts";

/** Where the two lanes of a session begin, by an HTTP upgrade to UPGRADE_PROTOCOL. */
export const LANE_PATHS: Readonly<Record<Lane, string>> = {
  control: "/control/v1/quorum-signing",
  bulk: "/control/v1/replication",
};
export const UPGRADE_PROTOCOL = "event-anchoring-control/1";

/** Longest request body of a unary call. */
export const UNARY_REQUEST_BYTES_MAX = 256 * 1024;
/** Longest answer that is not a stream. */
export const UNARY_RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

/** `certificate`: any holder of a certificate of the private CA and this cluster, of any role, without Cluster-auth. */
export type UnaryCaller = "node" | "operator" | "certificate";

export interface UnaryCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly callers: readonly UnaryCaller[];
}

/**
 * Every unary call. `trust_root` needs no Cluster-auth because its answer proves itself, and a node that was down
 * during a rotation must be able to learn it.
 */
export const UNARY_CALLS = {
  trust_root: { method: "GET", path: "/control/v1/trust-root", callers: ["certificate"] },
  prime_root_thk: { method: "GET", path: "/control/v1/prime-root-thk", callers: ["node"] },
  status: { method: "GET", path: "/control/v1/status", callers: ["node", "operator"] },
  trust_root_readiness: { method: "POST", path: "/control/v1/trust-root-readiness", callers: ["node"] },
  membership: { method: "GET", path: "/control/v1/membership", callers: ["node", "operator"] },
  propose_trust_root: { method: "POST", path: "/control/v1/operator/propose-trust-root", callers: ["operator"] },
  snapshot_manifest: { method: "GET", path: "/control/v1/snapshot/manifest", callers: ["node"] },
  snapshot_chunk: { method: "POST", path: "/control/v1/snapshot/chunk", callers: ["node"] },
  operator_act: { method: "POST", path: "/control/v1/operator/act", callers: ["operator"] },
  list_api_keys: { method: "GET", path: "/control/v1/operator/api-keys", callers: ["operator"] },
} as const satisfies Record<string, UnaryCall>;

export type UnaryCallName = keyof typeof UNARY_CALLS;

const BY_PATH: ReadonlyMap<string, UnaryCall> = new Map(Object.values(UNARY_CALLS).map((call) => [call.path, call]));

/** Null for a path that is not a call. */
export function unaryCallOf(path: string): UnaryCall | null {
  return BY_PATH.get(path) ?? null;
}

const trustRootSchema = z.strictObject({
  documents: z
    .array(z.string().max(1024 * 1024))
    .min(1)
    .max(1024),
});

/** The signed trust-root documents, version 1 first. The receiver must verify it from a pin. */
export function encodeTrustRootChain(documents: readonly string[]): Uint8Array {
  return encodeJson({ documents });
}

/** @throws DecodeError */
export function decodeTrustRootChain(body: Uint8Array): string[] {
  return decodeJson(body, trustRootSchema).documents;
}

const primeRootThkSchema = z.strictObject({
  primeNodeId: z.string().min(1).max(32),
  version: z.int().min(1).max(0xffff_ffff),
  rootThk: z.string().regex(/^[0-9a-f]{64}$/),
  readIndex: z.int().min(1),
  term: z.int().min(1),
});

/**
 * The leader's newest trust root, confirmed by a read-index round: a quorum confirmed that nothing newer is committed.
 */
export interface PrimeRootThk {
  readonly primeNodeId: string;
  readonly version: number;
  readonly rootThk: Uint8Array;
  /** The read index of the round that confirmed it, and the term it was run in. */
  readonly readIndex: RaftIndex;
  readonly term: Term;
}

export function encodePrimeRootThk(prime: PrimeRootThk): Uint8Array {
  return encodeJson({ ...prime, rootThk: bytesToHex(prime.rootThk) });
}

/** @throws DecodeError */
export function decodePrimeRootThk(body: Uint8Array): PrimeRootThk {
  const prime = decodeJson(body, primeRootThkSchema);
  return { ...prime, rootThk: hexToBytes(prime.rootThk, 32) };
}

export function encodeNodeStatus(status: NodeStatus): Uint8Array {
  return encodeJson(status);
}

/** @throws DecodeError */
export function decodeNodeStatus(body: Uint8Array): NodeStatus {
  return decodeJson(body, nodeStatusSchema);
}

const CHUNKS_MAX = 65_535;

/** One exported state. Its chunks stay available under snapshotId until the exporter closes it. */
export interface SnapshotManifest {
  /** 16 random bytes drawn by the exporter. */
  readonly snapshotId: Uint8Array;
  /** The state after this entry. */
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  /** Effect chain at raftIndex. */
  readonly effect: Uint8Array;
  /** Bytes of every chunk except the last. */
  readonly chunkBytes: number;
  readonly totalBytes: number;
  /** SHA-256 of each chunk, in order. */
  readonly chunkHashes: readonly Uint8Array[];
  /** SHA-256 of all chunks joined. */
  readonly wholeHash: Uint8Array;
}

export function encodeSnapshotManifest(manifest: SnapshotManifest): Uint8Array {
  const writer = new ByteWriter();
  writer.bytes(manifest.snapshotId, 16).u64(manifest.raftIndex).u64(manifest.raftTerm).bytes(manifest.effect, 32);
  writer.u32(manifest.chunkBytes).u64(manifest.totalBytes).bytes(manifest.wholeHash, 32);
  writeList(writer, manifest.chunkHashes, (hash) => writer.bytes(hash, 32));
  return writer.finish();
}

/** Also refuses sizes that do not add up. @throws DecodeError */
export function decodeSnapshotManifest(body: Uint8Array): SnapshotManifest {
  const reader = new ByteReader(body);
  const head = {
    snapshotId: reader.bytes(16),
    raftIndex: reader.u64(),
    raftTerm: reader.u64(),
    effect: reader.bytes(32),
    chunkBytes: reader.u32(),
    totalBytes: reader.u64(),
    wholeHash: reader.bytes(32),
  };
  const chunkHashes = readList(reader, CHUNKS_MAX, () => reader.bytes(32));
  reader.finish();
  if (head.chunkBytes === 0 || Math.ceil(head.totalBytes / head.chunkBytes) !== chunkHashes.length) {
    throw new DecodeError("value_invalid", "snapshot sizes do not add up");
  }
  return { ...head, chunkHashes };
}

export interface SnapshotChunkRequest {
  readonly snapshotId: Uint8Array;
  /** From 0. */
  readonly chunkIndex: number;
}

export function encodeSnapshotChunkRequest(request: SnapshotChunkRequest): Uint8Array {
  return new ByteWriter(20).bytes(request.snapshotId, 16).u32(request.chunkIndex).finish();
}

/** @throws DecodeError */
export function decodeSnapshotChunkRequest(body: Uint8Array): SnapshotChunkRequest {
  const reader = new ByteReader(body);
  const request = { snapshotId: reader.bytes(16), chunkIndex: reader.u32() };
  reader.finish();
  return request;
}
