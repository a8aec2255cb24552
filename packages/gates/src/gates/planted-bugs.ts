import { PLANTED_BUGS, findPlantedBugs } from "@event-anchoring/simulator";
import type { Gate } from "./gate.ts";
import { CONSENSUS_SOURCES } from "./sources.ts";

const COUNT = Object.keys(PLANTED_BUGS).length;

/** Mistakes that are made on purpose. A seed is a place in the list, which is gone through again with other lives. */
export const PLANTED: Gate = {
  name: "planted-bugs",
  counts: "planted bugs that were found, each in lives of its own; the list is gone through again with other seeds",
  fails: "a bug that no sentence shows, or another than it should; a life that breaks one without the bug, too",
  toReach: COUNT,
  firstStop: COUNT,
  // What sees the bugs, and the list of them.
  sources: [...CONSENSUS_SOURCES, "packages/simulator/src"],
  means: { "seeds taken": null },
  missing: () => null,
  run: async ({ from, jobs, isOver, note, fail }) => {
    await findPlantedBugs({
      from,
      count: Number.MAX_SAFE_INTEGER - from,
      jobs,
      isOver,
      onFind: ({ place, bug, pass, lives, others, complaint }) => {
        if (complaint !== null) {
          note(0, place);
          fail({ seed: `${place}`, what: `${bug}: ${complaint}` });
          return;
        }
        const figures = { "seeds taken": lives, "other sentences broken before": others.length };
        note(1, place, pass === 1 ? { ...figures, "distinct bugs": 1 } : figures);
      },
    });
  },
};
