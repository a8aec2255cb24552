import type { TimerClock, Timer } from "../ports/environment.ts";

/** Periods of a session's timers, milliseconds. */
export const PERIOD_MS = {
  tick: 100,
  /** Deadlines are checked this often; an answer is late by no more. */
  sweep: 25,
  resendUncovered: 50,
  resendState: 1000,
  clockReport: 1000,
  leaderLook: 500,
  membershipLook: 250,
  upkeep: 250,
  /** Peers' signed progress is durable after this long, even if nothing else is written. */
  savePeers: 1000,
} as const;

/** Work at a fixed period. Missed periods are dropped: a timer that fires late fires once. */
export class Periodics {
  readonly #clock: TimerClock;
  readonly #timers = new Set<Timer>();
  #isClosed = false;

  constructor(clock: TimerClock) {
    this.#clock = clock;
  }

  every(periodMs: number, action: () => void): void {
    const timer = this.#clock.startTimer(periodMs, () => {
      this.#timers.delete(timer);
      if (this.#isClosed) return;
      action();
      if (!this.#isClosed) this.every(periodMs, action);
    });
    this.#timers.add(timer);
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
