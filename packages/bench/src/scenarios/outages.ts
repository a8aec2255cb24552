/** Nodes that are stopped and started, and how long they take to be back. */
import type { EmbeddedCluster, EmbeddedNode } from "@event-anchoring/dev-cluster";
import type { Progress } from "../report/progress.ts";
import { fill, untilEqual } from "./fill.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";

const PATIENCE_MS = 600_000;

export function ownOf({ own }: MeasuredCluster): EmbeddedCluster {
  if (own === null) throw new Error("only a cluster of our own can be stopped and started");
  return own;
}

export async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

export interface Away {
  readonly node: EmbeddedNode;
  /** How long the others took to write all anchors. */
  readonly filledMs: number;
}

/** Stops a follower for as long as the others take to write so many anchors. */
export async function writeWithoutOne(cluster: MeasuredCluster, anchors: number, progress: Progress): Promise<Away> {
  const { id } = await cluster.follower();
  const node = ownOf(cluster).node(id);
  await progress.reporter.step(`stopping ${id}`, () => node.stopProcesses());
  const nodes = cluster.nodes.filter((each) => each.id !== id);
  return { node, filledMs: await timeOf(() => fill(cluster, { anchors, nodes, progress })) };
}

/** @returns how long it takes from its start until every node says the same, in ms */
export function comeBack(cluster: MeasuredCluster, node: EmbeddedNode, progress: Progress): Promise<number> {
  return timeOf(async () => {
    node.startProcesses();
    await untilEqual(cluster, progress);
  });
}

/** @returns how long it takes from the start of stopped nodes until all are ready, in ms */
export async function restartAll(cluster: MeasuredCluster, progress: Progress): Promise<number> {
  const own = ownOf(cluster);
  const nodes = own.file.nodes.map(({ id }) => own.node(id));
  await progress.reporter.step("stopping all nodes", async () => {
    await Promise.all(nodes.map((node) => node.stopProcesses()));
    await Promise.all(nodes.map((node) => node.stopPostgres()));
  });
  return timeOf(async () => {
    await Promise.all(nodes.map((node) => node.startPostgres()));
    for (const node of nodes) node.startProcesses();
    await own.ready(PATIENCE_MS);
  });
}
