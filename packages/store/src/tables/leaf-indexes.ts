/**
 * What the indexes of state.anchors take from a leaf of an event, as SQL, in exactly the words of the migration that
 * made them: a different expression matches no index. Places in the leaf count from 1; docs/PROTOCOL.md, "Leaf".
 */

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

/** Of claims, grants and revocations. */
export const CONTENT_HASH: IndexedHash = {
  hash: "a.content_hash",
  prefix: "(('x' || encode(substr(a.content_hash, 1, 8), 'hex'))::bit(64)::bigint)",
  condition: "a.kind IN (2, 3, 4)",
};

/** The index of event hashes is ordered by runs of 2^17 sequences. */
export const EVENT_HASH = {
  hash: "substr(a.leaf, 116, 32)",
  run: "((a.sequence >> 17)::integer)",
  /** The first 4 bytes of the hash's own hash, as integer. */
  prefix: "(('x' || encode(substr(sha256(substr(a.leaf, 116, 32)), 1, 4), 'hex'))::bit(32)::integer)",
  condition: IS_EVENT,
  runOf: (sequence: string): string => `((${sequence}) >> 17)::integer`,
} as const;
