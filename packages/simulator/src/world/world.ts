/** Virtual time: what happens next, and when. */

export interface Scheduled {
  readonly atMs: number;
  isCancelled: boolean;
}

interface Happening extends Scheduled {
  readonly order: number;
  readonly action: () => void;
}

/**
 * One queue of events for a whole simulated world. Time stands still while an event and all promise work that follows
 * from it run, then jumps to the next one; events of equal times run in the order in which they were scheduled.
 */
export class World {
  #nowMs = 0;
  #order = 0;
  #heap: Happening[] = [];
  #happened = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events so far. */
  get happened(): number {
    return this.#happened;
  }

  after(delayMs: number, action: () => void): Scheduled {
    const happening: Happening = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#order++,
      action,
      isCancelled: false,
    };
    this.#push(happening);
    return happening;
  }

  /** Runs everything due until then. Stops early once `isOver` says so. */
  async runUntil(untilMs: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      if (next.isCancelled) continue;
      this.#nowMs = next.atMs;
      this.#happened += 1;
      next.action();
      await settled();
    }
    if (!isOver()) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(happening);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(happening, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = happening;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      let least = left;
      if (right !== undefined && isBefore(right, left)) {
        child += 1;
        least = right;
      }
      if (!isBefore(least, last)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(left: Happening, right: Happening): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}

/**
 * All promise work is done: nothing in a simulated world waits for anything but promises and the queue above, and a
 * macrotask begins only when no microtask is left.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
