export type HaltCode =
  /** Written by a newer program than this one. */
  | "entry_version_unknown"
  /** A newer program raised the rules beyond what this one can decide by. */
  | "rules_unknown"
  /** Committed bytes that are no entry: a leader packed what it could not have decoded. */
  | "entry_malformed"
  /** The entry is not the one after the newest applied. */
  | "index_out_of_order"
  /** Loaded parts of the state do not fit together. */
  | "stored_state_inconsistent";

/** Going on would be wrong until a person looks. Never caught to continue; the process ends with exit code 79. */
export class LedgerHaltError extends Error {
  readonly code: HaltCode;
  constructor(code: HaltCode, detail: string) {
    super(`${code}: ${detail}`);
    this.name = "LedgerHaltError";
    this.code = code;
  }
}
