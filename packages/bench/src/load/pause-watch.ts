const LOOK_EVERY_MS = 2;

/** Watches a count that should grow, and remembers how long it stood still; to a few milliseconds. */
export class PauseWatch {
  readonly #timer: NodeJS.Timeout;
  readonly #count: () => number;
  readonly #now: () => number;
  #newest: number;
  #grewAt: number;
  #longestMs = 0;

  constructor(count: () => number, now: () => number = () => performance.now()) {
    this.#count = count;
    this.#now = now;
    this.#newest = count();
    this.#grewAt = now();
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  look(): void {
    const [count, now] = [this.#count(), this.#now()];
    if (count > this.#newest) {
      this.#longestMs = Math.max(this.#longestMs, now - this.#grewAt);
      this.#newest = count;
      this.#grewAt = now;
    }
  }

  /** The longest standstill that has ended, in milliseconds. A look is taken first. */
  stop(): number {
    this.look();
    clearInterval(this.#timer);
    return this.#longestMs;
  }
}
