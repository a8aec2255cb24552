import type { TimerClock, Timer } from "../ports/environment.ts";

/** Periods of a session's timers, milliseconds. */
export const PERIOD_MS = {
  tick: 100,
  /** While anything has a deadline it is checked this often; an answer is late by no more. */
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

  /**
   * The same work, but only while there is some: an idle node is not woken for it. Returns a function that starts it,
   * to be called when there is work; the first time is a period later.
   */
  whileOpen(periodMs: number, isOpen: () => boolean, action: () => void): () => void {
    let isRunning = false;
    const start = (): void => {
      if (isRunning || this.#isClosed) return;
      isRunning = true;
      const timer = this.#clock.startTimer(periodMs, () => {
        this.#timers.delete(timer);
        isRunning = false;
        if (this.#isClosed) return;
        action();
        if (!this.#isClosed && isOpen()) start();
      });
      this.#timers.add(timer);
    };
    return start;
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
