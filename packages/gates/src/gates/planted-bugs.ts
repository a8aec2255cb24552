import { PLANTED_BUGS, type PlantedBug, brokenBy, findPlantedBug } from "@event-anchoring/simulator";
import type { Gate } from "./gate.ts";
import { CONSENSUS_SOURCES } from "./sources.ts";

const BUGS = Object.keys(PLANTED_BUGS) as PlantedBug[];

/** Mistakes that are made on purpose, one after the other; a seed is the place of one in the list. */
export const PLANTED: Gate = {
  name: "planted-bugs",
  counts: "planted bugs, each looked for in its seeds",
  fails: "a bug that no sentence shows, or another than it should",
  toReach: BUGS.length,
  firstStop: BUGS.length,
  // What sees the bugs, and the list of them.
  sources: [...CONSENSUS_SOURCES, "packages/simulator/src"],
  means: { "seeds taken": null },
  missing: () => null,
  run: async ({ from, isOver, note, fail }) => {
    for (let place = from; !isOver(); place++) {
      const bug = BUGS[(place - 1) % BUGS.length];
      if (bug === undefined) throw new Error("there are planted bugs");
      const found = await findPlantedBug(bug);
      const sentence = found?.broken?.sentence;
      note(1, place, found === null ? {} : { "seeds taken": found.seed });
      if (sentence === undefined) fail({ seed: bug, what: "not found" });
      else if (!brokenBy(bug).test(sentence)) fail({ seed: bug, what: `seen as ${sentence}` });
    }
  },
};
