import type { Clock, Timer } from "../environment.ts";

/** Work at a fixed period. Missed periods are dropped: a timer that fires late fires once. */
export class Periodics {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #isClosed = false;

  constructor(clock: Clock) {
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
