/**
 * What an index of state.anchors takes from the hash of a row, as SQL, in exactly the words of the migration that made
 * it: a different expression matches no index.
 */

/** A hash of a row `a` of state.anchors, and how an index has it. */
export interface IndexedHash {
  readonly hash: string;
  /** Its first 8 bytes as bigint. */
  readonly prefix: string;
  /** Which rows are in the index. */
  readonly condition: string;
}

/** Content hash of a claim, grant or revocation. */
export const CONTENT_HASH: IndexedHash = {
  hash: "a.content_hash",
  prefix: "(('x' || encode(substr(a.content_hash, 1, 8), 'hex'))::bit(64)::bigint)",
  condition: "a.kind IN (2, 3, 4)",
};
