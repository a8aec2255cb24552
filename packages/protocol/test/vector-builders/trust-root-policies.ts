/** The rules of certified and of witnessed heads of a trust root, as tlog-policies. */
import {
  formatPolicy,
  formatTrustRootText,
  parseTrustRootText,
  tlogPolicyOf,
  witnessedPolicyOf,
} from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { nodeA, nodeB, nodeC, nodeEntry, sha256, version1, version2, witnessEntry } from "./fixtures.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

function policyJson(name: string, given: TrustRoot): Json {
  const text = formatTrustRootText(given);
  // Its lines are in the order of the text.
  const root = parseTrustRootText(text, sha256);
  return {
    name,
    text,
    certified: formatPolicy(tlogPolicyOf(root)),
    witnessed: root.witnesses.length === 0 ? null : formatPolicy(witnessedPolicyOf(root)),
  };
}

export function trustRootPolicies(): Json[] {
  const [north, south, west] = [witnessEntry("north", 0x51), witnessEntry("south", 0x52), witnessEntry("west", 0x53)];
  const watched = { witnesses: [north, south, west], witnessQuorum: 2 };
  const likeGroups = ["both", "outside"].map((nodeId, at) => nodeEntry({ ...(at === 0 ? nodeA : nodeB), nodeId }));
  return [
    policyJson("no witness", version1),
    policyJson("a retired node", version2),
    policyJson("two of three witnesses", { ...version1, ...watched }),
    policyJson("a witness alone", { ...version1, witnesses: [north], witnessQuorum: 1 }),
    policyJson("nodes called like groups", { ...version1, ...watched, nodes: [...likeGroups, nodeEntry(nodeC)] }),
  ];
}
