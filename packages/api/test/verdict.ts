import { nodeCrypto } from "@event-anchoring/node-crypto";
import { receiptFromJson, verifyReceipt, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { Harness } from "./api-harness.ts";

/** What a client that has pinned the first trust root says of a receipt. */
export function verdictOf(harness: Harness, receipt: unknown): string {
  const { trustRoot, trustRoots } = harness.node.cluster;
  const documents = trustRoots.map(({ note }) => note);
  const chain = verifyTrustRootChain({ documents, pinnedRootThk: trustRoot.rootThk }, nodeCrypto);
  if (chain.result !== "verified") throw new Error(chain.detail);
  const stated = receiptFromJson(receipt);
  const expected = { anchorId: stated.anchorId };
  return verifyReceipt({ receipt: stated.receipt, trustRoots: chain.chain, expect: expected }, nodeCrypto).verdict;
}
