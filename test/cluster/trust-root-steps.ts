/** Trust-root versions of a test cluster, made as operators make them: with anchorctl. */
import { join } from "node:path";
import { anchorctl } from "@event-anchoring/cli";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, receiptFromJson, verifyReceipt, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { LoadClient, differencesAt, until } from "@event-anchoring/testkit";
import type { Acknowledged, TestCluster } from "@event-anchoring/testkit";

const PAGE = 100;
const CALM_TIMEOUT_MS = 120_000;

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
  const chain = await until(
    `${nodeId} serves its trust roots`,
    async () => {
      const response = await fetch(`${entry(nodeId).api_url}/v1/trust-root`);
      const answer = (await response.json()) as { readonly chain: readonly { readonly document: string }[] };
      return response.status === 200 ? answer.chain : null;
    },
    CALM_TIMEOUT_MS,
  );
  const documents = chain.map(({ document }) => document);
  const pinnedRootThk = hexToBytes(cluster.file.trust_root.root_thk, 32);
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "refused") throw new Error(`${nodeId}: ${verified.code}: ${verified.detail}`);
  return verified.chain;
}

/** At most that many, spread over all: the first and the newest among them. */
export function spread<Item>(items: readonly Item[], count: number): readonly Item[] {
  const step = Math.max(1, Math.ceil(items.length / count));
  return items.filter((_item, at) => at % step === 0 || at === items.length - 1);
}

/** As differencesAt, for machines on which a page may take longer than a node waits. */
export async function differencesWhenCalm(
  setup: TestCluster,
  nodeId: string,
  acknowledged: readonly Acknowledged[],
): Promise<readonly string[]> {
  const pages: string[] = [];
  for (let from = 0; from < acknowledged.length; from += PAGE) {
    const page = acknowledged.slice(from, from + PAGE);
    const found = await until(
      `${nodeId} tells what it holds`,
      () =>
        differencesAt(setup, nodeId, page).catch((error: unknown) => {
          if (error instanceof Error && error.message.includes("answered 503")) return null;
          throw error;
        }),
      CALM_TIMEOUT_MS,
    );
    pages.push(...found);
  }
  return pages;
}

/** A line for every receipt that does not verify with nothing but the chain: superseded versions count. */
export function offlineFailures(trustRoots: TrustRootChain, acknowledged: readonly Acknowledged[]): readonly string[] {
  return acknowledged.flatMap((told) => {
    const { failure } = verdictOf(trustRoots, told, told.receipt);
    return failure === null ? [] : [`${told.anchorId}: ${failure.step} ${failure.code}`];
  });
}

/** A line for every anchor whose receipt, asked for anew, does not satisfy the newest version. */
export async function renewalFailures(
  { apiKey, entry }: TestCluster,
  nodeId: string,
  trustRoots: TrustRootChain,
  acknowledged: readonly Acknowledged[],
): Promise<readonly string[]> {
  const client = new LoadClient({ apiUrl: entry(nodeId).api_url, apiKey, connections: 1 });
  try {
    const lines: string[] = [];
    for (const told of acknowledged) {
      const answer = await client.get(`/v1/event-anchors/${told.anchorId}/receipt`);
      const verdict = verdictOf(trustRoots, told, JSON.parse(answer.text));
      const { failure } = verdict;
      if (failure !== null) lines.push(`${told.anchorId}: ${failure.step} ${failure.code}`);
      if ("supersededTrustRoot" in verdict && verdict.supersededTrustRoot !== undefined) {
        lines.push(`${told.anchorId}: only version ${verdict.supersededTrustRoot}`);
      }
    }
    return lines;
  } finally {
    await client.close();
  }
}

function verdictOf(trustRoots: TrustRootChain, { eventHash, anchorId }: Acknowledged, value: unknown) {
  const { receipt } = receiptFromJson(value);
  const expect = { eventHash: hexToBytes(eventHash, 32), anchorId: hexToBytes(anchorId, 32) };
  return verifyReceipt({ receipt, trustRoots, expect }, nodeCrypto);
}
