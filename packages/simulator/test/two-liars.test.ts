import { expect, test } from "@jest/globals";
import { liveAmongTwoLiars, liveOneLife } from "@event-anchoring/simulator";

const SEEDS = Array.from({ length: 10 }, (_, at) => at + 1);

/** In how many lives two heads of one size with different roots were witnessed. */
function contradicted(witnesses: number, needed: number, lying: number): number {
  return SEEDS.filter((seed) => liveAmongTwoLiars({ seed, witnesses, needed, lying }) !== null).length;
}

test.each([
  [3, 2, 0],
  [1, 1, 0],
  [4, 3, 1],
  [5, 4, 2],
])("with %i witnesses of which %i are needed and %i lie, no two witnessed heads contradict", (...watched) => {
  expect(contradicted(...watched)).toBe(0);
});

test.each([
  [4, 2, 0],
  [2, 1, 0],
  [3, 2, 1],
])("with %i of which %i are needed and %i lie, two nodes of three get both of their trees witnessed", (...watched) => {
  expect(contradicted(...watched)).toBeGreaterThan(0);
});

test("a life with witnesses that lose answers, spoil some and are away at times breaks no sentence", async () => {
  const { broken, witnesses, witnessLines } = await liveOneLife({ seed: 8, faults: ["reset"], harmMs: 8000 });
  expect(broken).toBeNull();
  expect(witnesses).toBe(3);
  expect(witnessLines).toBeGreaterThan(10);
});
