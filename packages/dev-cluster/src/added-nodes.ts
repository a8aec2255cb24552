/** Nodes of a cluster folder beyond those it was made with, and those that have left it. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import {
  NODE_TLS_LIFETIME_MS,
  formatNodeCard,
  issueCertificate,
  loadCertificateAuthority,
  makePrivateDirectory,
  parseNodeCard,
  prepareNode,
  readSeed,
  readTrustRoots,
  writePrivateFile,
} from "@event-anchoring/provision";
import type { NodeCard, ProvisionedCluster, ProvisionedNode } from "@event-anchoring/provision";

const CARD = "node.card";
const LEFT = "left";

/** The cluster with the nodes that its folder holds now. */
export function withPresentNodes(cluster: ProvisionedCluster): ProvisionedCluster {
  const root = join(cluster.outDir, "nodes");
  const known = cluster.nodes.map(({ nodeId }) => nodeId);
  const added = readdirSync(root)
    .filter((nodeId) => !known.includes(nodeId) && existsSync(join(root, nodeId, CARD)))
    .map((nodeId) => nodeOf(cluster.outDir, parseNodeCard(readFileSync(join(root, nodeId, CARD), "utf8"))));
  const nodes = [...cluster.nodes, ...added].filter(({ dir }) => !existsSync(join(dir, LEFT)));
  return { ...cluster, nodes };
}

/** Makes the folder of one more node: keys, certificate, the trust roots that are held here. */
export async function makeNode(cluster: ProvisionedCluster, nodeId: string): Promise<ProvisionedNode> {
  const { outDir, nodes } = cluster;
  const dir = join(outDir, "nodes", nodeId);
  const identityDir = join(dir, "identity");
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster has nodes");
  const logSeed = await readSeed(join(first.identityDir, "log.seed"));
  for (const path of [dir, identityDir, join(dir, "promise"), join(dir, "run")]) await makePrivateDirectory(path);
  const card = await prepareNode({ identityDir, nodeId, chain: await readTrustRoots(outDir), logSeed });
  const authority = await loadCertificateAuthority(outDir);
  const identity = { role: "node", clusterId: hexToBytes(cluster.clusterId, 32), id: nodeId } as const;
  const tls = await issueCertificate(authority, identity, NODE_TLS_LIFETIME_MS, Date.now());
  await writePrivateFile(join(identityDir, "ca.crt"), authority.certificatePem);
  await writePrivateFile(join(identityDir, "tls.key"), tls.privateKeyPem);
  await writePrivateFile(join(identityDir, "tls.crt"), tls.certificatePem);
  await writePrivateFile(cardPath(outDir, nodeId), formatNodeCard(card));
  return nodeOf(outDir, card);
}

/** Where the card of an added node lies. */
export function cardPath(outDir: string, nodeId: string): string {
  return join(outDir, "nodes", nodeId, CARD);
}

/** A node that has left keeps its folder, and is not started any more. */
export async function noteLeft({ dir }: ProvisionedNode): Promise<void> {
  await writePrivateFile(join(dir, LEFT), "");
}

function nodeOf(outDir: string, card: NodeCard): ProvisionedNode {
  const dir = join(outDir, "nodes", card.nodeId);
  return {
    nodeId: card.nodeId,
    dir,
    identityDir: join(dir, "identity"),
    promiseFile: join(dir, "promise", "promise.bin"),
    runDir: join(dir, "run"),
    originFingerprint: bytesToHex(card.originFingerprint),
    authPublicKey: card.authPublicKey,
  };
}
