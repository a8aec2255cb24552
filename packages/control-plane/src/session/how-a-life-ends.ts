import { LedgerHaltError } from "@event-anchoring/ledger";
import { StoreError } from "@event-anchoring/store";
import { EngineDeadError, RaftPanicError, type SnapshotMeta } from "raft-ts";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { FenceCode } from "../promises/fencing.ts";
import { PromiseFileError } from "../promises/promise-file.ts";
import { FencedError } from "../promises/start-judgement.ts";

/** How a session ends, apart from being stopped. */
export type SessionEnd =
  /** Storage, or the engine, is gone for the moment: load again. */
  | { readonly kind: "unavailable"; readonly check: string; readonly cause: unknown }
  | { readonly kind: "panicked"; readonly cause: RaftPanicError }
  /** The node must not go on until an operator has looked. */
  | { readonly kind: "halted"; readonly code: string; readonly detail: string }
  /** This node forgot a promise, or shows evidence of it. */
  | { readonly kind: "fenced"; readonly code: FenceCode; readonly detail: string }
  /**
   * The group's log starts after this node's ends: its state must be fetched. `leader` is the node that says so; null:
   * its name is not known here.
   */
  | { readonly kind: "behind"; readonly snapshot: SnapshotMeta; readonly leader: string | null };

/** How a life of the node ends: as its session did, or because an operator stops the node. */
export type LifeEnd = SessionEnd | { readonly kind: "stopped" };

/** How the parts of a session can end it. */
export interface Life {
  readonly isEnded: boolean;
  readonly end: (end: SessionEnd) => void;
  /** Ends it as the error asks: `endOfError`. */
  readonly fail: (error: unknown) => void;
}

/** The trust root that this node was set up with is not the one in its log. */
export class WrongRootError extends Error {
  override readonly name = "WrongRootError";
}

/** How a life ends in which this error was thrown. */
export function endOfError(error: unknown): SessionEnd {
  const halted = (code: string, { message: detail }: Error): SessionEnd => ({ kind: "halted", code, detail });
  if (error instanceof FencedError) return { kind: "fenced", ...error.reason };
  if (error instanceof LedgerHaltError) return halted(error.code, error);
  if (error instanceof WrongRootError) return halted("wrong_root_thk", error);
  if (error instanceof RaftPanicError) return { kind: "panicked", cause: error };
  if (error instanceof StoreError && error.code === "corrupt") return halted("corrupt_row", error);
  if (error instanceof StoreError && error.code === "other_build") return halted("database_of_other_build", error);
  if (error instanceof PromiseFileError && (error.code === "mode" || error.code === "foreign")) {
    return halted(`promise_file_${error.code}`, error);
  }
  return { kind: "unavailable", check: failedCheck(error), cause: error };
}

/** The check of /readyz that fails for this error. */
function failedCheck(error: unknown): "promise_file" | "engine" | "storage_full" | "storage" {
  if (error instanceof PromiseFileError) return "promise_file";
  if (error instanceof EngineDeadError) return "engine";
  return error instanceof StoreError && error.code === "full" ? "storage_full" : "storage";
}

/** Exit codes after which no supervisor may restart the process by itself. */
const EXIT_FENCED = 78;
const EXIT_HALTED = 79;

/** Why a node must not go on. */
export interface StopReason {
  readonly exitCode: typeof EXIT_FENCED | typeof EXIT_HALTED;
  readonly reason: "fenced" | "halted";
  readonly code: string;
  readonly detail: string;
}

/** This many engine panics within the window halt the node. */
const PANICS_MAX = 3;
const PANIC_WINDOW_MS = 60_000;

/** Decides whether another life may follow one that has ended. */
export class LifeJudge {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #panicsMs: number[] = [];

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @returns null: another life may follow */
  stopReasonOf(end: LifeEnd): StopReason | null {
    switch (end.kind) {
      case "fenced":
        return { exitCode: EXIT_FENCED, reason: "fenced", code: end.code, detail: end.detail };
      case "halted":
        return { exitCode: EXIT_HALTED, reason: "halted", code: end.code, detail: end.detail };
      case "panicked": {
        this.#logger.error("engine_panicked", { reason: end.cause.message });
        const now = this.#clock.monotonicMs();
        this.#panicsMs = [...this.#panicsMs.filter((atMs) => now - atMs < PANIC_WINDOW_MS), now];
        if (this.#panicsMs.length < PANICS_MAX) return null;
        return { exitCode: EXIT_HALTED, reason: "halted", code: "engine_panics", detail: end.cause.message };
      }
      case "unavailable":
        this.#logger.warn("unavailable", { check: end.check, detail: causeOf(end) });
        return null;
      case "behind":
      case "stopped":
        return null;
    }
  }
}

/** What ended a life after which another follows, in words. */
export function causeOf({ cause }: Extract<LifeEnd, { kind: "unavailable" | "panicked" }>): string {
  return cause instanceof Error ? cause.message : String(cause);
}
