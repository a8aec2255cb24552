import { overloaded } from "./bytes-under-way.ts";

export interface FeedSlotsRules {
  readonly max: number;
  /** Followers of one name. */
  readonly shareMax: number;
}

/** Feeds that are open at a time, by who is charged for them. */
export class FeedSlots {
  readonly #rules: FeedSlotsRules;
  readonly #byName = new Map<string, number>();
  #open = 0;

  constructor(rules: FeedSlotsRules) {
    this.#rules = rules;
  }

  /** Returns a function that gives the slot back; it may be called again. @throws RefusedError `overloaded` */
  take(name: string): () => void {
    const ofName = this.#byName.get(name) ?? 0;
    if (this.#open >= this.#rules.max) throw overloaded(`${this.#open} feeds are open`);
    if (ofName >= this.#rules.shareMax) throw overloaded(`${ofName} feeds of one caller are open`);
    this.#open += 1;
    this.#byName.set(name, ofName + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#open -= 1;
      const left = (this.#byName.get(name) ?? 1) - 1;
      if (left === 0) this.#byName.delete(name);
      else this.#byName.set(name, left);
    };
  }
}
