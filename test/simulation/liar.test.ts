import { describe, expect, test } from "@jest/globals";
import { DECEIVES, KEEPS_OFFICE, LIES, type LieName, liveBesideALiar } from "@event-anchoring/simulator";

/** The long suites live more of them. */
const SEEDS = Number(process.env["LIAR_SEEDS"] ?? 1);

/** Nodes and quorum: the first two detect one liar, the others exclude it. */
const SHAPES = [
  [3, 2],
  [5, 3],
  [4, 3],
  [5, 4],
] as const;

/** Of these, two roots of one size come to honest nodes. */
const CONTRADICTS: ReadonlySet<LieName> = new Set(["other_bytes", "two_trees", "late_second_tree", "another_tree"]);
/** Under these the effects of the node that is lied to may differ, and stop it, before it has signed a root. */
const MAY_CONTRADICT: ReadonlySet<LieName> = new Set(["own_writes_alone"]);

describe.each(SHAPES)("beside one liar of %i nodes with a quorum of %i", (nodes, quorum) => {
  test.each(Object.keys(LIES) as LieName[])(
    "%s: every sentence holds",
    async (lie) => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        // Evidence is due after five seconds, another leader after ten.
        const lieMs = KEEPS_OFFICE.has(lie) ? 12_000 : 8000;
        const life = await liveBesideALiar({ seed, nodes, quorum, lie, lieMs });
        expect(life.broken === null ? null : [life.broken, ...life.newestLines]).toBeNull();
        expect(life.contradicted > 0 && !MAY_CONTRADICT.has(lie)).toBe(CONTRADICTS.has(lie));
        // A node that was given another log is lost to the quorum, and origins of which two certificates exist stop.
        expect(DECEIVES.has(lie) || life.acknowledged > 20).toBe(true);
      }
    },
    600_000,
  );
});

test("a forked origin is given up by the root keys, and the others go on", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    // A write or two are forked.
    const options = { seed, nodes: 3, quorum: 2, lie: "other_bytes", lieMs: 200, givesUp: true } as const;
    const life = await liveBesideALiar(options);
    expect(life.broken === null ? null : [life.broken, ...life.newestLines]).toBeNull();
  }
}, 600_000);

test("a life beside a liar is a function of its seed", async () => {
  const options = { seed: 7, nodes: 4, quorum: 3, lie: "other_bytes", lieMs: 3000 } as const;
  const [first, second] = [await liveBesideALiar(options), await liveBesideALiar(options)];
  expect(second.traceHash).toBe(first.traceHash);
}, 600_000);
