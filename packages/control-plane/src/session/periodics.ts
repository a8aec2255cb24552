import type { TimerClock, Timer } from "../ports/environment.ts";

/** How often a session does what it does by the clock, milliseconds. */
export const PERIOD_MS = {
  tick: 100,
  /** Deadlines are looked at this often; an answer is late by no more. */
  sweep: 25,
  resendUncovered: 50,
  resendState: 1000,
  clockReport: 1000,
  leaderLook: 500,
  membershipLook: 250,
  upkeep: 250,
  /** What peers have said of their logs is durable after this long, also if nothing else is written. */
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
