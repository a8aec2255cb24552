/**
 * What can go wrong with storage, by what the caller has to do about it:
 * - `unavailable`      the database cannot be reached or does not answer now; nothing was written by this call. Reload.
 * - `unknown_outcome`  a write may or may not have been committed. Memory proves nothing: open anew, load.
 * - `corrupt`          a row is not what was written (checksum, gap, hash). Never used for "absent".
 * - `unsafe_settings`  the server or session could lose what it confirms; refuse to start.
 * - `schema`           the tables or the granted rights do not fit this program, or are not there yet.
 * - `other_build`      the tables were made by another build, and this one cannot continue from them.
 * - `full`             there is no space left; nothing was written by this call, reads go on.
 * - `locked`           another process holds this raft log or ledger.
 * - `out_of_order`     the caller asked for a write that does not follow what is stored; nothing was written.
 * - `snapshot_refused` a snapshot does not fit its manifest, its own leaves, or a caller's check; nothing was changed.
 */
export type StoreErrorCode =
  | "unavailable"
  | "unknown_outcome"
  | "corrupt"
  | "unsafe_settings"
  | "schema"
  | "other_build"
  | "full"
  | "locked"
  | "out_of_order"
  | "snapshot_refused";

/** The only error this package throws on purpose. Match on `code`; the message is for people, the cause is kept. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}
