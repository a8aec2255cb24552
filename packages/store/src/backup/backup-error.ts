/**
 * Why a file cannot be used as a backup.
 * - `not_a_backup`   it does not begin, or does not end, as one: something else, or cut off.
 * - `format_unknown` written by another build.
 * - `altered`        its bytes are not those that were written.
 * - `inconsistent`   whole as a file, and what it holds does not fit together.
 * - `unsigned`       no quorum has signed what it holds beside leaves.
 * - `empty_ledger`   there is nothing to back up: the cluster was not brought to life yet.
 * - `not_empty`      the database is not the empty one that a backup is put into.
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
