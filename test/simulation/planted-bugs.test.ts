import { describe, expect, test } from "@jest/globals";
import { type LifeResult, PLANTED_BUGS, type PlantedBug, liveOneLife } from "@event-anchoring/testkit";

const SEEDS_MAX = 60;

/** The first life in which a sentence is broken. */
async function firstBroken(bug: PlantedBug): Promise<LifeResult | null> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const result = await liveOneLife({ seed, bugs: new Set([bug]) });
    if (result.broken !== null) return result;
  }
  return null;
}

describe("the simulator finds every planted bug", () => {
  const found: string[] = [];

  test.each(Object.keys(PLANTED_BUGS) as PlantedBug[])(
    "%s",
    async (bug) => {
      const result = await firstBroken(bug);
      found.push(
        `${bug.padEnd(36)} ${String(result?.seed ?? "-").padStart(3)} ${result?.broken?.sentence ?? "not found"}`,
      );
      expect(result?.broken?.sentence).toEqual(expect.stringMatching(/^[a-z][A-Za-z]+$/));
    },
    120_000,
  );

  test("and says how many seeds each took", () => {
    process.stdout.write(`${found.join("\n")}\n`);
    expect(found).toHaveLength(Object.keys(PLANTED_BUGS).length);
    expect(found.length).toBeGreaterThanOrEqual(30);
  });
});
