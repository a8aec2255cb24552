import { BackupError, StoreError } from "@event-anchoring/store";
import { PromiseReadError } from "../files/read-promises.ts";
import type { BackupCode, StoreErrorCode } from "@event-anchoring/store";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";

const STORE_EXITS: Readonly<Record<StoreErrorCode, ExitCode>> = {
  unavailable: EXIT.unavailable,
  unknown_outcome: EXIT.unavailable,
  corrupt: EXIT.invalid,
  unsafe_settings: EXIT.usage,
  schema: EXIT.usage,
  other_build: EXIT.usage,
  full: EXIT.unavailable,
  locked: EXIT.usage,
  out_of_order: EXIT.usage,
  snapshot_refused: EXIT.invalid,
};

const BACKUP_EXITS: Readonly<Record<BackupCode, ExitCode>> = {
  not_a_backup: EXIT.usage,
  format_unknown: EXIT.usage,
  altered: EXIT.invalid,
  inconsistent: EXIT.invalid,
  unsigned: EXIT.asStated,
  empty_ledger: EXIT.unavailable,
  not_empty: EXIT.usage,
};

/** What goes wrong with a database or a file of a node, in words for a person. */
export async function withStoreFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) throw new CliError(STORE_EXITS[error.code], error.code, error.message, error);
    if (error instanceof BackupError) throw new CliError(BACKUP_EXITS[error.code], error.code, error.message, error);
    if (error instanceof PromiseReadError) {
      throw new CliError(EXIT.invalid, `promise_file_${error.code}`, error.message, error);
    }
    throw error;
  }
}
