import { LIMITS } from "@event-anchoring/api-contract";
import { hostileHolds } from "@event-anchoring/testkit/overload";
import { HOSTILE_BODIES_NAME } from "../figures/names.ts";
import type { Row } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

/** How long the loop of an api process is held by one body, whatever is in it. They are parsed here, not sent. */
export const HOSTILE_BODIES: ClusterScenario = {
  kind: "cluster",
  name: HOSTILE_BODIES_NAME,
  needs: "clients",
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
      scenario: HOSTILE_BODIES_NAME,
      measure: `processor time that the loop is held, one of each shape; the worst: ${worst}`,
      ms,
    };
    return [row];
  },
};
