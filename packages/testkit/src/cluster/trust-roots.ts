import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";

/** A verified chain of one document and its pin, as cluster.json holds them. */
export function trustRootsOf(trustRoot: { readonly document: string; readonly root_thk: string }): TrustRootChain {
  const input = { documents: [trustRoot.document], pinnedRootThk: hexToBytes(trustRoot.root_thk, 32) };
  const verification = verifyTrustRootChain(input, nodeCrypto);
  if (verification.result === "refused") throw new Error(`the trust root is refused: ${verification.detail}`);
  return verification.chain;
}
