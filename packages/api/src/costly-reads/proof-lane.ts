import type { Clock } from "@event-anchoring/telemetry";
import { setTimeout as pause } from "node:timers/promises";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { HeldState, SignedState } from "../control-plane/hold-state.ts";
import type { Deadline } from "../request/deadline.ts";

/** From the beginning of a hold to that of the next: each is an entry of the log, and a signature of every node. */
const HOLD_EVERY_MS = 2000;
/** Requests that wait for a state, and for their turn with it. */
const WAITING_MAX = 64;
/** This part of a request's time is left for making its proof. */
const PROOF_MS = 500;

export type HoldOutcome = "held" | "refused";

export interface ProofLaneOptions {
  /** @throws RefusedError */
  readonly hold: (remainingMs: number) => Promise<HeldState>;
  readonly clock: Clock;
  readonly onHold: (outcome: HoldOutcome) => void;
  /** Default 2,000. */
  readonly holdEveryMs?: number;
}

interface ProofWaiter {
  readonly deadline: Deadline;
  readonly prove: (state: SignedState) => Promise<void>;
  readonly refuse: (error: Error) => void;
}

/**
 * Requests that need a state which a quorum has signed share it, and use it one after the other.
 *
 * idle → (a request) waiting, until 2 s after the last hold began → holding → proving, until everybody who waited when
 * the hold began has had a turn → waiting, if somebody came meanwhile; else idle. So a request uses a state that was
 * signed after it came: no answer that it was given before is newer. And however many come, there is one hold at a
 * time, and one in 2 s at most.
 */
export class ProofLane {
  readonly #options: ProofLaneOptions;
  #waiting: ProofWaiter[] = [];
  #isServing = false;
  #lastHoldMs = Number.NEGATIVE_INFINITY;

  constructor(options: ProofLaneOptions) {
    this.#options = options;
  }

  /**
   * Does this with a state that a quorum signs after the call.
   * @throws RefusedError `overloaded`, `state_not_signed`, or as the control plane refuses; what `work` throws
   */
  withState<T>(deadline: Deadline, work: (state: SignedState) => Promise<T>): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX) {
      const detail = `${WAITING_MAX} proofs are waited for`;
      return Promise.reject(new RefusedError("overloaded", detail, this.#everyMs));
    }
    return new Promise<T>((resolve, reject) => {
      const prove = (state: SignedState): Promise<void> => work(state).then(resolve, reject);
      this.#waiting.push({ deadline, prove, refuse: reject });
      if (!this.#isServing) void this.#serve();
    });
  }

  get #everyMs(): number {
    return this.#options.holdEveryMs ?? HOLD_EVERY_MS;
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#waiting.length > 0) {
      const nextMs = this.#lastHoldMs + this.#everyMs - this.#options.clock.monotonicMs();
      if (nextMs > 0) await pause(nextMs);
      this.#lastHoldMs = this.#options.clock.monotonicMs();
      await this.#serveAll(this.#waiting.splice(0));
    }
    this.#isServing = false;
  }

  async #serveAll(waiters: readonly ProofWaiter[]): Promise<void> {
    const inTime = waiters.filter((waiter) => !this.#isLate(waiter));
    const longestMs = Math.max(0, ...inTime.map(({ deadline }) => deadline.remainingMs - PROOF_MS));
    if (inTime.length === 0) return;
    let held: HeldState;
    try {
      held = await this.#options.hold(longestMs);
    } catch (error) {
      this.#options.onHold("refused");
      for (const { refuse } of inTime) refuse(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#options.onHold("held");
    const { databaseSnapshot, raftIndex, stateHead } = held;
    const state = { databaseSnapshot, raftIndex, stateHead };
    for (const waiter of inTime) if (!this.#isLate(waiter)) await waiter.prove(state);
    held.release();
  }

  /** Those whose time is over are answered without a proof of theirs. */
  #isLate({ deadline, refuse }: ProofWaiter): boolean {
    if (deadline.remainingMs > 0) return false;
    refuse(new RefusedError("state_not_signed", "no state was signed in time, or others had their turn first"));
    return true;
  }
}
