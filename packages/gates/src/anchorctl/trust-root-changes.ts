/** Trust-root versions of a test cluster, made as operators make them. */
import { join } from "node:path";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { mustAnchorctl, runAnchorctl } from "./run-anchorctl.ts";
import type { Ended } from "./run-anchorctl.ts";

/** One command line about the cluster; its JSON, whatever the exit code. */
export function runRoot({ cluster }: TestCluster, args: readonly string[]): Promise<Ended> {
  return runAnchorctl([...args, "--cluster", cluster.root]);
}

/** As `runRoot`. @throws unless the exit code is 0 */
export function mustRun({ cluster }: TestCluster, args: readonly string[]): Promise<Ended["json"]> {
  return mustAnchorctl([...args, "--cluster", cluster.root]);
}

/**
 * Proposes, signs with the cluster's root key, submits, and waits until the group is as the version asks.
 * @param changes options of `anchorctl root propose`
 * @returns the version
 */
export async function changeTrustRoot(
  setup: TestCluster,
  changes: readonly string[],
  options: { readonly wait?: string; readonly keys?: readonly string[] } = {},
): Promise<number> {
  const { root } = setup.cluster;
  const proposal = join(root, "nodes", "next-trust-root");
  const proposed = await mustRun(setup, ["root", "propose", "--out", proposal, ...changes]);
  for (const key of options.keys ?? [join(root, "root-keys", "root-1.seed")]) {
    await mustRun(setup, ["root", "sign", proposal, "--key", key, "--expect", String(proposed["root_thk"])]);
  }
  const { version } = await mustRun(setup, ["root", "submit", proposal, "--wait", options.wait ?? "90s"]);
  return Number(version);
}

/** Draws other keys for a node. @param names `cosigner`, `auth`, or both; @param card where its new card goes */
export async function rotateNode(setup: TestCluster, nodeId: string, names: string, card: string): Promise<void> {
  const { identityDir } = nodeFiles(setup.cluster, nodeId);
  await mustRun(setup, ["member", "rotate", nodeId, "--identity", identityDir, "--keys", names, "--card", card]);
}

/** The node's folder gets the newest version, and the new keys take the place of the old ones. */
export function settleNode(setup: TestCluster, nodeId: string): Promise<Ended["json"]> {
  const { identityDir } = nodeFiles(setup.cluster, nodeId);
  return mustRun(setup, ["member", "settle", nodeId, "--identity", identityDir]);
}
