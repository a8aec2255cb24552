import type { ClusterFileNode, EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { until } from "../../until.ts";
import { LoadGenerator } from "../load-generator.ts";
import type { Workload } from "../load-generator.ts";
import type { MeasuredCluster } from "../measured-cluster.ts";
import type { Progress } from "../progress.ts";
import type { Row, TimesRow } from "../rows.ts";
import type { ClusterScenario } from "../scenario.ts";
import { eventBatches } from "./events.ts";

const ANCHORS = 100_000;
const BATCH = 1000;
const WRITERS = 4;
/** A node that begins to work may have to say 503. */
const FAILURES_MAX = 50;
const PATIENCE_MS = 600_000;

/** What a node that was away for 100,000 anchors needs to be of use again, and what a cluster that holds them needs. */
export const CATCH_UP: ClusterScenario = {
  kind: "cluster",
  name: "restart and catch-up with 100,000 anchors",
  needsOwn: true,
  isOptIn: true,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const { own } = cluster;
    if (own === null) throw new Error("only a cluster of our own can be stopped and started");
    const { id } = await cluster.follower();
    const away = own.node(id);
    await progress.reporter.step(`stopping ${id}`, () => away.stopProcesses());
    const others = cluster.file.nodes.filter((node) => node.id !== id);
    const filled = await timed("100,000 anchors by two of three nodes", () => fill(cluster, others, progress));
    const caughtUp = await timed("back: started → serves all of them", async () => {
      away.startProcesses();
      await untilEqual(cluster, progress);
    });
    await progress.reporter.step("stopping all nodes", () => stopAll(own));
    const restarted = await timed("all nodes: started → ready", () => startAll(own));
    return [filled, caughtUp, restarted];
  },
};

async function timed(measure: string, run: () => Promise<void>): Promise<TimesRow> {
  const startedAt = performance.now();
  await run();
  return { type: "times", scenario: CATCH_UP.name, measure, ms: [performance.now() - startedAt], goals: [] };
}

async function fill(
  { origins, headers }: MeasuredCluster,
  nodes: readonly ClusterFileNode[],
  progress: Progress,
): Promise<void> {
  const batches = eventBatches(origins, BATCH);
  let [left, failuresLeft] = [ANCHORS / BATCH, FAILURES_MAX];
  const isGood: Workload["isGood"] = (answer) => {
    if (batches.isGood(answer)) return true;
    // Another batch instead; what became of this one is not asked.
    if (failuresLeft-- > 0) left += 1;
    return false;
  };
  const next: Workload["next"] = (url) => {
    if (left === 0) return null;
    left -= 1;
    return batches.next(url);
  };
  const generator = new LoadGenerator({
    workload: { ...batches, isGood, next },
    clients: WRITERS,
    urls: nodes.map((node) => node.api_url),
    headers,
  });
  const shown = setInterval(() => progress.state(`${generator.answered * BATCH} anchors written`), 1000);
  await generator.ended;
  clearInterval(shown);
  await generator.stop();
  const { latenciesMs, failures } = generator.take();
  if (latenciesMs.length * BATCH === ANCHORS) return;
  throw new Error(`not every batch was written: ${JSON.stringify(failures)}`);
}

/** Every node tells the same newest size of every origin, which it does only if it has applied all before it. */
async function untilEqual(cluster: MeasuredCluster, progress: Progress): Promise<void> {
  const wanted = await sizesAt(cluster, (await cluster.leader()).api_url);
  await until(
    "every node has all anchors",
    async () => {
      const sizes = await Promise.all(cluster.file.nodes.map((node) => sizesAt(cluster, node.api_url)));
      progress.state(sizes.join(" | "));
      return sizes.every((size) => size === wanted);
    },
    PATIENCE_MS,
  );
}

async function sizesAt({ origins, headers }: MeasuredCluster, apiUrl: string): Promise<string> {
  const sizes = [...origins.values()].map(async (origin) => {
    const path = `/v1/event-anchors/latest?origin_fingerprint=${origin}`;
    try {
      const answer = await fetch(`${apiUrl}${path}`, { headers, signal: AbortSignal.timeout(5000) });
      return String(((await answer.json()) as { readonly tree_size?: number }).tree_size ?? answer.status);
    } catch {
      // Not up yet: asked again.
      return "no answer";
    }
  });
  return (await Promise.all(sizes)).join(", ");
}

async function stopAll(cluster: EmbeddedCluster): Promise<void> {
  const nodes = cluster.file.nodes.map(({ id }) => cluster.node(id));
  await Promise.all(nodes.map((node) => node.stopProcesses()));
  await Promise.all(nodes.map((node) => node.stopPostgres()));
}

async function startAll(cluster: EmbeddedCluster): Promise<void> {
  const nodes = cluster.file.nodes.map(({ id }) => cluster.node(id));
  await Promise.all(nodes.map((node) => node.startPostgres()));
  for (const node of nodes) node.startProcesses();
  await cluster.ready(PATIENCE_MS);
}
