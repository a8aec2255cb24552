import type { Clock } from "./ports.ts";

/** The result of a question that many ask: asked by one of them at a time, and good for a while. */
export class CachedValue<T> {
  readonly #ask: () => Promise<T>;
  readonly #ageMsMax: number;
  readonly #clock: Clock;
  #held: { readonly value: T; readonly atMs: number } | null = null;
  #asking: Promise<T> | null = null;

  /** @param ask its failures are handed to everybody who waits, and not kept */
  constructor(ask: () => Promise<T>, ageMsMax: number, clock: Clock) {
    this.#ask = ask;
    this.#ageMsMax = ageMsMax;
    this.#clock = clock;
  }

  get(): Promise<T> {
    const held = this.#held;
    if (held !== null && this.#clock.monotonicMs() - held.atMs <= this.#ageMsMax) {
      return Promise.resolve(held.value);
    }
    this.#asking ??= this.#askOnce().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #askOnce(): Promise<T> {
    // The age counts from the question: what changed while it was answered may not be in it.
    const atMs = this.#clock.monotonicMs();
    const value = await this.#ask();
    this.#held = { value, atMs };
    return value;
  }
}
