import type { ClusterFileNode } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import type { Progress } from "../report/progress.ts";
import { eventBatches } from "./events.ts";
import { LoadGenerator } from "../load/load-generator.ts";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";

const BATCH = 1000;
const WRITERS = 4;
/** A starting node may have to answer 503. */
const FAILURES_MAX = 50;
const PATIENCE_MS = 600_000;

export interface FillOrder {
  /** A multiple of the size of a batch, 1,000. */
  readonly anchors: number;
  /** Where they are written. */
  readonly nodes: readonly ClusterFileNode[];
  readonly progress: Progress;
}

/** Writes so many anchors in batches. @throws when some could not be written */
export async function fill({ origins, headers }: MeasuredCluster, order: FillOrder): Promise<void> {
  const { anchors, nodes, progress } = order;
  const batches = eventBatches(origins, BATCH);
  let [left, failuresLeft] = [anchors / BATCH, FAILURES_MAX];
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
  const shown = setInterval(
    () => progress.state(`${(generator.answered * BATCH).toLocaleString("en")} anchors written`),
    1000,
  );
  await generator.ended;
  clearInterval(shown);
  await generator.stop();
  const { latenciesMs, failures } = generator.take();
  if (latenciesMs.length * BATCH === anchors) return;
  throw new Error(`not every batch was written: ${JSON.stringify(failures)}`);
}

/**
 * Every node reports the same newest size of every origin, which it does only if it has applied everything before it.
 */
export async function untilEqual(cluster: MeasuredCluster, progress: Progress): Promise<void> {
  const wanted = await sizesAt(cluster, (await cluster.leader()).api_url);
  await until(
    "every node has all anchors",
    async () => {
      const sizes = await Promise.all(cluster.nodes.map((node) => sizesAt(cluster, node.api_url)));
      const shown = sizes.map((each) => (each === null ? "no answer" : each.join(", ")));
      progress.state(shown.join(" | "));
      return wanted !== null && shown.every((size) => size === wanted.join(", "));
    },
    PATIENCE_MS,
  );
}

/** Anchors of every origin together. @throws when the leader does not say */
export async function sizeOf(cluster: MeasuredCluster): Promise<number> {
  const sizes = await sizesAt(cluster, (await cluster.leader()).api_url);
  if (sizes === null) throw new Error("the leader does not say how many anchors there are");
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Null when the node does not answer for every origin. */
async function sizesAt({ origins, headers }: MeasuredCluster, apiUrl: string): Promise<readonly number[] | null> {
  const sizes = [...origins.values()].flat().map(async (origin) => {
    const path = `/v1/event-anchors/latest?origin_fingerprint=${origin}`;
    try {
      const answer = await fetch(`${apiUrl}${path}`, { headers, signal: AbortSignal.timeout(5000) });
      return ((await answer.json()) as { readonly tree_size?: number }).tree_size ?? null;
    } catch {
      // Not up yet: the caller retries.
      return null;
    }
  });
  const known = (await Promise.all(sizes)).flatMap((size) => (size === null ? [] : [size]));
  return known.length === sizes.length ? known : null;
}
