import { LIMITS } from "@event-anchoring/api-contract";
import { HOLD_MS_MAX, hostileHolds } from "@event-anchoring/testkit";
import type { Row } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

/** How long the loop of an api process is held by one body, whatever is in it. They are parsed here, not sent. */
export const HOSTILE_BODIES: ClusterScenario = {
  kind: "cluster",
  name: "hostile bodies of 2 MiB, parsed",
  needsOwn: false,
  isOptIn: false,
  run: async (_cluster, stage): Promise<readonly Row[]> => {
    const holds = await stage.progress.reporter.step("parsing a body of each shape", async () =>
      hostileHolds(LIMITS.batchBodyBytesMax),
    );
    const ms = holds.map((hold) => hold.ms);
    const longestMs = Math.max(...ms);
    const worst = holds.find((hold) => hold.ms === longestMs)?.shape ?? "";
    const row: Row = {
      type: "times",
      scenario: "hostile bodies of 2 MiB, parsed",
      measure: `processor time that the loop is held, one of each shape; the worst: ${worst}`,
      ms,
      goals: [{ text: `each ≤ ${HOLD_MS_MAX} ms`, isMet: longestMs <= HOLD_MS_MAX }],
    };
    return [row];
  },
};
