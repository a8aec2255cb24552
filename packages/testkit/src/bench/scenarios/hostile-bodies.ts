import type { ClusterScenario } from "../scenario.ts";
import { LIMITS } from "@event-anchoring/api-contract";
import { HOLD_MS_MAX, holdMs, hostileBodies } from "../../hostile-bodies.ts";
import type { Row } from "../rows.ts";

/** How long the api process would do nothing else for the worst bodies there are. They are parsed here, not sent. */
export const HOSTILE_BODIES: ClusterScenario = {
  kind: "cluster",
  name: "hostile bodies of 2 MiB, parsed",
  needsOwn: false,
  isOptIn: false,
  run: async (_cluster, stage): Promise<readonly Row[]> => {
    const bodies = hostileBodies(LIMITS.batchBodyBytesMax);
    const ms = await stage.progress.reporter.step(`parsing ${bodies.length} bodies`, async () =>
      bodies.map((body) => holdMs(body, () => performance.now())),
    );
    const goal = { text: `each ≤ ${HOLD_MS_MAX} ms`, isMet: Math.max(...ms) <= HOLD_MS_MAX };
    const row: Row = {
      type: "times",
      scenario: "hostile bodies of 2 MiB, parsed",
      measure: "one body of each shape",
      ms,
      goals: [goal],
    };
    return [row];
  },
};
