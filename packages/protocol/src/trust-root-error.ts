/** Why a document or a chain is refused. docs/PROTOCOL.md lists them in the order in which they are checked. */
export type TrustRootCode =
  // one document
  | "malformed"
  | "too_large"
  | "not_canonical"
  | "name_invalid"
  | "key_misnamed"
  | "witness_url_invalid"
  | "version_invalid"
  | "previous_invalid"
  | "validity_invalid"
  | "root_threshold_invalid"
  | "quorum_unsafe"
  | "witnesses_unsafe"
  | "item_repeated"
  | "origin_unlisted"
  | "key_reused"
  | "origin_fingerprint_wrong"
  // a chain
  | "chain_empty"
  | "pin_mismatch"
  | "version_gap"
  | "previous_mismatch"
  | "cluster_changed"
  | "epoch_decreased"
  | "origin_removed"
  | "origin_status_reversed"
  | "origin_not_active_first"
  | "log_key_changed"
  | "node_removed"
  | "node_status_reversed"
  | "signature_invalid"
  | "signature_repeated"
  | "root_quorum_missing"
  // against what was seen before
  | "rollback"
  | "fork";

/** A trust root that must not be used. Match on `code`. */
export class TrustRootError extends Error {
  readonly code: TrustRootCode;
  constructor(code: TrustRootCode, message: string) {
    super(message);
    this.name = "TrustRootError";
    this.code = code;
  }
}

/** @throws TrustRootError unless `condition` holds */
export function refuseUnless(condition: boolean, code: TrustRootCode, message: string): void {
  if (!condition) throw new TrustRootError(code, message);
}
