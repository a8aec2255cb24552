/** What the drills of backup and restore do to a test cluster, with the commands that an operator types. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustAnchorctl } from "@event-anchoring/gates/anchorctl";
import { until } from "@event-anchoring/testkit";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

export const STEP_TIMEOUT_MS = 300_000;
const DIGEST_BYTES = 32;
const ALL_SCOPES = 15;

/** What somebody who can write the file does: gives an API key every scope, and computes the hash anew. */
export function withAllScopes(backup: string, label: string): string {
  const bytes = readFileSync(backup);
  const scopes = bytes.indexOf(label) + label.length;
  if (scopes < label.length || bytes[scopes] === ALL_SCOPES) throw new Error(`no such key: ${label}`);
  bytes[scopes] = ALL_SCOPES;
  const body = bytes.subarray(0, -DIGEST_BYTES);
  const path = `${backup}.forged`;
  writeFileSync(path, Buffer.concat([body, createHash("sha256").update(body).digest()]));
  return path;
}

/** The node ends, and what it has promised is carried away: without it, it can never start again. */
export async function loseNode(setup: TestCluster, nodeId: string): Promise<string> {
  const { promiseFile } = nodeFiles(setup.cluster, nodeId);
  await setup.cluster.node(nodeId).killProcesses();
  const kept = join(setup.cluster.root, `${nodeId}.promises`);
  renameSync(promiseFile, kept);
  return kept;
}

/** Signs with the cluster's root key, as its holder would after having compared the hash. */
export async function signRoot({ cluster }: TestCluster, proposal: string, rootThk: unknown): Promise<void> {
  const key = join(cluster.root, "root-keys", "root-1.seed");
  const held = ["--cluster", cluster.root];
  await mustAnchorctl(["root", "sign", proposal, "--key", key, "--expect", String(rootThk), ...held]);
}

/** null: it does not answer. */
export async function readiness({ entry }: TestCluster, nodeId: string): Promise<string | null> {
  try {
    const response = await fetch(`${entry(nodeId).api_url}/readyz`, { signal: AbortSignal.timeout(5000) });
    return response.status === 200 ? "ready" : await response.text();
  } catch {
    // The node is starting or down; whoever waits asks again.
    return null;
  }
}

export async function untilReady(setup: TestCluster, nodeIds: readonly string[]): Promise<void> {
  for (const nodeId of nodeIds) {
    let newest: string | null = null;
    await until(
      `${nodeId} is ready`,
      async () => (newest = await readiness(setup, nodeId)) === "ready",
      STEP_TIMEOUT_MS,
    ).catch((error: unknown) => {
      throw new Error(`${nodeId}: ${newest ?? "no answer"}`, { cause: error });
    });
  }
}

export function logOf(setup: TestCluster, nodeId: string): string {
  const { controlPlaneLog } = nodeFiles(setup.cluster, nodeId);
  return existsSync(controlPlaneLog) ? readFileSync(controlPlaneLog, "utf8") : "";
}
