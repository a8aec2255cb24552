/** Rows of the state tables as the api sees them. A row that contradicts itself is corrupt, never left out. */
import type { Cosignature } from "@event-anchoring/ledger";
import {
  LEAF_KIND,
  anchorIdOf,
  decodeLeaf,
  equalBytes,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { AnchorId, LeafKind, OriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { StoreError } from "../postgres/errors.ts";
import { decodeCosignatures } from "./ledger-codec.ts";

/** Shown to keys of the API client that wrote the event, and to `admin`. */
export interface StoredClientEvent {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** null: erased. */
  readonly clientEventId: string | null;
  /** 32 bytes; null: erased. */
  readonly salt: Uint8Array | null;
  /** Its leaf has a client event id, and nobody can say any more which. */
  readonly isErased: boolean;
}

/** One anchored leaf. Its id has been recomputed from `bytes`, and the other fields are those of the leaf. */
export interface StoredAnchor {
  readonly anchorId: AnchorId;
  /** The leaf. */
  readonly bytes: Uint8Array;
  readonly kind: LeafKind;
  readonly originFingerprint: OriginFingerprint;
  readonly depth: number;
  readonly sequence: number;
  readonly acceptedMs: number;
  readonly clientEvent: StoredClientEvent | null;
}

/** A recorded quorum certificate. */
export interface StoredCertificate {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds. */
  readonly certifiedAtS: number;
  readonly trustRootVersion: number;
  readonly cosignatures: readonly Cosignature[];
}

export interface AnchorRow {
  readonly sequence: number;
  readonly origin_fingerprint: Uint8Array;
  readonly depth: number;
  readonly kind: number;
  readonly accepted_ms: number;
  readonly anchor_id: Uint8Array;
  readonly leaf: Uint8Array;
  readonly api_client_id: Uint8Array | null;
  readonly client_event_id: string | null;
  readonly salt: Uint8Array | null;
}

/** Columns of AnchorRow, of `state.anchors a JOIN state.origins o`. */
export const ANCHOR_COLUMNS = `a.sequence, o.origin_fingerprint, a.depth, a.kind, a.accepted_ms, a.anchor_id, a.leaf,
  a.api_client_id, a.client_event_id, a.salt`;

/** @throws StoreError `corrupt` unless every column says what the leaf says */
export function toStoredAnchor(row: AnchorRow): StoredAnchor {
  const leaf = decodeStoredLeaf(row);
  const isIntact =
    leaf.kind === row.kind &&
    leaf.sequence === row.sequence &&
    leaf.depth === row.depth &&
    leaf.acceptedMs === row.accepted_ms &&
    equalBytes(leaf.originFingerprint, row.origin_fingerprint) &&
    equalBytes(anchorIdOf(row.leaf, nodeCrypto.sha256), row.anchor_id);
  if (!isIntact) throw new StoreError("corrupt", `anchor ${row.sequence} does not match its leaf`);
  return {
    anchorId: toAnchorId(row.anchor_id),
    bytes: row.leaf,
    kind: leaf.kind,
    originFingerprint: toOriginFingerprint(row.origin_fingerprint),
    depth: row.depth,
    sequence: row.sequence,
    acceptedMs: row.accepted_ms,
    clientEvent: toClientEvent(row),
  };
}

function decodeStoredLeaf(row: AnchorRow): ReturnType<typeof decodeLeaf> {
  try {
    return decodeLeaf(row.leaf);
  } catch (cause) {
    throw new StoreError("corrupt", `the leaf of anchor ${row.sequence} cannot be decoded`, { cause });
  }
}

/** True of claims and grants: the API client of their row is the one that recorded them. */
export function namesRecorder(kind: number): boolean {
  return kind === LEAF_KIND.claim || kind === LEAF_KIND.grant;
}

/** @throws StoreError `corrupt` if only one of id and salt is there */
export function toClientEvent(
  row: Pick<AnchorRow, "sequence" | "kind" | "api_client_id" | "client_event_id" | "salt">,
): StoredClientEvent | null {
  const { client_event_id: clientEventId, salt } = row;
  const apiClientId = namesRecorder(row.kind) ? null : row.api_client_id;
  const isErased = clientEventId === null;
  if (isErased !== (salt === null) || (apiClientId === null && !isErased)) {
    throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
  }
  return apiClientId === null ? null : { apiClientId, clientEventId, salt, isErased };
}

export interface CertificateRow {
  readonly origin_fingerprint: Uint8Array;
  readonly tree_size: number;
  readonly root_hash: Uint8Array;
  readonly certified_at_s: number;
  readonly trust_root_version: number;
  readonly cosignatures: Uint8Array;
}

export function toStoredCertificate(row: CertificateRow): StoredCertificate {
  return {
    originFingerprint: toOriginFingerprint(row.origin_fingerprint),
    treeSize: row.tree_size,
    rootHash: row.root_hash,
    certifiedAtS: row.certified_at_s,
    trustRootVersion: row.trust_root_version,
    cosignatures: decodeStoredCosignatures(row),
  };
}

function decodeStoredCosignatures(row: CertificateRow): Cosignature[] {
  try {
    return decodeCosignatures(row.cosignatures);
  } catch (cause) {
    throw new StoreError("corrupt", `the cosignatures of size ${row.tree_size} cannot be decoded`, { cause });
  }
}
