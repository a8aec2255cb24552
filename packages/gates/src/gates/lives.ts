import { LifeError, liveDrawnLives } from "@event-anchoring/simulator";
import type { Batch, Gate } from "./gate.ts";
import { CONSENSUS_SOURCES } from "./sources.ts";

const SPEED = "simulated seconds for a core-second";
const CORE_SECONDS = "core-seconds";

/** Whole simulated lives. */
export const LIVES: Gate = {
  name: "lives",
  counts: "simulated lives of a minute under drawn faults, three and five nodes, one in five beside a liar",
  fails: "a sentence that is broken",
  toReach: 100_000,
  firstStop: 20_000,
  sources: CONSENSUS_SOURCES,
  means: { [SPEED]: CORE_SECONDS },
  missing: () => null,
  run: async (batch) => {
    const { from, note, fail } = batch;
    const usedBefore = process.cpuUsage();
    try {
      await live(batch);
    } catch (error) {
      if (!(error instanceof LifeError)) throw error;
      fail({ seed: String(error.seed), what: error.message });
    }
    // Threads are part of the process.
    const { user, system } = process.cpuUsage(usedBefore);
    note(0, from - 1, { [CORE_SECONDS]: (user + system) / 1e6 });
  },
};

function live({ from, jobs, isOver, note, fail }: Batch): Promise<void> {
  return liveDrawnLives({
    from,
    count: Number.MAX_SAFE_INTEGER - from,
    jobs,
    isOver,
    onResult: ({ seed, shape, lie, broken, simulatedMs, acknowledged, lastHolder }) => {
      const seconds = simulatedMs / 1000;
      note(1, seed, { [shape]: 1, "simulated seconds": seconds, [SPEED]: seconds, acknowledged });
      if (lastHolder !== null) note(0, seed, { "the state was left on one node alone": 1 });
      if (broken === null) return;
      const beside = lie === null ? "" : ` (${shape}: ${lie})`;
      fail({ seed: String(seed), what: `${broken.sentence}${beside}: ${broken.detail}` });
    },
  });
}
