import type { Clock } from "@event-anchoring/telemetry";

/** The moment a request must be answered by, on a clock that never goes back. */
export class Deadline {
  readonly #clock: Clock;
  readonly #atMs: number;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs() + timeoutMs;
  }

  /** Whole milliseconds left; 0 once it has passed. */
  get remainingMs(): number {
    return Math.max(0, Math.floor(this.#atMs - this.#clock.monotonicMs()));
  }
}

/** The result of a promise, or `late` if it does not settle in time. */
export function within<T, const L>(promise: Promise<T>, timeoutMs: number, late: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
