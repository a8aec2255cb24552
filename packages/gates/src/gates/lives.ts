import { liveDrawnLives } from "@event-anchoring/simulator";
import type { Gate } from "./gate.ts";
import { CONSENSUS_SOURCES } from "./sources.ts";

/** Whole simulated lives. */
export const LIVES: Gate = {
  name: "lives",
  counts: "simulated lives of a minute under all faults, three and five nodes, one in five beside a liar",
  fails: "a sentence that is broken",
  toReach: 100_000,
  firstStop: 20_000,
  sources: CONSENSUS_SOURCES,
  missing: () => null,
  run: async ({ from, jobs, isOver, note, fail }) => {
    await liveDrawnLives({
      from,
      count: Number.MAX_SAFE_INTEGER - from,
      jobs,
      isOver,
      onResult: ({ seed, shape, lie, broken, simulatedMs, acknowledged }) => {
        note(1, seed, { [shape]: 1, "simulated seconds": simulatedMs / 1000, acknowledged });
        if (broken === null) return;
        const beside = lie === null ? "" : ` (${shape}: ${lie})`;
        fail({ seed: String(seed), what: `${broken.sentence}${beside}: ${broken.detail}` });
      },
    });
  },
};
