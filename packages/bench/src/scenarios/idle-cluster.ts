import { setTimeout as delay } from "node:timers/promises";
import { CLIENT, readCpu } from "@event-anchoring/testkit";
import { IDLE_CPU } from "../figures/names.ts";
import type { FigureRow, Row } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

/** What followed a load is done by then: tables, certificates, Postgres's own work. */
const SETTLE_MS = 5000;
const NAME = "idle cluster";

/** What a cluster uses while nobody asks it anything. */
export const IDLE_CLUSTER: ClusterScenario = {
  kind: "cluster",
  name: NAME,
  needs: "processes",
  isOptIn: false,
  run: async (cluster, { progress, measureMs }): Promise<readonly Row[]> => {
    progress.state(`${NAME}: waiting ${SETTLE_MS / 1000} s`);
    await delay(Math.min(SETTLE_MS, measureMs));
    const groups = cluster.groups.filter(({ kind }) => kind !== CLIENT);
    const before = readCpu(groups);
    progress.state(`${NAME}: measuring`);
    await delay(measureMs);
    const after = readCpu(groups);
    if (before === null || after === null) throw new Error("the processes of the cluster cannot be measured here");
    const seconds = (after.atMs - before.atMs) / 1000;
    const kinds = Object.entries(after.ms).map(
      ([kind, ms]) => [kind, (ms - (before.ms[kind] ?? 0)) / seconds] as const,
    );
    const row = (measure: string, value: number): FigureRow => {
      return { type: "figure", scenario: NAME, measure, value, unit: "ms/s" };
    };
    const all = kinds.reduce((sum, [, ms]) => sum + ms, 0);
    return [row(IDLE_CPU, all), ...kinds.map(([kind, ms]) => row(`processor time of ${kind}`, ms))];
  },
};
