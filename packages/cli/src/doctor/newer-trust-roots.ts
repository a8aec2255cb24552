import { nodeCrypto } from "@event-anchoring/node-crypto";
import { verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { baseOf, parsed, recordsIn } from "./api-process.ts";
import type { Host } from "./host.ts";
import type { ApiSettings } from "./node-files.ts";

/**
 * The chain with the versions that the cluster has added since this node's folder was made, as its own api process has
 * them. They authenticate themselves from the first version of the folder; what does not follow from it is left out.
 */
export async function withNewerTrustRoots(host: Host, api: ApiSettings, held: TrustRootChain): Promise<TrustRootChain> {
  const [first = held.newest] = held.versions;
  const answer = parsed((await host.get(`${baseOf(api)}/v1/trust-root`))?.body ?? "");
  const documents = recordsIn(answer["chain"]).map(({ document }) => String(document));
  const known = documents.slice(first.trustRoot.version - 1);
  const verified = verifyTrustRootChain({ documents: known, pinnedRootThk: first.rootThk }, nodeCrypto);
  if (verified.result !== "verified") return held;
  return verified.chain.newest.trustRoot.version > held.newest.trustRoot.version ? verified.chain : held;
}
