/**
 * What the indexes of state.anchors take from a leaf of an event, as SQL, in exactly the words of the migration that
 * made them: a different expression matches no index. Places in the leaf count from 1; docs/PROTOCOL.md, "Leaf".
 */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, type LeafKind } from "@event-anchoring/protocol";

/** The first 4 bytes of an event hash's own hash: clients choose event hashes, and cannot choose these. */
export function eventPrefixOf(eventHash: Uint8Array): Uint8Array {
  return nodeCrypto.sha256(eventHash).subarray(0, 4);
}

/** What the column `event_prefix` holds for a leaf; null: it is no event's. */
export function eventPrefixOfLeaf(kind: LeafKind, leaf: Uint8Array): Uint8Array | null {
  if (kind !== LEAF_KIND.event && kind !== LEAF_KIND.signedEvent) return null;
  return eventPrefixOf(leaf.subarray(EVENT_HASH_AT, EVENT_HASH_AT + 32));
}

/** Place of the event hash in an event's leaf, from 0. */
const EVENT_HASH_AT = 115;

const ZEROS = `'\\x${"00".repeat(32)}'::bytea`;

/** A hash of a row `a` of state.anchors, and how an index has it. */
export interface IndexedHash {
  readonly hash: string;
  /** Its first 8 bytes as bigint. */
  readonly prefix: string;
  /** Which rows are in the index. */
  readonly condition: string;
}

const IS_EVENT = "a.kind IN (1, 6)";

function reference(place: number): IndexedHash {
  const hash = `substr(a.leaf, ${place}, 32)`;
  const prefix = `(('x' || encode(substr(a.leaf, ${place}, 8), 'hex'))::bit(64)::bigint)`;
  return { hash, prefix, condition: `${IS_EVENT} AND ${hash} <> ${ZEROS}` };
}

export const IRIS_REF = reference(148);

export const GRANT_REF = reference(212);

/** Content hash of a claim, grant or revocation. */
export const CONTENT_HASH: IndexedHash = {
  hash: "a.content_hash",
  prefix: "(('x' || encode(substr(a.content_hash, 1, 8), 'hex'))::bit(64)::bigint)",
  condition: "a.kind IN (2, 3, 4)",
};

/** The index of event hashes is ordered by runs of 2^17 sequences. */
export const EVENT_HASH = {
  hash: `substr(a.leaf, ${EVENT_HASH_AT + 1}, 32)`,
  run: "((a.sequence >> 17)::integer)",
  /** `eventPrefixOf` of the hash. */
  prefix: "a.event_prefix",
  condition: "a.event_prefix IS NOT NULL",
  runOf: (sequence: string): string => `((${sequence}) >> 17)::integer`,
} as const;
