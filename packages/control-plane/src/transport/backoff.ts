import type { Random } from "../ports/environment.ts";

const FIRST_MS = 50;
const LAST_MS = 1000;
/** The first few tries follow each other quickly: a peer that restarts is back within 200 ms. */
const QUICK_TRIES = 5;
const JITTER = 0.25;

/** Waits between dials: five of 50 ms, then doubling to 1 s, each up to a quarter shorter: peers drift apart. */
export class Backoff {
  readonly #random: Random;
  #tries = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  reset(): void {
    this.#tries = 0;
  }

  /** Milliseconds to wait before the next try. */
  next(): number {
    const doublings = Math.min(10, Math.max(0, this.#tries - QUICK_TRIES + 1));
    this.#tries++;
    const draw = new Uint8Array(1);
    this.#random.fill(draw);
    const full = Math.min(LAST_MS, FIRST_MS * 2 ** doublings);
    return Math.round(full * (1 - (JITTER * (draw[0] ?? 0)) / 256));
  }
}
