/** Messages between the process's main thread and the one that makes costly reads. */
import type { Problem } from "@event-anchoring/api-contract";
import type { ControlPlane, ReadyToRead, UnservedCode } from "../control-plane/control-plane.ts";
import type { CostlyRead, MadeRead } from "./costly-reads.ts";

/** What the reading thread is started with. */
export interface ReadingSettings {
  readonly nodeId: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly databaseUrl: string;
  /** See ApiConfig. */
  readonly pinnedRootThk: Uint8Array | null;
}

export type ToReader =
  | { readonly kind: "make"; readonly id: number; readonly read: CostlyRead }
  /** The answer of the control plane. */
  | { readonly kind: "ready"; readonly id: number; readonly ready: ReadyToRead }
  | { readonly kind: "refused"; readonly id: number; readonly refusal: Refusal };

export type FromReader =
  | { readonly kind: "made"; readonly id: number; readonly made: MadeRead }
  /** `cause` is what was thrown, for the log; a copy has lost its class. */
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly problem: Problem;
      readonly extension: object | null;
      readonly cause: unknown;
    }
  /** A question to the control plane: the main thread has the connection. */
  | { readonly kind: "ask"; readonly id: number; readonly question: Parameters<ControlPlane["read"]> };

export interface Refusal {
  readonly code: UnservedCode;
  readonly detail: string;
  readonly retryAfterMs: number | null;
}
