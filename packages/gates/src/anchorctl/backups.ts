import { rmSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { mustAnchorctl } from "./run-anchorctl.ts";

/** The settings file of a node's control plane. */
export function settingsOf({ cluster }: TestCluster, nodeId: string): string {
  return join(cluster.root, "nodes", nodeId, "control-plane.json");
}

/**
 * Takes a backup of a node.
 * @param flags `--unsigned` where no cluster is left that could sign it
 * @returns its path
 */
export async function takeBackup(
  setup: TestCluster,
  nodeId: string,
  name: string,
  flags: readonly string[] = [],
): Promise<string> {
  const out = join(setup.cluster.root, name);
  await mustAnchorctl(["backup", "create", "--database", settingsOf(setup, nodeId), "--out", out, ...flags]);
  return out;
}

/** A node that was prepared and has not run: identity, settings, an empty database. */
export async function prepareNode(setup: TestCluster, nodeId: string): Promise<void> {
  const node = await setup.cluster.addNode(nodeId);
  await node.killProcesses();
  const { promiseFile, databaseUrl } = nodeFiles(setup.cluster, nodeId);
  for (const path of [promiseFile, `${promiseFile}.lock`, `${promiseFile}.new`]) rmSync(path, { force: true });
  const session = await SqlSession.open(databaseUrl);
  try {
    for (const schema of ["node", "state"]) await session.rows(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  } finally {
    await session.close();
  }
}
