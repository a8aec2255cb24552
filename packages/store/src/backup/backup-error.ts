/**
 * Why a file cannot be used as a backup.
 * - `not_a_backup`   its beginning or end is not a backup's: another kind of file, or cut off.
 * - `format_unknown` written by another build.
 * - `altered`        its bytes are not those that were written.
 * - `inconsistent`   intact as a file, but its content contradicts itself.
 * - `unsigned`       no quorum has signed the part of the state that leaves do not prove.
 * - `empty_ledger`   there is nothing to back up: the cluster is not initialised yet.
 * - `not_empty`      a backup is restored into an empty database, and this one is not.
 */
export type BackupCode =
  | "not_a_backup"
  | "format_unknown"
  | "altered"
  | "inconsistent"
  | "unsigned"
  | "empty_ledger"
  | "not_empty";

/** Match on `code`; the message is for people. */
export class BackupError extends Error {
  readonly code: BackupCode;
  constructor(code: BackupCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "BackupError";
    this.code = code;
  }
}
