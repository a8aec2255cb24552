import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { until } from "@event-anchoring/testkit";
import { AnchoringClient, expectOk } from "@event-anchoring/testkit/clients";
import { TestOperator, nodeFiles } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { comeBack, ownOf, restartAll, writeWithoutOne } from "./outages.ts";
import type { Row, TimesRow } from "../figures/rows.ts";
import type { ClusterScenario } from "./scenario.ts";

const ANCHORS = 100_000;
const PATIENCE_MS = 600_000;

/**
 * How long a node that missed 100,000 anchors needs to catch up, and how long a cluster that holds them needs to start.
 */
export const CATCH_UP: ClusterScenario = {
  kind: "cluster",
  name: "restart and catch-up with 100,000 anchors",
  needs: "own",
  isOptIn: true,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const away = await writeWithoutOne(cluster, ANCHORS, progress);
    const caughtUp = await comeBack(cluster, away.node, progress);
    const restartMs = await restartAll(cluster, progress);
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
  needs: "own",
  isOptIn: true,
  run: async (cluster, { progress }): Promise<readonly Row[]> => {
    const operator = await TestOperator.of({ cluster: ownOf(cluster) });
    const { apiKey } = await operator.createKey({ label: "eraser", scopes: ["write", "admin"] });
    const away = await writeWithoutOne(cluster, ANCHORS, progress);
    await progress.reporter.step("waiting until no log reaches it", () => forgetLog(cluster, apiKey, away.node.id));
    const installedBefore = installations(cluster, away.node.id);
    const caughtUp = await comeBack(cluster, away.node, progress);
    if (installations(cluster, away.node.id) === installedBefore) {
      throw new Error(`${away.node.id} came back without the state of a peer`);
    }
    return [timesRow(SNAPSHOT_CATCH_UP, "back: started → serves all of them", caughtUp)];
  },
};

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
  for (const { id } of cluster.nodes.filter((node) => node.id !== awayId)) {
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

function timesRow({ name }: ClusterScenario, measure: string, ms: number): TimesRow {
  return { type: "times", scenario: name, measure, ms: [ms] };
}
