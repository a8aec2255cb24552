/** Nodes that join, leave and change keys, on clusters in memory; time is the test's. */
import { describe, expect, test } from "@jest/globals";
import { trustRootsOf } from "@event-anchoring/ledger";
import type { Ceremony, TrustRootChange } from "@event-anchoring/provision";
import type { ConfState } from "raft-ts";
import { raftIdKey } from "../src/promises/promises.ts";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { anchor, answered, certifiedSizes, clusterOf, made } from "./cluster-steps.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";
import { holding, newcomer, nextTrustRoot, rotatedCosigner } from "./trust-root-maker.ts";

interface Setup {
  readonly ceremony: Ceremony;
  readonly cluster: QuietCluster;
}

async function ready(nodeIds: readonly string[] = ["a", "b", "c"]): Promise<Setup> {
  const ceremony = ceremonyOf(nodeIds);
  return { ceremony, cluster: await made(await clusterOf(ceremony)) };
}

function leaderOf(cluster: QuietCluster): QuietMachine {
  const leader = cluster.leader();
  if (leader === null) throw new Error("nobody leads");
  return leader;
}

/** Proposes the next version through the leader, and says how it was decided. */
async function change({ ceremony, cluster }: Setup, changes: Omit<TrustRootChange, "issuedS">): Promise<unknown> {
  const leader = leaderOf(cluster);
  const result = cluster.submit(leader, nextTrustRoot(ceremony, leader.live().state, changes));
  await cluster.time.advance(300);
  return answered(cluster, result);
}

const APPLIED = { kind: "decided", outcome: { kind: "applied" } };

/** Names of the members, as that node knows them. */
function groupOf(node: QuietMachine): Record<"voters" | "outgoing" | "learners", string> {
  const { members, group } = node.live().membership;
  const conf: ConfState = group.confState;
  const names = (ids: readonly bigint[]): string =>
    ids
      .map((id) => members.nodeIdOf(id) ?? "?")
      .toSorted()
      .join("");
  return { voters: names(conf.voters), outgoing: names(conf.votersOutgoing), learners: names(conf.learners) };
}

async function untilGroup(cluster: QuietCluster, voters: string, learners = ""): Promise<void> {
  await cluster.until(() => {
    const leader = cluster.leader();
    if (leader === null) return false;
    const group = groupOf(leader);
    return group.voters === voters && group.learners === learners && group.outgoing === "";
  }, `voters ${voters}, learners ${learners}`);
}

function othersThan(cluster: QuietCluster, ...gone: readonly QuietMachine[]): readonly QuietMachine[] {
  return cluster.nodes.filter((node) => !gone.includes(node) && node.session !== null);
}

describe("a node that joins", () => {
  test("waits until a trust root lists it, follows as a learner, and votes when it has followed", async () => {
    const setup = await ready();
    const { cluster, ceremony } = setup;
    const { identity, card } = newcomer(ceremony, leaderOf(cluster).identity, "d");
    const d = await cluster.add(identity);
    await cluster.time.advance(3000);
    expect(d.live().membership.group.isMember()).toBe(false);
    expect(d.live().state.appliedIndex).toBe(0);
    expect(await change(setup, { learners: [card] })).toMatchObject(APPLIED);
    await untilGroup(cluster, "abc", "d");
    await cluster.until(() => d.live().state.trustRootChain?.newest.trustRoot.version === 2, "d has followed");
    expect(d.live().membership.group.maySign()).toBe(false);
    expect(await change(setup, { promote: ["d"], quorum: 3 })).toMatchObject(APPLIED);
    await untilGroup(cluster, "abcd");
    expect(leaderOf(cluster).live().membership.group.view()).toMatchObject({ trustRootVersion: 3, pending: null });
    await cluster.until(() => d.live().membership.group.maySign(), "d cosigns");
    await anchor(cluster, d, 1);
    const sizes = certifiedSizes(cluster);
    expect(new Set(sizes.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(sizes[0]).toHaveLength(4);
  });

  test("is not given a vote before it has followed for five seconds", async () => {
    const setup = await ready();
    const { cluster, ceremony } = setup;
    const { identity, card } = newcomer(ceremony, leaderOf(cluster).identity, "d");
    expect(await change(setup, { actives: [card], quorum: 3 })).toMatchObject(APPLIED);
    await untilGroup(cluster, "abc", "d");
    await cluster.time.advance(20_000);
    expect(leaderOf(cluster).live().membership.group.view().pending).toMatch(/d must follow the log closely/);
    await cluster.add(identity);
    await cluster.time.advance(4000);
    expect(groupOf(leaderOf(cluster))).toMatchObject({ voters: "abc", learners: "d" });
    await untilGroup(cluster, "abcd");
  });

  test("two of them join one after the other, by one document", async () => {
    const setup = await ready();
    const { cluster, ceremony } = setup;
    const like = leaderOf(cluster).identity;
    const [d, e] = [newcomer(ceremony, like, "d"), newcomer(ceremony, like, "e")];
    await cluster.add(d.identity);
    await cluster.add(e.identity);
    expect(await change(setup, { actives: [d.card, e.card], quorum: 3 })).toMatchObject(APPLIED);
    await untilGroup(cluster, "abcde");
    for (const node of cluster.nodes) await anchor(cluster, node, 7);
  });
});

describe("a node that is dead", () => {
  test("is replaced by one document: it leaves at once, and the new one votes when it has followed", async () => {
    const setup = await ready();
    const { cluster, ceremony } = setup;
    const gone = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    cluster.crash(gone);
    const { identity, card } = newcomer(ceremony, leaderOf(cluster).identity, "d");
    await cluster.time.advance(3000);
    expect(await change(setup, { retire: [gone.nodeId], actives: [card] })).toMatchObject(APPLIED);
    const left = ["a", "b", "c"].filter((nodeId) => nodeId !== gone.nodeId).join("");
    await untilGroup(cluster, left, "d");
    const d = await cluster.add(identity);
    await untilGroup(cluster, `${left}d`);
    await anchor(cluster, d, 1);
    expect(gone.session).toBeNull();
  });

  test("is sent nothing any more once it is retired", async () => {
    const setup = await ready();
    const { cluster } = setup;
    const gone = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    cluster.crash(gone);
    await cluster.time.advance(3000);
    const { network } = leaderOf(cluster).running();
    if (network === null) throw new Error("a leader has a network");
    const told: string[] = [];
    const send = network.send.bind(network);
    network.send = (to, lane, frame) => {
      told.push(to);
      return send(to, lane, frame);
    };
    const leader = leaderOf(cluster);
    await anchor(cluster, leader, 1);
    expect(told).toContain(gone.nodeId);
    expect(await change(setup, { retire: [gone.nodeId] })).toMatchObject(APPLIED);
    await untilGroup(cluster, ["a", "b", "c"].filter((nodeId) => nodeId !== gone.nodeId).join(""));
    told.length = 0;
    await anchor(cluster, leader, 2);
    expect(told).not.toContain(gone.nodeId);
    expect(told.length).toBeGreaterThan(0);
  });
});

describe("what a node has said", () => {
  /** Whether the promise file of one holds the progress of the other. */
  const keeps = (node: QuietMachine, other: QuietMachine): boolean =>
    node.promises.peers.has(raftIdKey(other.identity.raftId));

  /** A cluster of four; the three that stay keep the word of the one that is to go. */
  async function fourWithWords() {
    const setup = await ready(["a", "b", "c", "d"]);
    const { cluster } = setup;
    const leader = leaderOf(cluster);
    const [gone, other, follower] = cluster.nodes.filter((node) => node !== leader);
    if (gone === undefined || other === undefined || follower === undefined) throw new Error("a cluster of four");
    await anchor(cluster, leader, 1);
    await cluster.until(() => [leader, other, follower].every((node) => keeps(node, gone)), "all keep its word");
    return { setup, cluster, leader, gone, other, follower };
  }

  test("is kept while it may come back, and forgotten when it has left for good", async () => {
    const { setup, cluster, leader, gone, other: absent, follower } = await fourWithWords();
    cluster.crash(absent);
    await cluster.time.advance(100);
    expect(await change(setup, { retire: [gone.nodeId], quorum: 2 })).toMatchObject(APPLIED);
    await cluster.until(() => gone.stopped !== null, "it has ended");
    await cluster.until(() => !keeps(leader, gone) && !keeps(follower, gone), "both have dropped its word");
    for (const node of [leader, follower]) expect(keeps(node, absent)).toBe(true);
    expect(keeps(absent, gone)).toBe(true);
    await cluster.start(absent);
    await cluster.until(() => absent.session !== null && !keeps(absent, gone), "the third has followed, and drops it");
    expect(keeps(absent, leader)).toBe(true);
  });

  test("is kept until the promise file names an entry as signed that follows the removal", async () => {
    const { setup, cluster, leader, gone, other: mute, follower } = await fourWithWords();
    // Without its newest key a node signs nothing.
    const { card } = rotatedCosigner(mute.identity);
    expect(await change(setup, { newKeys: [card] })).toMatchObject(APPLIED);
    await cluster.until(() => !mute.live().membership.group.maySign(), "it may not sign");
    expect(await change(setup, { retire: [gone.nodeId], quorum: 2 })).toMatchObject(APPLIED);
    await cluster.until(() => !keeps(leader, gone) && !keeps(follower, gone), "those that sign have dropped its word");
    await cluster.until(() => mute.live().membership.group.hasLeft(gone.nodeId), "the other knows that it has left");
    for (let record = 2; record <= 4; record++) await anchor(cluster, leader, record);
    await cluster.time.advance(5000);
    expect(keeps(mute, gone)).toBe(true);
  });

  test("is kept of a node that is to leave and is still a member", async () => {
    const setup = await ready();
    const { cluster } = setup;
    const leader = leaderOf(cluster);
    const gone = cluster.nodes.find((node) => node !== leader) as QuietMachine;
    await cluster.until(() => keeps(leader, gone), "its word is kept");
    const { group } = leader.live().membership;
    expect(group.hasLeft(gone.nodeId)).toBe(false);
    const result = cluster.submit(
      leader,
      nextTrustRoot(setup.ceremony, leader.live().state, { retire: [gone.nodeId] }),
    );
    const statusOf = (): string | undefined =>
      leader.live().state.trustRootChain?.newest.trustRoot.nodes.find(({ nodeId }) => nodeId === gone.nodeId)?.status;
    const whilePending: { readonly hasLeft: boolean; readonly isKept: boolean }[] = [];
    await cluster.until(() => {
      const isMember = group.isMember(gone.identity.raftId);
      const seen = { hasLeft: group.hasLeft(gone.nodeId), isKept: keeps(leader, gone) };
      if (isMember && statusOf() === "retired") whilePending.push(seen);
      return !isMember;
    }, "it is removed");
    expect(whilePending.length).toBeGreaterThan(0);
    expect(whilePending.every(({ hasLeft, isKept }) => !hasLeft && isKept)).toBe(true);
    expect(group.hasLeft(gone.nodeId)).toBe(true);
    expect(await answered(cluster, result)).toMatchObject(APPLIED);
  });
});

describe("a node that is alive and leaves", () => {
  test("the leader hands over first, goes when its successor votes, and ends as retired", async () => {
    const setup = await ready();
    const { cluster, ceremony } = setup;
    const old = leaderOf(cluster);
    const { identity, card } = newcomer(ceremony, old.identity, "d");
    await cluster.add(identity);
    expect(await change(setup, { learners: [card] })).toMatchObject(APPLIED);
    await untilGroup(cluster, "abc", "d");
    expect(await change(setup, { promote: ["d"], retire: [old.nodeId] })).toMatchObject(APPLIED);
    const stay = ["a", "b", "c", "d"].filter((nodeId) => nodeId !== old.nodeId).join("");
    await untilGroup(cluster, stay);
    await cluster.until(() => old.stopped !== null, "the old leader has ended");
    expect(old.stopped).toMatchObject({ reason: "fenced", code: "retired" });
    expect(old.stopped).toMatchObject({ detail: expect.stringContaining(`${old.nodeId} is retired`) });
    for (const node of othersThan(cluster, old)) await anchor(cluster, node, 5);
  });

  test("is told so, with the chain that proves it, when it missed its removal", async () => {
    const setup = await ready(["a", "b", "c", "d"]);
    const { cluster } = setup;
    const gone = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    const hello = gone.live().hello();
    cluster.crash(gone);
    await cluster.time.advance(3000);
    expect(await change(setup, { retire: [gone.nodeId], quorum: 2 })).toMatchObject(APPLIED);
    await cluster.until(() => !groupOf(leaderOf(cluster)).voters.includes(gone.nodeId), "it is removed");
    for (const node of othersThan(cluster, gone)) {
      await cluster.until(() => !groupOf(node).voters.includes(gone.nodeId), "everybody knows");
      const verdict = node.live().judgeHello(hello);
      expect(verdict).toMatchObject({ accepted: false, code: "retired" });
      // Its hello names version 1.
      expect("trustRootChain" in verdict ? verdict.trustRootChain : []).toHaveLength(1);
    }
  });

  test("a distrusted one goes at once, alive or not, and its origin takes no more records", async () => {
    const setup = await ready(["a", "b", "c", "d", "e"]);
    const { cluster } = setup;
    const thief = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    expect(await change(setup, { distrust: [thief.nodeId] })).toMatchObject(APPLIED);
    await untilGroup(cluster, ["a", "b", "c", "d", "e"].filter((nodeId) => nodeId !== thief.nodeId).join(""));
    const { state } = leaderOf(cluster).live();
    const statuses = [...state.origins.values()].map(({ status }) => status).toSorted();
    expect(statuses).toEqual(["active", "active", "active", "active", "closed"]);
  });
});

describe("a cosigner key that is rotated", () => {
  test("is taken up when the version names it, and counts from that position on", async () => {
    const ceremony = ceremonyOf(["a", "b", "c"]);
    const rotated = rotatedCosigner(identityOf(ceremony, "b"));
    const cluster = await clusterOf(ceremony);
    const b = cluster.node("b");
    cluster.crash(b);
    Object.assign(b, { identity: holding(b.identity, "cosigner", rotated.signer) });
    await cluster.start(b);
    const setup = { ceremony, cluster: await made(cluster) };
    await anchor(cluster, b, 1);
    expect(await change(setup, { newKeys: [rotated.card] })).toMatchObject(APPLIED);
    // With c away nothing is certified without b.
    const c = cluster.node("c");
    cluster.crash(c);
    await cluster.until(() => cluster.leader() !== null, "somebody leads");
    await anchor(cluster, b, 2);
    const held = b.live().certifying.certifier.heldOf(b.identity.originFingerprint);
    expect(held).toMatchObject({ trustRootVersion: 2 });
    expect(held?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "b"]);
  });

  test("that is not on the node keeps it from signing, and from nothing else", async () => {
    const setup = await ready();
    const { cluster } = setup;
    const b = cluster.node("b");
    expect(await change(setup, { newKeys: [rotatedCosigner(b.identity).card] })).toMatchObject(APPLIED);
    await cluster.until(() => trustRootsOf(b.live().state).length === 2, "b has applied version 2");
    expect(b.live().membership.group.maySign()).toBe(false);
    await anchor(cluster, b, 3);
    const held = b.live().certifying.certifier.heldOf(b.identity.originFingerprint);
    expect(held?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "c"]);
  });
});
