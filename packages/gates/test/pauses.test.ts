import { expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import { around } from "../src/day/pauses.ts";

const MEAN_MS = 500;
const QUARTERS = 4;

/** When a client begins, if it begins at 0 and each pause is what the function says. */
function beginnings(pauseMs: () => number, count: number): readonly number[] {
  let atMs = 0;
  return Array.from({ length: count }, () => (atMs += pauseMs()));
}

/** Quarters of a period by which one client begins after another one. */
function placesOf(one: readonly number[], other: readonly number[]): ReadonlySet<number> {
  const behind = one.map((ms, at) => (((other[at] ?? NaN) - ms + 10_000 * MEAN_MS) % MEAN_MS) / MEAN_MS);
  return new Set(behind.map((share) => Math.floor(share * QUARTERS)));
}

test("two clients that begin at once are at every place to one another within twenty seconds", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const [one, other] = [new Seeded(seed, 1), new Seeded(seed, 2)];
    const drawn = [one, other].map((dice) =>
      beginnings(
        around(MEAN_MS, () => dice.unit()),
        40,
      ),
    );
    expect([seed, placesOf(drawn[0] ?? [], drawn[1] ?? []).size]).toEqual([seed, QUARTERS]);
  }
  const fixed = beginnings(() => MEAN_MS, 40);
  expect([...placesOf(fixed, fixed)]).toEqual([0]);
});

test("a client asks as often as one of a fixed period, and never waits half as long again", () => {
  const pauseMs = around(MEAN_MS);
  const drawn = Array.from({ length: 10_000 }, pauseMs);
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(MEAN_MS / 2);
  expect(Math.max(...drawn)).toBeLessThan(MEAN_MS * 1.5);
  // The mean of so many is within 1.5 ms, but for one time in three: 15 ms are ten of these.
  expect(Math.abs(drawn.reduce((sum, ms) => sum + ms, 0) / drawn.length - MEAN_MS)).toBeLessThan(15);
});
