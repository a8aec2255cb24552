import type { Random } from "../ports/environment.ts";

const FIRST_MS = 1000;
const LAST_MS = 300_000;
const JITTER = 0.25;

/** Pauses after failures in a row: 1 s, doubling to 5 minutes, each up to a quarter shorter. */
export class GrowingPause {
  readonly #random: Random;
  #failures = 0;
  #untilMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#untilMs;
  }

  begin(nowMs: number): void {
    const draw = new Uint8Array(1);
    this.#random.fill(draw);
    const full = Math.min(LAST_MS, FIRST_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    this.#untilMs = nowMs + full * (1 - (JITTER * (draw[0] ?? 0)) / 256);
  }

  /** Something went well. */
  end(): void {
    this.#failures = 0;
    this.#untilMs = 0;
  }
}
