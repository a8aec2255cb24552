/** What tests of whole clusters do again and again. */
import { expect } from "@jest/globals";
import type { Command, CommandOutcome, LeafWrite } from "@event-anchoring/ledger";
import type { Ceremony } from "@event-anchoring/provision";
import { QuietCluster, type QuietMachine } from "@event-anchoring/simulator";
import { actsOf, ceremonyOf, identityOf } from "./ceremony.ts";
import { acceptedId, createKeyCommand, eventCommand } from "./commands.ts";

/** Names that tests give to nodes, of the first version or a later one. */
const NAMES = ["a", "b", "c", "d", "e", "f"];

/** The nodes of a ceremony have begun. Of one ceremony every cluster lives the same life. */
export function clusterOf(ceremony: Ceremony): Promise<QuietCluster> {
  return QuietCluster.of({
    founders: ceremony.nodes.map(({ nodeId }) => identityOf(ceremony, nodeId)),
    expected: NAMES,
    acts: actsOf(ceremony),
  });
}

/** A cluster that leads, has applied genesis, and knows an API key. */
export async function readyCluster(nodeIds: readonly string[] = ["a", "b", "c"]): Promise<QuietCluster> {
  return made(await clusterOf(ceremonyOf(nodeIds)));
}

/** Waits for all that. */
export async function made(cluster: QuietCluster): Promise<QuietCluster> {
  await cluster.until(() => cluster.leader() !== null, "a leader");
  await cluster.until(
    () => cluster.nodes.every(({ session }) => (session?.state.trustRootChain ?? null) !== null),
    "genesis is applied everywhere",
  );
  const key = cluster.submit(cluster.nodes[0] as QuietMachine, cluster.acts.signed(createKeyCommand()));
  await cluster.time.advance(500);
  expect(await answered(cluster, key)).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
  return cluster;
}

/** Sizes that each node holds a certificate for, by origin. */
export function certifiedSizes(cluster: QuietCluster): number[][] {
  return cluster.nodes.map((node) => {
    const session = node.live();
    const { state } = session;
    return [...state.origins.values()].map(({ originFingerprint }) => session.heldOf(originFingerprint)?.treeSize ?? 0);
  });
}

/** One certified event, through this node. */
export async function anchor(cluster: QuietCluster, node: QuietMachine, seed: number, id?: string): Promise<string> {
  const result = cluster.submit(node, eventCommand(node.identity.originFingerprint, seed, id ?? null));
  await cluster.time.advance(200);
  return acceptedId(await answered(cluster, result));
}

/** What was asked, as soon as it is answered. */
export async function answered<T>(cluster: QuietCluster, asked: Promise<T>): Promise<T> {
  let isAnswered = false;
  const noted = asked.finally(() => (isAnswered = true));
  await cluster.until(() => isAnswered, "an answer");
  return noted;
}

/** The outcome of one command, through this node. */
export async function decided(
  cluster: QuietCluster,
  node: QuietMachine,
  command: Command,
  patienceMs = 300,
): Promise<CommandOutcome> {
  const result = cluster.submit(node, command);
  await cluster.time.advance(patienceMs);
  const given = await answered(cluster, result);
  if (given.kind !== "decided") throw new Error(`refused: ${given.code}: ${given.detail}`);
  return given.outcome;
}

/** The leaf that one command appends, through this node. */
export async function recorded(
  cluster: QuietCluster,
  node: QuietMachine,
  command: Command,
  patienceMs?: number,
): Promise<LeafWrite> {
  const outcome = await decided(cluster, node, command, patienceMs);
  const record = outcome.kind === "records" ? outcome.records[0] : undefined;
  if (record?.status !== "accepted") throw new Error(`not accepted: ${JSON.stringify(record ?? outcome)}`);
  return record.leaf;
}
