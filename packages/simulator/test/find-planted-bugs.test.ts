import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { PLANTED_BUGS, type PlantedBug, brokenBy } from "@event-anchoring/simulator";
import { findWith } from "../src/lives/find-planted-bugs.ts";

const SOURCES = fileURLToPath(new URL("../src", import.meta.url));
const BUGS = Object.keys(PLANTED_BUGS) as PlantedBug[];
const BUG = "quorum_of_one";
const BESIDE_A_LIAR = "lines_not_verified";

/** Which sentence a life breaks, by its seed, with the bug and without. */
interface Lives {
  readonly withIt?: Readonly<Record<number, string>>;
  readonly without?: Readonly<Record<number, string>>;
}

function find(bug: PlantedBug, { withIt = {}, without = {} }: Lives, pass = 1) {
  const asked: number[] = [];
  const place = (pass - 1) * BUGS.length + BUGS.indexOf(bug) + 1;
  const found = findWith(bug, place, async (seed, bugs) => {
    if (bugs.size > 0) asked.push(seed);
    const sentence = (bugs.size > 0 ? withIt : without)[seed];
    return { seed, broken: sentence === undefined ? null : { sentence, detail: "so it was", atMs: 1 } };
  });
  return found.then((result) => ({ ...result, asked }));
}

const [ITS_OWN = ""] = brokenBy(BUG);

describe("a planted bug", () => {
  test("is found in the first life that breaks its sentence, if that life breaks none without it", async () => {
    const found = await find(BUG, { withIt: { 3: ITS_OWN } });
    expect(found).toMatchObject({ bug: BUG, pass: 1, lives: 3, complaint: null, found: { seed: 3 }, others: [] });
  });

  test("is looked for in other seeds by each pass", async () => {
    const found = await find(BUG, { withIt: { 3: ITS_OWN, 42: ITS_OWN } }, 2);
    expect(found).toMatchObject({ pass: 2, lives: 2, complaint: null, found: { seed: 42 }, asked: [41, 42] });
  });

  test("is not found by a sentence that is broken without it too, whichever that is", async () => {
    for (const sentence of [ITS_OWN, "noNodeDiesOfAnError"]) {
      const found = await find(BUG, { withIt: { 2: sentence, 3: ITS_OWN }, without: { 2: sentence } });
      expect(found).toMatchObject({ found: null, complaint: expect.stringContaining("seed 2 without it") });
    }
  });

  test("is not found by a sentence of another kind: the search goes on, and says so if it was in vain", async () => {
    const found = await find(BUG, { withIt: { 1: "noNodeDiesOfAnError", 5: ITS_OWN } });
    expect(found).toMatchObject({ lives: 5, complaint: null, others: [{ seed: 1 }] });
    const vain = await find(BUG, { withIt: { 1: "noNodeDiesOfAnError" } });
    expect(vain).toMatchObject({ found: null, complaint: expect.stringContaining("seed 1: noNodeDiesOfAnError") });
    expect(vain.asked).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });

  test("beside a liar must be seen at once as what it costs", async () => {
    const found = await find(BESIDE_A_LIAR, { withIt: { 1: "noHonestNodeHalts" } });
    expect(found).toMatchObject({ found: null, complaint: expect.stringContaining("seen as noHonestNodeHalts") });
    expect(found.asked).toEqual([1]);
  });
});

test("each planted bug has sentences that the simulator knows, and none that any error breaks", () => {
  const table = "planted-bug-sentences.ts";
  const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(table))
    .map((path) => readFileSync(join(SOURCES, path), "utf8"))
    .join("\n");
  for (const bug of BUGS) {
    expect(brokenBy(bug).length).toBeGreaterThan(0);
    expect(brokenBy(bug)).not.toContain("noNodeDiesOfAnError");
    for (const sentence of brokenBy(bug)) expect(sources).toContain(`"${sentence}"`);
  }
});
