/** state.anchors: every leaf, and its look-up keys. A row that contradicts itself is corrupt, never left out. */
import type { EntryWrites, LeafWrite } from "@event-anchoring/ledger";
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
import type { GuardedStatement } from "./guarded-statement.ts";
import type { OriginNumbers } from "./origin-numbers.ts";
import { eventPrefixOfLeaf } from "./look-ups.ts";
import { arraysOf, bigint, bytea, insertOf, prefix, prefix4, selectOf, smallint, text } from "./table.ts";

/** Shown to keys of the API client that wrote the event, and to `admin`. */
export interface StoredClientEvent {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** null: erased. */
  readonly clientEventId: string | null;
  /** 32 bytes; null: erased. */
  readonly salt: Uint8Array | null;
  /** Its leaf has a client event id, and the id is not stored any more. */
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

/** Columns that every leaf has. */
const LEAF = {
  sequence: bigint("sequence"),
  origin: smallint("origin"),
  depth: bigint("depth"),
  kind: smallint("kind"),
  eventPrefix: prefix4("event_prefix"),
  acceptedMs: bigint("accepted_ms"),
  anchorPrefix: prefix("anchor_prefix"),
  anchorId: bytea("anchor_id"),
  bytes: bytea("leaf"),
};

/** Columns that only events with a client's id have, or claims, grants and revocations. */
const LOOKED_UP = {
  clientPrefix: prefix("client_prefix"),
  apiClientId: bytea("api_client_id"),
  clientEventId: text("client_event_id"),
  salt: bytea("salt"),
  contentHash: bytea("content_hash"),
};

const ALL = { ...LEAF, ...LOOKED_UP };

const leafArrays = arraysOf(LEAF);
const lookUpArrays = arraysOf(LOOKED_UP);
const INSERT = { name: "leaves", sql: insertOf("state.anchors", LEAF) };
const INSERT_LOOKED_UP = { name: "looked_up_leaves", sql: insertOf("state.anchors", ALL) };

/** Prefix, API client and content hash stay: the id is still taken, but is not stored any more. */
const ERASE = {
  name: "erasures",
  sql: `UPDATE state.anchors AS a SET client_event_id = NULL, salt = NULL
      FROM guard, unnest(?::bigint[]) AS u (sequence) WHERE a.sequence = u.sequence`,
};

/** The look-up keys of a leaf, besides its id. */
export interface LeafLookUp {
  readonly sequence: number;
  /** Prefix of the client event id's hash, 8 bytes or more; null: the leaf has none. */
  readonly clientPrefix: Uint8Array | null;
  readonly apiClientId: Uint8Array | null;
  readonly clientEventId: string | null;
  readonly salt: Uint8Array | null;
  readonly contentHash: Uint8Array;
}

/** @param lookUps of some of the leaves */
export function addLeaves(
  statement: GuardedStatement,
  leaves: readonly LeafWrite[],
  lookUps: readonly LeafLookUp[],
  numbers: OriginNumbers,
): void {
  if (leaves.length === 0) return;
  const common = {
    origin: numbers.of(leaves),
    eventPrefix: leaves.map((leaf) => eventPrefixOfLeaf(leaf.kind, leaf.bytes)),
    anchorPrefix: leaves.map(({ anchorId: id }) => id),
  };
  if (lookUps.length === 0) {
    statement.add(INSERT, leafArrays(leaves, common));
    return;
  }
  const bySequence = new Map(lookUps.map((lookUp) => [lookUp.sequence, lookUp]));
  const found = leaves.map(({ sequence }) => bySequence.get(sequence) ?? NO_LOOK_UP);
  statement.add(INSERT_LOOKED_UP, [...leafArrays(leaves, common), ...lookUpArrays(found, {})]);
}

const NO_LOOK_UP = { clientPrefix: null, apiClientId: null, clientEventId: null, salt: null, contentHash: null };

export function addErasures(statement: GuardedStatement, erasures: EntryWrites["erasures"]): void {
  if (erasures.length > 0) statement.add(ERASE, [LEAF.sequence.toArray(erasures.map(({ sequence }) => sequence))]);
}

/** The columns of a client event. */
export interface ClientEventColumns {
  readonly sequence: number;
  readonly kind: number;
  readonly apiClientId: Uint8Array | null;
  readonly clientEventId: string | null;
  readonly salt: Uint8Array | null;
}

export interface AnchorRow extends ClientEventColumns {
  readonly originFingerprint: Uint8Array;
  readonly depth: number;
  readonly acceptedMs: number;
  readonly anchorId: Uint8Array;
  /** The leaf. */
  readonly bytes: Uint8Array;
}

const { sequence, depth, kind, acceptedMs, anchorId, bytes, apiClientId, clientEventId, salt } = ALL;

/** Columns of AnchorRow, of `state.anchors a JOIN state.origins o`. */
export const ANCHOR_COLUMNS = `o.origin_fingerprint AS "originFingerprint", ${selectOf("a", {
  sequence,
  depth,
  kind,
  acceptedMs,
  anchorId,
  bytes,
  apiClientId,
  clientEventId,
  salt,
})}`;

/** Columns of ClientEventColumns and the leaf, of `state.anchors a`. */
export const CLIENT_EVENT_COLUMNS = selectOf("a", { sequence, kind, bytes, apiClientId, clientEventId, salt });

/** @throws StoreError `corrupt` unless every column agrees with the leaf */
export function toStoredAnchor(row: AnchorRow): StoredAnchor {
  const leaf = decodeStoredLeaf(row);
  const isIntact =
    leaf.kind === row.kind &&
    leaf.sequence === row.sequence &&
    leaf.depth === row.depth &&
    leaf.acceptedMs === row.acceptedMs &&
    equalBytes(leaf.originFingerprint, row.originFingerprint) &&
    equalBytes(anchorIdOf(row.bytes, nodeCrypto.sha256), row.anchorId);
  if (!isIntact) throw new StoreError("corrupt", `anchor ${row.sequence} does not match its leaf`);
  return {
    anchorId: toAnchorId(row.anchorId),
    bytes: row.bytes,
    kind: leaf.kind,
    originFingerprint: toOriginFingerprint(row.originFingerprint),
    depth: row.depth,
    sequence: row.sequence,
    acceptedMs: row.acceptedMs,
    clientEvent: toClientEvent(row),
  };
}

function decodeStoredLeaf(row: AnchorRow): ReturnType<typeof decodeLeaf> {
  try {
    return decodeLeaf(row.bytes);
  } catch (cause) {
    throw new StoreError("corrupt", `the leaf of anchor ${row.sequence} cannot be decoded`, { cause });
  }
}

/** True of claims and grants: the API client in their row recorded them. */
export function namesRecorder(kind: number): boolean {
  return kind === LEAF_KIND.claim || kind === LEAF_KIND.grant;
}

/** @throws StoreError `corrupt` if only one of id and salt is stored */
export function toClientEvent(row: ClientEventColumns): StoredClientEvent | null {
  const client = namesRecorder(row.kind) ? null : row.apiClientId;
  const isErased = row.clientEventId === null;
  if (isErased !== (row.salt === null) || (client === null && !isErased)) {
    throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
  }
  if (client === null) return null;
  return { apiClientId: client, clientEventId: row.clientEventId, salt: row.salt, isErased };
}
