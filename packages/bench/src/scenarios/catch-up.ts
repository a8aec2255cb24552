import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ClusterFileNode, EmbeddedCluster, EmbeddedNode } from "@event-anchoring/dev-cluster";
import { AnchoringClient, SqlSession, TestOperator, expectOk, nodeFiles, until } from "@event-anchoring/testkit";
import { LoadGenerator } from "../load/load-generator.ts";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import type { Progress } from "../report/progress.ts";
import type { Row, TimesRow } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";
import { eventBatches } from "./events.ts";

const ANCHORS = 100_000;
const BATCH = 1000;
const WRITERS = 4;
/** A starting node may have to answer 503. */
const FAILURES_MAX = 50;
const PATIENCE_MS = 600_000;

/**
 * How long a node that missed 100,000 anchors needs to catch up, and how long a cluster that holds them needs to start.
 */
export const CATCH_UP: ClusterScenario = {
  kind: "cluster",
  name: "restart and catch-up with 100,000 anchors",
  needsOwn: true,
  isOptIn: true,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const own = ownOf(cluster);
    const away = await writeWithoutOne(cluster, progress);
    const caughtUp = await comeBack(cluster, away.node, progress);
    await progress.reporter.step("stopping all nodes", () => stopAll(own));
    const restartMs = await timeOf(() => startAll(own));
    return [
      timesRow(CATCH_UP, "100,000 anchors by two of three nodes", away.filledMs),
      timesRow(CATCH_UP, "back: started → serves all of them", caughtUp),
      timesRow(CATCH_UP, "all nodes: started → ready", restartMs),
    ];
  },
};

/** The same for a node whose part of the log is gone everywhere: it takes over the state of a peer, then the log. */
export const SNAPSHOT_CATCH_UP: ClusterScenario = {
  kind: "cluster",
  name: "catch-up from a snapshot after 100,000 anchors",
  needsOwn: true,
  isOptIn: true,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const operator = await TestOperator.of({ cluster: ownOf(cluster) });
    const { apiKey } = await operator.createKey({ label: "eraser", scopes: ["write", "admin"] });
    const away = await writeWithoutOne(cluster, progress);
    await progress.reporter.step("waiting until no log reaches it", () => forgetLog(cluster, apiKey, away.node.id));
    const installedBefore = installations(cluster, away.node.id);
    const caughtUp = await comeBack(cluster, away.node, progress);
    if (installations(cluster, away.node.id) === installedBefore) {
      throw new Error(`${away.node.id} came back without the state of a peer`);
    }
    return [timesRow(SNAPSHOT_CATCH_UP, "back: started → serves all of them", caughtUp)];
  },
};

function ownOf({ own }: MeasuredCluster): EmbeddedCluster {
  if (own === null) throw new Error("only a cluster of our own can be stopped and started");
  return own;
}

/** Stops a follower for as long as the others take to write all anchors. */
async function writeWithoutOne(
  cluster: MeasuredCluster,
  progress: Progress,
): Promise<{ readonly node: EmbeddedNode; readonly filledMs: number }> {
  const { id } = await cluster.follower();
  const node = ownOf(cluster).node(id);
  await progress.reporter.step(`stopping ${id}`, () => node.stopProcesses());
  const others = cluster.file.nodes.filter((each) => each.id !== id);
  return { node, filledMs: await timeOf(() => fill(cluster, others, progress)) };
}

/** @returns how long it takes from its start until every node says the same, in ms */
function comeBack(cluster: MeasuredCluster, node: EmbeddedNode, progress: Progress): Promise<number> {
  return timeOf(async () => {
    node.startProcesses();
    await untilEqual(cluster, progress);
  });
}

/** An erasure makes every log begin after it. A leader waits half a minute for members that lack its entry. */
async function forgetLog(cluster: MeasuredCluster, apiKey: string, awayId: string): Promise<void> {
  const leader = await cluster.leader();
  const client = new AnchoringClient({ apiUrl: leader.api_url, apiKey });
  try {
    const event = { event_hash: randomBytes(32).toString("hex"), client_event_id: randomUUID() };
    const { anchor } = expectOk(await client.createEvent({ origin_fingerprint: leader.origin_fingerprint, ...event }));
    expectOk(await client.eraseClientEventId(anchor.anchor_id));
  } finally {
    await client.close();
  }
  const ends = await logBounds(cluster, awayId);
  for (const { id } of cluster.file.nodes.filter((node) => node.id !== awayId)) {
    const hasForgotten = async (): Promise<boolean> => (await logBounds(cluster, id)).compactedTo > ends.last;
    await until(`${id} has forgotten what ${awayId} lacks`, hasForgotten, PATIENCE_MS);
  }
}

async function logBounds(cluster: MeasuredCluster, id: string): Promise<{ compactedTo: number; last: number }> {
  const session = await SqlSession.open(nodeFiles(ownOf(cluster), id).databaseUrl);
  try {
    const [row] = await session.rows(
      `SELECT coalesce((SELECT max(index) FROM node.raft_compaction), 0) AS compacted,
              coalesce((SELECT max(index) FROM node.raft_log), 0) AS last`,
    );
    return { compactedTo: Number(row?.["compacted"]), last: Number(row?.["last"]) };
  } finally {
    await session.close();
  }
}

/** How often the node has taken over the state of a peer, by its log. */
function installations(cluster: MeasuredCluster, id: string): number {
  const log = readFileSync(nodeFiles(ownOf(cluster), id).controlPlaneLog, "utf8");
  return log.split("snapshot_installed").length - 1;
}

async function timeOf(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function timesRow({ name }: ClusterScenario, measure: string, ms: number): TimesRow {
  return { type: "times", scenario: name, measure, ms: [ms], goals: [] };
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

/**
 * Every node reports the same newest size of every origin, which it does only if it has applied everything before it.
 */
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
      // Not up yet: the caller retries.
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
