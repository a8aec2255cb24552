/** Ceremonies of clusters in one process, and who is who after them. */
import type { ActSigner } from "@event-anchoring/control-contract";
import { type Signer, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, logKeySeed, parseSignedTrustRoot, raftIdOf } from "@event-anchoring/protocol";
import { type Ceremony, holdCeremony } from "@event-anchoring/provision";
import { WORLD_START_MS } from "@event-anchoring/simulator";
import { TestActs } from "@event-anchoring/testkit/records";
import type { NodeIdentity } from "../src/ports/identity.ts";

export function ceremonyOf(nodeIds: readonly string[]): Ceremony {
  return holdCeremony({
    clusterName: "test.example/memory",
    nodeIds,
    quorum: Math.floor(nodeIds.length / 2) + 1,
    rootKeys: 1,
    rootThreshold: 1,
    caSpkiSha256: new Uint8Array(32).fill(7),
    issuedS: WORLD_START_MS / 1000,
    expiresS: WORLD_START_MS / 1000 + 86_400,
  });
}

/** Whom version 1 lists as operator. */
export function operatorOf({ operators: [operator], clusterId }: Ceremony): ActSigner {
  if (operator === undefined) throw new Error("a ceremony makes an operator");
  return { operator: operator.name, clusterId, epoch: 0, sign: createSigner(operator.seed).sign };
}

export function actsOf(ceremony: Ceremony): TestActs {
  const { operator, sign, ...place } = operatorOf(ceremony);
  return new TestActs(place, operator, sign);
}

export function identityOf(ceremony: Ceremony, nodeId: string): NodeIdentity {
  const secrets = ceremony.nodes.find((node) => node.nodeId === nodeId);
  if (secrets === undefined) throw new Error(`no keys for ${nodeId}`);
  const { trustRoot } = parseSignedTrustRoot(ceremony.document, nodeCrypto.sha256);
  const logSigners = new Map<string, Signer>();
  return {
    nodeId,
    clusterId: ceremony.clusterId,
    raftId: raftIdOf(ceremony.clusterId, nodeId, nodeCrypto.sha256),
    originFingerprint: secrets.originFingerprint,
    authSigner: createSigner(secrets.authSeed),
    cosigner: createSigner(secrets.cosignerSeed),
    logSignerOf: (origin) => {
      const name = bytesToHex(origin);
      const known = logSigners.get(name) ?? createSigner(logKeySeed(ceremony.logSeed, origin, nodeCrypto.sha256));
      logSigners.set(name, known);
      return known;
    },
    configured: { document: ceremony.document, version: 1, rootThk: ceremony.rootThk },
    trustRoot,
  };
}
