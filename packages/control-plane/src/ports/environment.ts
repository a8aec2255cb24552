/**
 * What the control plane takes from outside. In production these are the machine's; a simulator passes its own, so that
 * a whole cluster life is a function of one seed.
 */

import type { SignedMessage } from "@event-anchoring/node-crypto";
import type { Clock, Logger, Tracer } from "@event-anchoring/telemetry";

export interface Timer {
  cancel(): void;
}

/** A clock that also calls back. */
export interface TimerClock extends Clock {
  /** Calls `action` once, no earlier than `delayMs` from now. */
  startTimer(delayMs: number, action: () => void): Timer;
  /** Calls `action` once the turn's pending work is done: what one turn collects is then sent together. */
  afterTurn(action: () => void): void;
}

export interface Random {
  /** Fills the array with bytes. */
  fill(bytes: Uint8Array): void;
}

/**
 * The verdicts of the Ed25519 rule of docs/PROTOCOL.md for one job of signatures, in its order, computed off the event
 * loop. The arrays must not change before it settles; a rejection means that there is no verdict, not that it is false.
 */
export type VerifySignatures = (job: readonly SignedMessage[]) => Promise<readonly boolean[]>;

export interface Environment {
  readonly clock: TimerClock;
  readonly random: Random;
  readonly logger: Logger;
  readonly verify: VerifySignatures;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | null;
}
