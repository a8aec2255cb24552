/** Trust-root versions of a test cluster, made as operators make them: with anchorctl. */
import { join } from "node:path";
import { anchorctl } from "@event-anchoring/cli";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { TestCluster } from "@event-anchoring/testkit";

export interface Run {
  readonly exitCode: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** One command line about the cluster's trust root; its JSON, whatever the exit code. */
export async function runRoot({ cluster }: TestCluster, args: readonly string[]): Promise<Run> {
  let stdout = "";
  const exitCode = await anchorctl([...args, "--cluster", cluster.root, "--json"], {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: () => {} },
    workingDir: "/",
    environment: {},
  });
  return { exitCode, json: JSON.parse(stdout) as Readonly<Record<string, unknown>> };
}

/** Every step must end well. */
export async function mustRun(setup: TestCluster, args: readonly string[]): Promise<Run["json"]> {
  const { exitCode, json } = await runRoot(setup, args);
  if (exitCode !== 0) throw new Error(`anchorctl ${args.join(" ")}: ${exitCode} ${JSON.stringify(json)}`);
  return json;
}

/**
 * Proposes, signs with the cluster's root key, submits, and waits until the group is as the version asks.
 * @param changes options of `anchorctl root propose`
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
    await mustRun(setup, ["root", "sign", proposal, "--key", key, "--expect", String(proposed.root_thk)]);
  }
  const { version } = await mustRun(setup, ["root", "submit", proposal, "--wait", options.wait ?? "90s"]);
  return Number(version);
}

/** The versions that the node serves, verified from the pin that was given out when the cluster was made. */
export async function servedChain({ cluster, entry }: TestCluster, nodeId: string): Promise<TrustRootChain> {
  const response = await fetch(`${entry(nodeId).api_url}/v1/trust-root`);
  const { chain } = (await response.json()) as { readonly chain: readonly { readonly document: string }[] };
  const documents = chain.map(({ document }) => document);
  const pinnedRootThk = hexToBytes(cluster.file.trust_root.root_thk, 32);
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "refused") throw new Error(`${nodeId}: ${verified.code}: ${verified.detail}`);
  return verified.chain;
}
