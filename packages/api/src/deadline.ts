import type { Clock } from "./ports.ts";

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
