import { type Ceremony, holdCeremony } from "@event-anchoring/provision";

const DAY_S = 86_400;

/** A ceremony of three nodes with one root key, of which two nodes are a quorum. @param issuedS UNIX seconds */
export function threeNodeCeremony(
  clusterName: string,
  issuedS: number,
  nodeIds: readonly [string, string, string] = ["n1", "n2", "n3"],
): Ceremony {
  return holdCeremony({
    clusterName,
    nodeIds,
    quorum: 2,
    rootKeys: 1,
    rootThreshold: 1,
    caSpkiSha256: new Uint8Array(32).fill(7),
    issuedS,
    expiresS: issuedS + DAY_S,
  });
}
