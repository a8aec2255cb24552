import {
  type HoldPurpose,
  type LocalRequest,
  type LocalResponse,
  type RefusalCode,
  STATE_HELD_MS,
} from "@event-anchoring/control-contract";
import { StoreError } from "@event-anchoring/store";
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock } from "../ports/environment.ts";
import type { OpenStateHold, SignedStates } from "../session/signed-states.ts";

/**
 * Each is a connection to the database that holds back what Postgres may clean up. Proofs have a place of their own:
 * however many are asked for, a backup is made.
 */
const HELD_MAX: Readonly<Record<HoldPurpose, number>> = { backup: 2, proof: 1 };
/** The upper bound, even if the asker would wait longer. */
const SIGNED_WITHIN_MS_MAX = 30_000;
const HOLD_RETRY_AFTER_MS = 5000;

export interface HeldStatesOptions {
  /** @throws StoreError */
  readonly openStateHold: () => Promise<OpenStateHold>;
  readonly session: () => Pick<SignedStates, "holdSigned"> | null;
  readonly clock: TimerClock;
  readonly logger: Logger;
}

export type HoldRequest = Extract<LocalRequest, { type: "hold_state" }>;

/**
 * Keeps this node's state, as a quorum has signed it, readable for a backup on this host, or for the proofs of its api
 * process: until the asker is done, for a minute at most.
 */
export class HeldStates {
  readonly #options: HeldStatesOptions;
  readonly #held: Record<HoldPurpose, number> = { backup: 0, proof: 0 };

  constructor(options: HeldStatesOptions) {
    this.#options = options;
  }

  /** @param gone aborted when the asker has gone, or needs it no longer */
  async hold({ requestId, remainingMs, purpose }: HoldRequest, gone: AbortSignal): Promise<LocalResponse> {
    const refused = (code: RefusalCode, detail: string): LocalResponse => {
      return { type: "refused", requestId, code, detail, retryAfterMs: HOLD_RETRY_AFTER_MS };
    };
    const session = this.#options.session();
    if (session === null) return refused("unavailable", "this node is not serving");
    const max = HELD_MAX[purpose];
    if (this.#held[purpose] >= max) return refused("overloaded", `${max} states are being held, each for a ${purpose}`);
    this.#held[purpose] += 1;
    let hold: OpenStateHold | null = null;
    try {
      hold = await this.#options.openStateHold();
      const withinMs = Math.min(remainingMs, SIGNED_WITHIN_MS_MAX);
      const how = { signers: "quorum", withinMs, signal: gone } as const;
      const { databaseSnapshot, raftIndex, stateHead } = await session.holdSigned(hold, how);
      // A proof every two seconds would fill the log.
      this.#options.logger[purpose === "backup" ? "info" : "debug"]("state_held", { raftIndex, purpose });
      this.#releaseLater(hold, purpose, gone);
      return { type: "state_held", requestId, databaseSnapshot, raftIndex, stateHead };
    } catch (error) {
      await this.#release(hold, purpose);
      if (!(error instanceof StoreError)) throw error;
      return refused("unavailable", error.message);
    }
  }

  #releaseLater(hold: OpenStateHold, purpose: HoldPurpose, gone: AbortSignal): void {
    const end = (): void => {
      timer.cancel();
      gone.removeEventListener("abort", end);
      void this.#release(hold, purpose);
    };
    const timer = this.#options.clock.startTimer(STATE_HELD_MS, end);
    gone.addEventListener("abort", end);
    if (gone.aborted) end();
  }

  async #release(hold: OpenStateHold | null, purpose: HoldPurpose): Promise<void> {
    this.#held[purpose] -= 1;
    try {
      await hold?.release();
    } catch (error) {
      this.#options.logger.warn("state_release_failed", { error });
    }
  }
}
