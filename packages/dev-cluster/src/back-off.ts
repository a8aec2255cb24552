const FIRST_MS = 200;
const LONGEST_MS = 5000;
/** A process that ran this long has recovered: its next end is a first one. */
const HEALTHY_MS = 10_000;

/** How long to wait before a process that ended is started again: 0.2 s, doubled with each early end, at most 5 s. */
export class BackOff {
  #nextMs = FIRST_MS;

  /** @param ranMs how long the process had been up */
  delayAfter(ranMs: number): number {
    if (ranMs >= HEALTHY_MS) this.#nextMs = FIRST_MS;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(this.#nextMs * 2, LONGEST_MS);
    return delayMs;
  }
}
