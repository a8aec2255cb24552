import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { isReady, nodeFiles } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { damageSaid } from "./damage-said.ts";

/** What became of a node that was started. */
export interface Started {
  /** `told`: it does not serve, and its logs say why. `slow`: it does neither, and proves nothing. */
  readonly kind: "serves" | "stops" | "told" | "slow";
  /** In words, for figures and failures. */
  readonly outcome: string;
}

/** What a damaged node gets to serve, or to stop: what it says before may not be its last word. */
const FIRST_MS = 15_000;
/** What it gets after that, to do either, or to say why it does not. */
const SLOW_MS = 120_000;

/** Starts a node of which bits were altered, and waits until it serves, stops, or says why it does neither. */
export async function startDamaged(setup: TestCluster, nodeId: string): Promise<Started> {
  const saidNow = watchLogs(setup, nodeId);
  const down = await startPostgres(setup, nodeId);
  if (down !== null) return toldOrSlow("has a database that does not start", saidNow());
  setup.cluster.node(nodeId).startProcesses();
  const first = await comesUp(setup, nodeId, FIRST_MS, () => null);
  if (first !== null) return first;
  const told = (): Started | null => (saidNow() === null ? null : toldOrSlow("says why it does not serve", saidNow()));
  return (await comesUp(setup, nodeId, SLOW_MS, told)) ?? toldOrSlow("does not serve", null);
}

/** Starts a node that has to serve. It is `slow` if it does neither that nor stop in time. */
export async function startSound(setup: TestCluster, nodeId: string, timeoutMs: number): Promise<Started> {
  const down = await startPostgres(setup, nodeId);
  if (down !== null) return toldOrSlow(`has a database that does not start (${down})`, null);
  setup.cluster.node(nodeId).startProcesses();
  return (await comesUp(setup, nodeId, timeoutMs, () => null)) ?? toldOrSlow("is not ready", null);
}

export async function stopNode({ cluster }: TestCluster, nodeId: string, isKilled: boolean): Promise<void> {
  const node = cluster.node(nodeId);
  if (isKilled) {
    await node.killProcesses();
    await node.killPostgres();
    return;
  }
  await node.stopProcesses();
  await node.stopPostgres();
}

function toldOrSlow(outcome: string, said: string | null): Started {
  return said === null ? { kind: "slow", outcome: `${outcome}, and does not say why` } : { kind: "told", outcome };
}

/** @returns why it does not start; null: it has started */
async function startPostgres(setup: TestCluster, nodeId: string): Promise<string | null> {
  try {
    await setup.cluster.node(nodeId).startPostgres();
    return null;
  } catch (error) {
    return String(error);
  }
}

/** @returns null: nothing of it in time */
async function comesUp(
  setup: TestCluster,
  nodeId: string,
  timeoutMs: number,
  orElse: () => Started | null,
): Promise<Started | null> {
  const files = nodeFiles(setup.cluster, nodeId);
  const upOrStopped = async (): Promise<Started | null> => {
    const stopped = files.stopped();
    if (stopped !== null) return { kind: "stops", outcome: `stops: ${stopped.check}` };
    return (await isReady(setup, nodeId)) ? { kind: "serves", outcome: "serves" } : orElse();
  };
  try {
    return await until(`${nodeId} comes up`, upOrStopped, timeoutMs);
  } catch {
    // Neither in time: what that means is the caller's to say.
    return null;
  }
}

/** @returns what tells the first reason that the node's logs give from now on; null: there is none yet */
function watchLogs(setup: TestCluster, nodeId: string): () => string | null {
  const { controlPlaneLog, postgresLog } = nodeFiles(setup.cluster, nodeId);
  const logs = [controlPlaneLog, join(dirname(controlPlaneLog), "api.log"), postgresLog];
  const before = logs.map((path) => readFileSync(path).length);
  return () => {
    const said = logs.map((path, at) => {
      const bytes = readFileSync(path);
      // A log that has become shorter is a new one.
      return bytes.subarray(bytes.length < (before[at] ?? 0) ? 0 : before[at]).toString();
    });
    return damageSaid(said.join("\n"));
  };
}
