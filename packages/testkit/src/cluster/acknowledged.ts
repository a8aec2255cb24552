import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import { served } from "../clients/anchoring-client.ts";
import { trustRootsOf } from "./trust-roots.ts";
import { LoadClient } from "../clients/load-client.ts";
import type { Acknowledged } from "../clients/retrying-writer.ts";
import type { TestCluster } from "./test-cluster.ts";

const PAGE = 500;

/** An anchor as a node shows it now, with the node's own verdict. */
interface Told {
  readonly status: number;
  readonly valid?: boolean;
  readonly anchor?: Readonly<Record<string, unknown>>;
}

/**
 * Compares one node's answers with what was acknowledged: a line for every acknowledged anchor that is missing, invalid
 * or different. Tests expect none.
 */
export async function differencesAt(
  setup: TestCluster,
  nodeId: string,
  acknowledged: readonly Acknowledged[],
): Promise<readonly string[]> {
  const client = new LoadClient({ apiUrl: setup.entry(nodeId).api_url, apiKey: setup.apiKey, connections: 1 });
  const differences: string[] = [];
  try {
    for (let from = 0; from < acknowledged.length; from += PAGE) {
      const page = acknowledged.slice(from, from + PAGE);
      const anchors = page.map(({ anchorId, eventHash }) => ({ anchor_id: anchorId, event_hash: eventHash }));
      const body = JSON.stringify({ anchors });
      const answer = await served(() => client.post("/v1/event-anchors:batchVerify", body, 20_000));
      if (answer.status !== 200) throw new Error(`${nodeId} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
      const { results } = JSON.parse(answer.text) as { readonly results: readonly Told[] };
      differences.push(...page.flatMap((told, at) => difference(told, results[at])));
    }
  } finally {
    await client.close();
  }
  return differences;
}

function difference(wanted: Acknowledged, found: Told | undefined): readonly string[] {
  const { anchorId } = wanted;
  if (found?.valid !== true || found.anchor === undefined) return [`${anchorId}: ${JSON.stringify(found)}`];
  const expected = {
    anchor_id: anchorId,
    sequence: wanted.sequence,
    depth: wanted.depth,
    origin_fingerprint: wanted.originFingerprint,
    event_hash: wanted.eventHash,
    client_event_id: wanted.clientEventId,
  };
  const { anchor } = found;
  return Object.entries(expected).flatMap(([name, value]) =>
    anchor[name] === value ? [] : [`${anchorId}: ${name} was ${value}, is ${String(anchor[name])}`],
  );
}

/** A line for every receipt that does not verify offline, or is another event's. */
export function receiptFailures(setup: TestCluster, acknowledged: readonly Acknowledged[]): readonly string[] {
  const trustRoots = trustRootsOf(setup.cluster.file.trust_root);
  return acknowledged.flatMap(({ receipt: value, eventHash, anchorId }) => {
    const { receipt } = receiptFromJson(value);
    const expect = { eventHash: hexToBytes(eventHash, 32), anchorId: hexToBytes(anchorId, 32) };
    const { failure } = verifyReceipt({ receipt, trustRoots, expect }, nodeCrypto);
    return failure === null ? [] : [`${anchorId}: ${failure.step} ${failure.code}`];
  });
}

/** The newest certified head of every origin by one node, as `size root`. */
export async function headsAt(setup: TestCluster, nodeId: string): Promise<readonly string[]> {
  const client = new LoadClient({ apiUrl: setup.entry(nodeId).api_url, apiKey: setup.apiKey, connections: 1 });
  try {
    const heads: string[] = [];
    for (const { origin_fingerprint: origin } of setup.cluster.file.nodes) {
      const answer = await served(() => client.get(`/v1/event-anchors/latest?origin_fingerprint=${origin}`));
      const { tree_size: size, root_hash: root } = JSON.parse(answer.text) as Record<string, unknown>;
      heads.push(answer.status === 200 ? `${String(size)} ${String(root)}` : answer.text);
    }
    return heads;
  } finally {
    await client.close();
  }
}
