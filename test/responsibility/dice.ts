/** Where the choices of a history come from: given numbers, or a seed. */
export interface Dice {
  /** An integer from 0 on, smaller than `count`. */
  below(count: number): number;
}

/** Reads the numbers one after another; when they are used up every throw is 0. */
export function diceOf(throws: readonly number[]): Dice {
  let next = 0;
  return { below: (count) => (throws[next++] ?? 0) % count };
}

/** mulberry32: small, and the same everywhere. */
export function seededDice(seed: number): Dice {
  let state = seed;
  return {
    below(count) {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
    },
  };
}

/** One of several. */
export function pick<Value>(dice: Dice, values: readonly Value[]): Value {
  const value = values[dice.below(values.length)];
  if (value === undefined) throw new RangeError("there is nothing to pick from");
  return value;
}

/** True about `percent` times in a hundred. */
export function chance(dice: Dice, percent: number): boolean {
  return dice.below(100) < percent;
}
