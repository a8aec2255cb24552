import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { until } from "../until.ts";
import type { TestCluster } from "./test-cluster.ts";

const SERVED_TIMEOUT_MS = 120_000;

/** A verified chain of one document and its pin, as cluster.json holds them. */
export function trustRootsOf(trustRoot: { readonly document: string; readonly root_thk: string }): TrustRootChain {
  return chainOf([trustRoot.document], trustRoot.root_thk);
}

/** The versions that a node serves, verified from the pin that was given out when the cluster was made. */
export async function servedChain(setup: TestCluster, nodeId: string): Promise<TrustRootChain> {
  const chain = await until(
    `${nodeId} serves its trust roots`,
    async () => {
      const response = await fetch(`${setup.entry(nodeId).api_url}/v1/trust-root`);
      const answer = (await response.json()) as { readonly chain: readonly { readonly document: string }[] };
      return response.status === 200 ? answer.chain : null;
    },
    SERVED_TIMEOUT_MS,
  );
  const documents = chain.map(({ document }) => document);
  return chainOf(documents, setup.cluster.file.trust_root.root_thk);
}

function chainOf(documents: readonly string[], rootThk: string): TrustRootChain {
  const verification = verifyTrustRootChain({ documents, pinnedRootThk: hexToBytes(rootThk, 32) }, nodeCrypto);
  if (verification.result === "refused") throw new Error(`the trust root is refused: ${verification.detail}`);
  return verification.chain;
}
