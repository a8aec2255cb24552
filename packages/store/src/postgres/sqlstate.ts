/** PostgreSQL error codes (Appendix A of its manual) by what they mean to us. */
import { StoreError } from "./errors.ts";
import type { StoreErrorCode } from "./errors.ts";

/** No space for tables, WAL or temporary files: writes fail, reads go on. */
const DISK_FULL = ["53100"];

/** The server found a damaged page or index by itself. */
const DAMAGED = ["XX001", "XX002"];

/** Tables, columns, functions or rights are not those this program was built for, or a statement of ours is wrong. */
const SCHEMA_CLASSES = ["22", "3D", "3F", "42"];

/** A row is there already, or one that must be there is not: the caller's picture of the tables is wrong. */
const INTEGRITY_CLASS = "23";

/** What a failed call was doing: an error while a write commits says nothing about whether it was committed. */
export type Phase = "read" | "write" | "commit";

interface ServerFields {
  readonly code: string;
  readonly severity: string;
}

/** The fields of an error that the server itself sent; null for one of the socket or the driver. */
function serverFields(cause: unknown): ServerFields | null {
  if (!(cause instanceof Error) || !("severity" in cause) || !("code" in cause)) return null;
  const { code, severity } = cause;
  return typeof code === "string" && typeof severity === "string" ? { code, severity } : null;
}

function codeOfSqlState(state: string): StoreErrorCode {
  const stateClass = state.slice(0, 2);
  if (DISK_FULL.includes(state)) return "full";
  if (DAMAGED.includes(state)) return "corrupt";
  if (SCHEMA_CLASSES.includes(stateClass)) return "schema";
  if (stateClass === INTEGRITY_CLASS) return "out_of_order";
  return "unavailable";
}

/**
 * An error of severity ERROR ends a statement before its commit record is written, so the write did not happen. FATAL,
 * PANIC and a lost socket may come after it; and after any error of COMMIT itself the outcome is unknown until it is
 * read back.
 */
export function toStoreError(cause: unknown, phase: Phase, what: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const fields = serverFields(cause);
  const isDefinite = fields !== null && fields.severity === "ERROR";
  if (phase === "commit" || (phase === "write" && !isDefinite)) {
    return new StoreError("unknown_outcome", `${what}: not known whether it was committed`, {
      cause,
    });
  }
  const code = fields === null ? "unavailable" : codeOfSqlState(fields.code);
  return new StoreError(code, what, { cause });
}
