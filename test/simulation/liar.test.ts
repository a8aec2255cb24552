import { describe, expect, jest, test } from "@jest/globals";
import {
  DECEIVES,
  KEEPS_OFFICE,
  LIAR_SHAPES,
  LIES,
  type LieName,
  MAY_DECEIVE,
  liveBesideALiar,
} from "@event-anchoring/simulator";

// The long suites live twenty lives in a test, on a machine that may be busy.
jest.setTimeout(3_600_000);

type Life = Awaited<ReturnType<typeof liveBesideALiar>>;

/** The long suites live more of them. */
const SEEDS = Number(process.env["LIAR_SEEDS"] ?? 1);
/** Five nodes take twice as long as three or four: the long suites have them. */
const SHAPES = LIAR_SHAPES.filter(([nodes]) => SEEDS > 1 || nodes < 5);

/** Under these, two roots of one size come to honest nodes. */
const CONTRADICTS: ReadonlySet<LieName> = new Set(["two_trees", "late_second_tree", "another_tree"]);
/** Under these too, unless the node that is lied to stops before it has signed, because its effects differ. */
const MAY_CONTRADICT: ReadonlySet<LieName> = new Set(["other_bytes", "own_writes_alone", ...MAY_DECEIVE]);
/** Lies are told for so long, ms: evidence is due after five seconds, another leader after ten. */
const LIE_MS = 8000;
const OFFICE_LIE_MS = 12_000;
/** Where a quorum needs every honest node, one that does not listen to the liar stalls the others while it leads. */
const STALLED_LIE_MS = 25_000;
/** After the liar's end all others are needed: they elect, catch up and certify. */
const AFTER_MS = 15_000;
const ACKNOWLEDGED_MIN = 20;

describe.each(SHAPES)("beside one liar of %i nodes with a quorum of %i", (nodes, quorum) => {
  test.each(Object.keys(LIES) as LieName[])("%s: every sentence holds", async (lie) => {
    let contradictedLives = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const lifeOf = async (lieMs: number, afterMs = 0): Promise<Life> => {
        const life = await liveBesideALiar({ seed, nodes, quorum, lie, lieMs, afterMs });
        expect(life.broken === null ? null : [life.broken, ...life.newestLines]).toBeNull();
        return life;
      };
      const { contradicted, acknowledged } = await lifeOf(KEEPS_OFFICE.has(lie) ? OFFICE_LIE_MS : LIE_MS);
      expect(MAY_CONTRADICT.has(lie) || contradicted > 0 === CONTRADICTS.has(lie)).toBe(true);
      contradictedLives += contradicted > 0 ? 1 : 0;
      // A node that was given another log is lost to the quorum, and origins of which two certificates exist stop.
      if (DECEIVES.has(lie) || acknowledged > ACKNOWLEDGED_MIN) continue;
      if ((await lifeOf(STALLED_LIE_MS)).acknowledged > ACKNOWLEDGED_MIN) continue;
      // Two that do not listen to it, and a majority that does: it stays in office, and nothing is certified.
      expect(quorum).toBe(nodes - 1);
      expect((await lifeOf(LIE_MS, AFTER_MS)).acknowledgedAfter).toBeGreaterThan(ACKNOWLEDGED_MIN);
    }
    // A lie that is told in order to contradict does so in most lives.
    expect(lie !== "other_bytes" || contradictedLives > SEEDS / 2).toBe(true);
  });
});

test("a forked origin is given up by the root keys, and the others go on", async () => {
  let givenUp = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    // A write or two are forked.
    const options = { seed, nodes: 3, quorum: 2, lie: "other_bytes", lieMs: 200, givesUp: true } as const;
    const life = await liveBesideALiar(options);
    expect(life.broken === null ? null : [life.broken, ...life.newestLines]).toBeNull();
    givenUp += life.wasGivenUp ? 1 : 0;
  }
  // In the other lives the node that was lied to halts before the liar is named: one of three is left.
  expect(givenUp).toBeGreaterThan(SEEDS / 2);
});

test("a life beside a liar is a function of its seed", async () => {
  const options = { seed: 7, nodes: 4, quorum: 3, lie: "other_bytes", lieMs: 3000 } as const;
  const [first, second] = [await liveBesideALiar(options), await liveBesideALiar(options)];
  expect(second.traceHash).toBe(first.traceHash);
});
