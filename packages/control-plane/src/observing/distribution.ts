/** How often a value fell below each bound since the process began: what a histogram shows when it is scraped. */
export class Distribution {
  /** Inclusive upper bounds, ascending. */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    const at = this.bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#count;
  }

  /** For each bound, how many values were at most that. */
  cumulative(): readonly (readonly [bound: number, count: number])[] {
    let below = 0;
    return this.bounds.map((bound, at) => [bound, (below += this.#counts[at] ?? 0)] as const);
  }
}
