/** A group that begins from a backup of one whose nodes are lost, in memory; time is the test's. */
import { describe, expect, test } from "@jest/globals";
import { type OriginStatus, bytesToHex } from "@event-anchoring/protocol";
import type { Ceremony } from "@event-anchoring/provision";
import type { Restoration } from "@event-anchoring/store";
import { nodeStatus } from "../src/node/status.ts";
import { anchor, made } from "./cluster-steps.ts";
import { MemoryCluster, type MemoryNode, ceremonyOf, eventCommand } from "./memory-cluster.ts";
import type { Beginning } from "./memory-beginning.ts";
import { type Newcomer, newcomer, nextTrustRoot } from "./trust-root-maker.ts";

interface Lost {
  readonly ceremony: Ceremony;
  readonly cluster: MemoryCluster;
  readonly newcomers: readonly Newcomer[];
  /** Of a database that holds everything up to `entries` decisions; default: all. */
  beginning(nodeId: string, entries?: number): Beginning;
}

/** Three nodes have lived, and are gone; three others are prepared. */
async function lost(loseOrigins: boolean): Promise<Lost> {
  const ceremony = ceremonyOf(["a", "b", "c"]);
  const cluster = await made(await MemoryCluster.of(ceremony));
  for (const [seed, node] of cluster.nodes.entries()) await anchor(cluster, node, seed, `id-${seed}`);
  await cluster.time.advance(1000);
  const [old] = cluster.nodes;
  if (old === undefined) throw new Error("there are nodes");
  const { state } = old.live();
  const { decisions } = old.tables;
  const newcomers = ["d", "e", "f"].map((nodeId) => newcomer(ceremony, old.identity, nodeId));
  const { document } = nextTrustRoot(ceremony, state, {
    raiseEpoch: true,
    retire: ["a", "b", "c"],
    actives: newcomers.map(({ card }) => card),
    loseOrigins: loseOrigins ? [...state.origins.keys()] : [],
  });
  for (const node of cluster.nodes) cluster.crash(node);
  const voters = newcomers.map(({ identity }) => identity.raftId).toSorted((left, right) => (left < right ? -1 : 1));
  const beginning = (nodeId: string, entries = decisions.length): Beginning => {
    const last = decisions[entries - 1];
    if (last === undefined) throw new Error("something was decided");
    const restoration: Restoration = {
      scope: "cluster",
      nodeId,
      backupSha256: new Uint8Array(32),
      point: { index: last.index, term: last.term },
      effect: last.effect,
      trustRoots: [document],
    };
    const confState = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    return { decisions: decisions.slice(0, entries), confState, restoration };
  };
  return { ceremony, cluster, newcomers, beginning };
}

function begin({ cluster, newcomers, beginning }: Lost, count = 3): readonly MemoryNode[] {
  return newcomers.slice(0, count).map(({ identity }) => cluster.add(identity, beginning(identity.nodeId)));
}

async function untilApplied({ cluster }: Lost, nodes: readonly MemoryNode[]): Promise<void> {
  await cluster.until(
    () => nodes.every((node) => node.live().state.trustRootChain?.newest.trustRoot.epoch === 1),
    "the version of the new epoch is applied",
  );
}

/** How many origins have each status, as the node has them. */
function statuses(node: MemoryNode): Partial<Record<OriginStatus, number>> {
  const counts: Partial<Record<OriginStatus, number>> = {};
  for (const { status } of node.live().state.origins.values()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function failing(node: MemoryNode): readonly string[] {
  const { identity } = node;
  const serving: Parameters<typeof nodeStatus>[0]["serving"] = { state: "running", failing: [] };
  const primeRootThk = {} as never;
  const view = {
    identity,
    session: node.live().view(),
    serving,
    primeRootThk,
    incarnation: 1,
    peersCutOff: [],
    scrub: null,
  };
  return nodeStatus(view).serving.failing.map(({ check }) => check);
}

describe("a restored group", () => {
  test("applies its version before anything else, then certifies in its own origins and the closed ones", async () => {
    const setup = await lost(false);
    const { cluster } = setup;
    const nodes = begin(setup);
    const [d, e, f] = nodes as [MemoryNode, MemoryNode, MemoryNode];
    expect(failing(d)).toContain("restore");
    await untilApplied(setup, nodes);
    await cluster.until(() => failing(d).length === 0, "nothing fails");
    expect(statuses(d)).toEqual({ active: 3, closed: 3 });
    await cluster.until(
      () =>
        [...e.live().state.origins.values()].every(
          ({ originFingerprint, tree }) =>
            e.live().certifying.certifier.heldOf(originFingerprint)?.treeSize === tree.size,
        ),
      "every tree is certified",
    );
    await anchor(cluster, f, 77);
    const group = d.live().membership.group.confState.voters.map((id) => d.live().membership.members.nodeIdOf(id));
    expect(new Set(group)).toEqual(new Set(["d", "e", "f"]));
    const places = (): ReadonlySet<string> =>
      new Set(nodes.map((node) => `${node.live().state.appliedIndex} ${bytesToHex(node.live().state.effect)}`));
    await cluster.until(() => places().size === 1, "all have come to the same");
  });

  test("never signs a lost origin again, and still answers what it holds of it", async () => {
    const setup = await lost(true);
    const { cluster } = setup;
    const nodes = begin(setup);
    const [d, e] = nodes as [MemoryNode, MemoryNode];
    await untilApplied(setup, nodes);
    expect(statuses(d)).toEqual({ active: 3, lost: 3 });
    await anchor(cluster, d, 78);
    await cluster.time.advance(8000);
    await anchor(cluster, e, 79);
    const own = setup.newcomers.map(({ identity }) => bytesToHex(identity.originFingerprint)).toSorted();
    for (const node of nodes) expect([...node.promises.signedHeads.keys()].toSorted()).toEqual(own);
    const answer = cluster.read(d, "all");
    await cluster.time.advance(500);
    expect(await answer).toMatchObject({ type: "ready_to_read" });
  });

  test("replays what the backup holds to whoever asks again", async () => {
    const setup = await lost(false);
    const { cluster } = setup;
    const nodes = begin(setup);
    const [d] = nodes as [MemoryNode];
    await untilApplied(setup, nodes);
    const known = [...d.live().state.origins.keys()];
    const again = eventCommand(setup.ceremony.nodes[0]?.originFingerprint ?? d.identity.originFingerprint, 0, "id-0");
    const asked = cluster.submit(d, again);
    await cluster.time.advance(500);
    expect(await asked).toMatchObject({ outcome: { records: [{ status: "replayed" }] } });
    expect([...d.live().state.origins.keys()]).toEqual(known);
  });

  test("takes no client's write while it is alone, and goes on from where it stopped", async () => {
    const setup = await lost(false);
    const { cluster } = setup;
    const [d] = begin(setup, 1) as [MemoryNode];
    const early = cluster.submit(d, eventCommand(d.identity.originFingerprint, 5), 2000);
    await cluster.time.advance(3000);
    expect(await early).toMatchObject({ kind: "refused" });
    expect(d.live().state.trustRootChain?.newest.trustRoot.epoch).toBe(0);
    cluster.crash(d);
    cluster.start(d);
    const [, second] = setup.newcomers;
    if (second === undefined) throw new Error("there are three");
    const e = cluster.add(second.identity, setup.beginning("e"));
    await untilApplied(setup, [d, e]);
    await anchor(cluster, e, 6);
    cluster.crash(e);
    cluster.start(e);
    await anchor(cluster, e, 7);
  });

  test("does not talk to a node of the old group, which stays retired", async () => {
    const setup = await lost(false);
    const { cluster } = setup;
    const [, b] = cluster.nodes;
    const nodes = begin(setup);
    if (b === undefined) throw new Error("there are three");
    // Before the version is applied, and after.
    expect(() => cluster.start(b)).toThrow(/^retired: b is retired since trust-root version 2/u);
    cluster.crash(b);
    await untilApplied(setup, nodes);
    expect(() => cluster.start(b)).toThrow(/^retired: /u);
  });

  test("does not talk to a node that began from another backup", async () => {
    const setup = await lost(false);
    const { cluster, newcomers, beginning } = setup;
    const [d, e] = begin(setup, 2) as [MemoryNode, MemoryNode];
    const third = newcomers[2];
    if (third === undefined) throw new Error("there are three");
    const earlier = beginning("f").decisions.length - 1;
    expect(() => cluster.add(third.identity, beginning("f", earlier))).toThrow(
      /^other_backup: .* begin from the same/u,
    );
    cluster.crash(cluster.node("f"));
    await untilApplied(setup, [d, e]);
    expect(() => cluster.start(cluster.node("f"))).toThrow(/^other_backup: /u);
    await anchor(cluster, e, 9);
  });
});
