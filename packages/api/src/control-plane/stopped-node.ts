import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@event-anchoring/telemetry";

/** How a control plane stopped for good, the code of the reason, and a detail. */
export interface StoppedReason {
  readonly reason: "fenced" | "halted";
  readonly check: string;
  readonly detail: string;
}

const CHECK_CODE = /^[a-z_]{1,64}$/u;
const DETAIL_CHARS_MAX = 1000;
/** Calls within this time get the same answer. */
const AGE_MS_MAX = 250;

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, DETAIL_CHARS_MAX) : "";
}

/** What a control plane leaves beside its socket when it stops for good; null: nothing. */
function stoppedReasonIn(folder: string): StoppedReason | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, "stopped.json"), "utf8"));
    if (typeof value !== "object" || value === null || !("reason" in value)) return null;
    const { reason } = value;
    if (reason !== "fenced" && reason !== "halted") return null;
    const check = "check" in value ? textOf(value.check) : "";
    const detail = "detail" in value ? textOf(value.detail) : "";
    return { reason, check: CHECK_CODE.test(check) ? check : "unknown", detail };
  } catch {
    // No file, or none that a control plane has written.
    return null;
  }
}

/**
 * Why the control plane of this node has stopped for good. Only the file that it leaves shows that: a lost connection
 * may come back. A control plane that starts removes the file.
 */
export class StoppedNode {
  readonly #folder: string;
  readonly #clock: Clock;
  #read: { readonly reason: StoppedReason | null; readonly atMs: number } | null = null;

  /** @param folder the control plane's `run_dir`, where its socket is */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** At most 250 ms old. Used only when the control plane does not answer. */
  readonly reason = (): StoppedReason | null => {
    const atMs = this.#clock.monotonicMs();
    if (this.#read === null || atMs - this.#read.atMs > AGE_MS_MAX) {
      this.#read = { reason: stoppedReasonIn(this.#folder), atMs };
    }
    return this.#read.reason;
  };
}
