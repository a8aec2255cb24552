/**
 * Why a command is refused. Replicas must agree on the code, so the order in which checks run is part of the contract:
 * REJECTION_CODES is that order, and the first check that fails gives the answer. docs/PROTOCOL.md, "Deciding".
 */
export const REJECTION_CODES = [
  // 0. The ledger itself.
  /** No genesis is applied yet. */
  "not_initialised",
  /** Genesis or a trust-root version shares its entry with something else. */
  "not_alone",
  // 1. The API key, at this position of the log.
  /** Unknown, revoked, expired, or of another API client. */
  "api_key_invalid",
  "scope_missing",
  // 2. The origin.
  "origin_unknown",
  "origin_mismatch",
  // 3. Signatures.
  "signature_invalid",
  /** Another API client has recorded it, and none of its parties has signed. */
  "not_own_record",
  // 4. Idempotency.
  "client_event_id_conflict",
  // 5. The origin takes no new records.
  "origin_closed",
  // 6. References, in field order.
  "reference_not_found",
  "reference_wrong_kind",
  // 7. Times.
  "issued_in_future",
  "window_invalid",
  "window_outside_parent",
  // 8. State.
  "claim_conflict",
  "claim_not_in_force",
  "grant_not_in_force",
  "grantor_key_mismatch",
  "witness_is_grantor",
  "parent_mismatch",
  "depth_exceeded",
  // 9. Items of an atomic batch that would have been accepted, had no other item been refused.
  "batch_refused",
  // Operators' commands.
  /** It is an operator's command without an operator's signature. */
  "operator_signature_missing",
  /** The trust root lists no operator of this name. */
  "operator_unknown",
  /** The counter is not above that of the operator's newest act. */
  "operator_counter_used",
  /** Not well formed, not signed by enough root keys, or not a valid successor of the newest version. */
  "trust_root_invalid",
  /** The key id is taken by another key. */
  "api_key_conflict",
  /** The API client already has two live keys. */
  "api_key_limit",
  /** No key has this id. */
  "api_key_unknown",
] as const;

export type RejectionCode = (typeof REJECTION_CODES)[number];

export interface Rejection {
  readonly code: RejectionCode;
  /** RFC 6901, from the item that is refused, in wire names: `/semantic_anchor/iris_ref`. */
  readonly pointer?: string;
  /** For people. Holds nothing secret and nothing that a replica could see differently. */
  readonly detail: string;
}

export function reject(code: RejectionCode, detail: string, pointer?: string): Rejection {
  return pointer === undefined ? { code, detail } : { code, pointer, detail };
}
