import { setTimeout as delay } from "node:timers/promises";
import { CLIENT, readCpu } from "@event-anchoring/testkit/overload";
import type { ProcessGroup } from "@event-anchoring/testkit/overload";
import { IDLE_CPU } from "../figures/names.ts";
import type { FigureRow, Row } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

/** After a load Postgres vacuums and writes its pages out, for a minute or more: it has settled below this, in ms/s. */
const SETTLED_MS_PER_S = 20;
const LOOK_MS = 5000;
/** A quick run does not wait: this many times as long as is measured. */
const SETTLE_PERIODS_MAX = 18;
const NAME = "idle cluster";
const POSTGRES = "postgres";

/** Waits until the databases have done what the load before left to them. @returns for how long, in seconds */
async function settled(groups: readonly ProcessGroup[], measureMs: number): Promise<number> {
  const lookMs = Math.min(LOOK_MS, measureMs);
  const startMs = performance.now();
  for (;;) {
    const before = readCpu(groups);
    await delay(lookMs);
    const after = readCpu(groups);
    if (before === null || after === null) throw new Error("the processes of the cluster cannot be measured here");
    const tookMs = performance.now() - startMs;
    const postgresMs = (after.ms[POSTGRES] ?? 0) - (before.ms[POSTGRES] ?? 0);
    const isSettled = postgresMs / ((after.atMs - before.atMs) / 1000) <= SETTLED_MS_PER_S;
    if (isSettled || tookMs >= SETTLE_PERIODS_MAX * measureMs) return tookMs / 1000;
  }
}

/** What a cluster uses while nobody asks it anything. */
export const IDLE_CLUSTER: ClusterScenario = {
  kind: "cluster",
  name: NAME,
  needs: "processes",
  isOptIn: false,
  run: async (cluster, { progress, measureMs }): Promise<readonly Row[]> => {
    const groups = cluster.groups.filter(({ kind }) => kind !== CLIENT);
    progress.state(`${NAME}: waiting until the databases have settled`);
    const settledAfter = await settled(groups, measureMs);
    const before = readCpu(groups);
    progress.state(`${NAME}: measuring`);
    await delay(measureMs);
    const after = readCpu(groups);
    if (before === null || after === null) throw new Error("the processes of the cluster cannot be measured here");
    const seconds = (after.atMs - before.atMs) / 1000;
    const kinds = Object.entries(after.ms).map(
      ([kind, ms]) => [kind, (ms - (before.ms[kind] ?? 0)) / seconds] as const,
    );
    const row = (measure: string, value: number, unit = "ms/s"): FigureRow => {
      return { type: "figure", scenario: NAME, measure, value, unit };
    };
    const all = kinds.reduce((sum, [, ms]) => sum + ms, 0);
    const byKind = kinds.map(([kind, ms]) => row(`processor time of ${kind}`, ms));
    return [row(IDLE_CPU, all), ...byKind, row("databases had settled after", settledAfter, "s")];
  },
};
