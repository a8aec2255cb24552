/** What was acknowledged before, between and after trust-root versions of a test cluster. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { LoadClient } from "@event-anchoring/testkit/clients";
import { differencesAt } from "@event-anchoring/testkit/cluster";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

const PAGE = 100;
const CALM_TIMEOUT_MS = 120_000;

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
