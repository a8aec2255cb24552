/** What tests of whole clusters do again and again. */
import { expect } from "@jest/globals";
import { MemoryCluster, type MemoryNode, acceptedId, createKeyCommand, eventCommand } from "./memory-cluster.ts";

/** A cluster that leads, has applied genesis, and knows an API key. */
export async function readyCluster(nodeIds?: readonly string[]): Promise<MemoryCluster> {
  const cluster = await MemoryCluster.create(nodeIds);
  await cluster.until(() => cluster.leader() !== null, "a leader");
  await cluster.until(
    () => cluster.nodes.every(({ session }) => (session?.state.trustRootChain ?? null) !== null),
    "genesis is applied everywhere",
  );
  const made = cluster.submit(cluster.nodes[0] as MemoryNode, createKeyCommand());
  await cluster.time.advance(500);
  expect(await made).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
  return cluster;
}

/** Sizes that each node holds a certificate for, by origin. */
export function certifiedSizes(cluster: MemoryCluster): number[][] {
  return cluster.nodes.map((node) => {
    const { state, certifier } = node.live();
    return [...state.origins.values()].map(
      ({ originFingerprint }) => certifier.heldOf(originFingerprint)?.treeSize ?? 0,
    );
  });
}

/** One certified event, through this node. */
export async function anchor(cluster: MemoryCluster, node: MemoryNode, seed: number, id?: string): Promise<string> {
  const result = cluster.submit(node, eventCommand(node.identity.originFingerprint, seed, id ?? null));
  await cluster.time.advance(200);
  return acceptedId(await result);
}
