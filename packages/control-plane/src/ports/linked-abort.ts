import { setMaxListeners } from "node:events";

/**
 * A signal that aborts with the first of others, or by itself, until it is let go.
 *
 * `AbortSignal.any` would do this, too. But Node keeps such a signal, and with it whoever listens to it, until one of
 * the others aborts (seen in Node 20.20 and 24.21). Where another one is the end of the process, everything that ever
 * waited stays in memory.
 */
export class LinkedAbort {
  readonly #own = new AbortController();
  readonly #others: readonly AbortSignal[];
  readonly #follow = (): void => {
    const first = this.#others.find(({ aborted }) => aborted);
    if (first !== undefined) this.#own.abort(first.reason);
  };

  constructor(...others: readonly AbortSignal[]) {
    this.#others = others;
    for (const other of others) {
      // Any number may wait for one end. Node warns of more than ten, which might have been forgotten.
      setMaxListeners(0, other);
      other.addEventListener("abort", this.#follow, { once: true });
    }
    this.#follow();
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason?: unknown): void {
    this.#own.abort(reason);
  }

  /** What was waited for is over: no other one reaches this signal, or keeps it. */
  letGo(): void {
    for (const other of this.#others) other.removeEventListener("abort", this.#follow);
  }
}
