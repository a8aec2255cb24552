export type HaltCode =
  /** Written by a newer program than this one. */
  | "entry_version_unknown"
  /** A newer program raised the rules beyond what this one can decide by. */
  | "rules_unknown"
  /** Committed bytes that are not an entry: a leader packed something that does not decode. */
  | "entry_malformed"
  /** The entry does not follow the newest applied one. */
  | "index_out_of_order"
  /** Loaded parts of the state do not fit together. */
  | "stored_state_inconsistent";

/**
 * The node must not go on until an operator has looked. Never caught to continue; the process ends with exit code 79.
 */
export class LedgerHaltError extends Error {
  readonly code: HaltCode;
  constructor(code: HaltCode, detail: string) {
    super(`${code}: ${detail}`);
    this.name = "LedgerHaltError";
    this.code = code;
  }
}
