/** A group that begins from a backup of one whose nodes are lost, in memory; time is the test's. */
import { describe, expect, test } from "@jest/globals";
import type { HelloRefusal } from "@event-anchoring/control-contract";
import { type OriginStatus, bytesToHex } from "@event-anchoring/protocol";
import type { Ceremony } from "@event-anchoring/provision";
import type { Restoration } from "@event-anchoring/store";
import type { DatabaseImage, QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { nodeStatus } from "../src/node/status.ts";
import { anchor, clusterOf, made } from "./cluster-steps.ts";
import { ceremonyOf } from "./ceremony.ts";
import { eventCommand } from "./commands.ts";
import { type Newcomer, newcomer, nextTrustRoot } from "./trust-root-maker.ts";

interface Lost {
  readonly ceremony: Ceremony;
  readonly cluster: QuietCluster;
  readonly newcomers: readonly Newcomer[];
  /** A database into which a backup of `entries` decisions was put; default: of all. */
  restored(nodeId: string, entries?: number): DatabaseImage;
}

/** Three nodes have lived, and are gone; three others are prepared. */
async function lost(loseOrigins: boolean): Promise<Lost> {
  const ceremony = ceremonyOf(["a", "b", "c"]);
  const cluster = await made(await clusterOf(ceremony));
  for (const [seed, node] of cluster.nodes.entries()) await anchor(cluster, node, seed, `id-${seed}`);
  await cluster.time.advance(1000);
  const [old] = cluster.nodes;
  if (old === undefined) throw new Error("there are nodes");
  const { state } = old.live();
  const { applied } = old.database;
  const newcomers = ["d", "e", "f"].map((nodeId) => newcomer(ceremony, old.identity, nodeId));
  const { document } = nextTrustRoot(ceremony, state, {
    raiseEpoch: true,
    retire: ["a", "b", "c"],
    actives: newcomers.map(({ card }) => card),
    loseOrigins: loseOrigins ? [...state.origins.keys()] : [],
  });
  for (const node of cluster.nodes) cluster.crash(node);
  // The group that begins from a backup has other voters than the log says that it had.
  cluster.watches = false;
  const voters = newcomers.map(({ identity }) => identity.raftId).toSorted((left, right) => (left < right ? -1 : 1));
  const restored = (nodeId: string, entries = applied.length): DatabaseImage => {
    const last = applied[entries - 1]?.decision;
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
    return {
      rows: [],
      compacted: restoration.point,
      hardState: { term: last.term, vote: 0n },
      identity: null,
      applied: [...applied.slice(0, entries - 1), { decision: last, confState }],
      wal: 1n,
      thinned: new Set(),
      restoration,
    };
  };
  return { ceremony, cluster, newcomers, restored };
}

async function begin({ cluster, newcomers, restored }: Lost, count = 3): Promise<readonly QuietMachine[]> {
  const nodes: QuietMachine[] = [];
  for (const { identity } of newcomers.slice(0, count)) {
    nodes.push(await cluster.add(identity, restored(identity.nodeId)));
  }
  return nodes;
}

interface Refused {
  readonly nodeId: string;
  readonly code: string;
  readonly detail: RegExp;
}

/** It begins, and every other node that runs refuses its hello; or one does, and it stops. */
async function beginsRefused(
  cluster: QuietCluster,
  { nodeId, code, detail }: Refused,
  begin: () => Promise<unknown>,
): Promise<void> {
  const from = cluster.refusals.length;
  await begin();
  const isRefusedBy = (by: QuietMachine): boolean =>
    cluster.refusals
      .slice(from)
      .some((each) => each.from === nodeId && each.to === by.nodeId && isAsExpected(each.refusal));
  const isAsExpected = (refusal: HelloRefusal): boolean => refusal.code === code && detail.test(refusal.detail);
  const others = cluster.nodes.filter((each) => each.nodeId !== nodeId && each.session !== null);
  await cluster.until(
    () => others.every(isRefusedBy) || (cluster.node(nodeId).stopped !== null && others.some(isRefusedBy)),
    `${nodeId} is refused: ${code}`,
  );
}

async function untilApplied({ cluster }: Lost, nodes: readonly QuietMachine[]): Promise<void> {
  await cluster.until(
    () => nodes.every((node) => node.live().state.trustRootChain?.newest.trustRoot.epoch === 1),
    "the version of the new epoch is applied",
  );
}

/** How many origins have each status, as the node has them. */
function statuses(node: QuietMachine): Partial<Record<OriginStatus, number>> {
  const counts: Partial<Record<OriginStatus, number>> = {};
  for (const { status } of node.live().state.origins.values()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function failing(node: QuietMachine): readonly string[] {
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
    const nodes = await begin(setup);
    const [d, e, f] = nodes as [QuietMachine, QuietMachine, QuietMachine];
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
    const nodes = await begin(setup);
    const [d, e] = nodes as [QuietMachine, QuietMachine];
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
    const nodes = await begin(setup);
    const [d] = nodes as [QuietMachine];
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
    const [d] = (await begin(setup, 1)) as [QuietMachine];
    const early = cluster.submit(d, eventCommand(d.identity.originFingerprint, 5), 2000);
    await cluster.time.advance(3000);
    expect(await early).toMatchObject({ kind: "refused" });
    expect(d.live().state.trustRootChain?.newest.trustRoot.epoch).toBe(0);
    cluster.crash(d);
    await cluster.start(d);
    const [, second] = setup.newcomers;
    if (second === undefined) throw new Error("there are three");
    const e = await cluster.add(second.identity, setup.restored("e"));
    await untilApplied(setup, [d, e]);
    await anchor(cluster, e, 6);
    cluster.crash(e);
    await cluster.start(e);
    await anchor(cluster, e, 7);
  });

  test("does not talk to a node of the old group, which stays retired", async () => {
    const setup = await lost(false);
    const { cluster } = setup;
    const [, b] = cluster.nodes;
    const nodes = await begin(setup);
    if (b === undefined) throw new Error("there are three");
    // Before the version is applied, and after.
    const detail = /^b is retired since trust-root version 2/u;
    await beginsRefused(cluster, { nodeId: "b", code: "retired", detail }, () => cluster.start(b));
    expect(b.stopped).toMatchObject({ reason: "fenced", code: "retired" });
    await untilApplied(setup, nodes);
    await beginsRefused(cluster, { nodeId: "b", code: "retired", detail }, () => cluster.start(b));
    expect(b.stopped).toMatchObject({ reason: "fenced", code: "retired" });
  });

  test("does not talk to a node that began from another backup", async () => {
    const setup = await lost(false);
    const { cluster, newcomers, restored } = setup;
    const [d, e] = (await begin(setup, 2)) as [QuietMachine, QuietMachine];
    const third = newcomers[2];
    if (third === undefined) throw new Error("there are three");
    const earlier = restored("f").applied.length - 1;
    const refused = { nodeId: "f", code: "other_backup", detail: /begin from the same/u };
    await beginsRefused(cluster, refused, () => cluster.add(third.identity, restored("f", earlier)));
    expect(cluster.node("f").stopped).toBeNull();
    cluster.crash(cluster.node("f"));
    await untilApplied(setup, [d, e]);
    await beginsRefused(cluster, refused, () => cluster.start(cluster.node("f")));
    await anchor(cluster, e, 9);
  });
});
