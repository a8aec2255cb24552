import { until } from "@event-anchoring/testkit";
import { RetryingWriter } from "@event-anchoring/testkit/clients";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { PauseWatch } from "../load/pause-watch.ts";
import { LONGEST_GAP } from "../figures/names.ts";
import type { Row } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

const KILLS = 20;
const WRITERS = 8;
/** Written before each kill: every client is in the middle of its work. */
const WRITES_BEFORE = 400;
const PATIENCE_MS = 60_000;

/**
 * SIGKILL to both processes of the node that leads, while clients write that retry as documented: the same
 * `client_event_id` again, to the next node, after 503, a lost connection or three seconds of silence.
 */
export const LEADER_KILL: ClusterScenario = {
  kind: "cluster",
  name: `leader kill -9 under ${WRITERS} clients that retry`,
  needs: "processes",
  isOptIn: false,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const { nodes } = cluster;
    const writers = Array.from(
      { length: WRITERS },
      (_, firstNode) => new RetryingWriter({ nodes, apiKey: cluster.apiKey, firstNode }),
    );
    const runs = Promise.all(writers.map((writer) => writer.run()));
    try {
      const kills: Kill[] = [];
      for (let kill = 1; kill <= KILLS; kill++) {
        progress.state(`kill ${kill} of ${KILLS}`);
        kills.push(await killOnce(cluster, writers));
      }
      return rowsOf(kills);
    } finally {
      for (const writer of writers) writer.abandon();
      await runs;
    }
  },
};

interface Kill {
  /** Longest time from one acknowledgement of a client to its next. */
  readonly longestGapMs: number;
  /** Longest time in which no client at all was acknowledged. */
  readonly pauseMs: number;
}

async function killOnce(cluster: MeasuredCluster, writers: readonly RetryingWriter[]): Promise<Kill> {
  const total = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  const goal = total() + WRITES_BEFORE;
  await until("clients write", () => total() >= goal, PATIENCE_MS);
  const leader = await cluster.leader();
  const before = writers.map(({ acknowledged }) => acknowledged.length);
  const watch = new PauseWatch(total);
  for (const pid of [leader.pids.control_plane, leader.pids.api]) {
    if (pid === null) throw new Error(`${leader.id} has a process that does not run, or not on this machine`);
    process.kill(pid, "SIGKILL");
  }
  await until(
    "the supervisor has started it again",
    () => wasStartedAgain(cluster, leader.id, leader.pids),
    PATIENCE_MS,
  );
  await until("every node is ready", () => isReady(cluster), PATIENCE_MS);
  await until(
    "every client was acknowledged since",
    () => writers.every(({ acknowledged }, at) => acknowledged.length > (before[at] ?? 0) + 1),
    PATIENCE_MS,
  );
  const since = writers.flatMap(({ acknowledged }, at) => acknowledged.slice(before[at]));
  return { longestGapMs: Math.max(...since.map(({ tookMs }) => tookMs)), pauseMs: watch.stop() };
}

function wasStartedAgain(
  cluster: MeasuredCluster,
  id: string,
  before: { readonly api: number | null; readonly control_plane: number | null },
): boolean {
  const { api, control_plane: controlPlane } = cluster.nodes.find((node) => node.id === id)?.pids ?? {};
  return (
    typeof api === "number" &&
    typeof controlPlane === "number" &&
    api !== before.api &&
    controlPlane !== before.control_plane
  );
}

async function isReady(cluster: MeasuredCluster): Promise<boolean> {
  const statuses = cluster.nodes.map(async ({ api_url: apiUrl }) => {
    try {
      return (await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(2000) })).status;
    } catch {
      // Not up yet: asked again.
      return 0;
    }
  });
  return (await Promise.all(statuses)).every((status) => status === 200);
}

function rowsOf(kills: readonly Kill[]): readonly Row[] {
  const scenario = LEADER_KILL.name;
  const gaps = kills.map(({ longestGapMs }) => longestGapMs);
  const pauses = kills.map(({ pauseMs }) => pauseMs);
  return [
    { type: "times", scenario, measure: LONGEST_GAP, ms: gaps },
    { type: "times", scenario, measure: "to the next write of anyone", ms: pauses },
  ];
}
