/** What tests of whole clusters do again and again. */
import { expect } from "@jest/globals";
import type { Command, CommandOutcome, LeafWrite } from "@event-anchoring/ledger";
import { MemoryCluster, type MemoryNode, acceptedId, createKeyCommand, eventCommand } from "./memory-cluster.ts";

/** A cluster that leads, has applied genesis, and knows an API key. */
export async function readyCluster(nodeIds?: readonly string[]): Promise<MemoryCluster> {
  return made(await MemoryCluster.create(nodeIds));
}

/** Waits for all that. */
export async function made(cluster: MemoryCluster): Promise<MemoryCluster> {
  await cluster.until(() => cluster.leader() !== null, "a leader");
  await cluster.until(
    () => cluster.nodes.every(({ session }) => (session?.state.trustRootChain ?? null) !== null),
    "genesis is applied everywhere",
  );
  const key = cluster.submit(cluster.nodes[0] as MemoryNode, cluster.acts.signed(createKeyCommand()));
  await cluster.time.advance(500);
  expect(await key).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
  return cluster;
}

/** Sizes that each node holds a certificate for, by origin. */
export function certifiedSizes(cluster: MemoryCluster): number[][] {
  return cluster.nodes.map((node) => {
    const session = node.live();
    const { state } = session;
    return [...state.origins.values()].map(({ originFingerprint }) => session.heldOf(originFingerprint)?.treeSize ?? 0);
  });
}

/** One certified event, through this node. */
export async function anchor(cluster: MemoryCluster, node: MemoryNode, seed: number, id?: string): Promise<string> {
  const result = cluster.submit(node, eventCommand(node.identity.originFingerprint, seed, id ?? null));
  await cluster.time.advance(200);
  return acceptedId(await result);
}

/** The outcome of one command, through this node. */
export async function decided(
  cluster: MemoryCluster,
  node: MemoryNode,
  command: Command,
  patienceMs = 300,
): Promise<CommandOutcome> {
  const result = cluster.submit(node, command);
  await cluster.time.advance(patienceMs);
  const given = await result;
  if (given.kind !== "decided") throw new Error(`refused: ${given.code}: ${given.detail}`);
  return given.outcome;
}

/** The leaf that one command appends, through this node. */
export async function recorded(
  cluster: MemoryCluster,
  node: MemoryNode,
  command: Command,
  patienceMs?: number,
): Promise<LeafWrite> {
  const outcome = await decided(cluster, node, command, patienceMs);
  const record = outcome.kind === "records" ? outcome.records[0] : undefined;
  if (record?.status !== "accepted") throw new Error(`not accepted: ${JSON.stringify(record ?? outcome)}`);
  return record.leaf;
}
