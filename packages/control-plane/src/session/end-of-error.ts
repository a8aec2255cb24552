import { LedgerHaltError } from "@event-anchoring/ledger";
import { RaftPanicError } from "raft-ts";
import { failedCheck } from "./failed-check.ts";
import type { SessionEnd } from "./session-options.ts";

/** How a session ends in which this was thrown. */
export function endOfError(error: unknown): SessionEnd {
  if (error instanceof LedgerHaltError) return { kind: "halted", code: error.code, detail: error.message };
  if (error instanceof RaftPanicError) return { kind: "panicked", cause: error };
  return { kind: "unavailable", check: failedCheck(error), cause: error };
}
