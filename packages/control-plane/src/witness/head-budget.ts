import type { Clock } from "@event-anchoring/telemetry";

const DAY_MS = 86_400_000;
/** New heads that may follow each other at once, after a quiet time. */
const BURST = 10;

/**
 * How many new heads of one log are cosigned: only those count, so that nobody but the log can use it up. Whoever sends
 * again what the log has published gets an answer that costs nothing.
 */
export class HeadBudget {
  readonly #clock: Clock;
  readonly #msPerHead: number;
  #heads = BURST;
  #atMs: number;

  constructor(headsPerDay: number, clock: Clock) {
    this.#clock = clock;
    this.#msPerHead = DAY_MS / headsPerDay;
    this.#atMs = clock.monotonicMs();
  }

  /** How long the next head has to wait; 0: not at all. */
  waitMs(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#heads = Math.min(BURST, this.#heads + (nowMs - this.#atMs) / this.#msPerHead);
    this.#atMs = nowMs;
    return this.#heads >= 1 ? 0 : Math.ceil((1 - this.#heads) * this.#msPerHead);
  }

  spend(): void {
    this.#heads -= 1;
  }
}
