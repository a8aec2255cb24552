/** Clusters that grow, and what goes on while too few nodes can cosign; in memory, time is the test's. */
import { describe, expect, test } from "@jest/globals";
import {
  UNARY_CALLS,
  type UnaryCallName,
  decodeOperatorResult,
  encodeOperatorAct,
} from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import { toAnchorId, utf8ToBytes } from "@event-anchoring/protocol";
import type { Ceremony, TrustRootChange } from "@event-anchoring/provision";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import type { SubmissionResult } from "../src/proposals/proposals.ts";
import { PeerCallError } from "../src/transport/network-types.ts";
import type { SnapshotExporter } from "../src/snapshots/snapshot-exporter.ts";
import type { UnaryView } from "../src/calls/operator-calls.ts";
import { unaryHandlers } from "../src/calls/unary-handlers.ts";
import { anchor, answered, certifiedSizes, clusterOf, decided, made } from "./cluster-steps.ts";
import { quietLogger } from "./doubles.ts";
import { ceremonyOf, operatorOf } from "./ceremony.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";
import { type Newcomer, newcomer, nextTrustRoot } from "./trust-root-maker.ts";

interface Setup {
  readonly ceremony: Ceremony;
  readonly cluster: QuietCluster;
}

type Changes = Omit<TrustRootChange, "issuedS">;

async function ready(...nodeIds: readonly string[]): Promise<Setup> {
  const ceremony = ceremonyOf(nodeIds);
  return { ceremony, cluster: await made(await clusterOf(ceremony)) };
}

function leaderOf({ cluster }: Setup): QuietMachine {
  const leader = cluster.leader();
  if (leader === null) throw new Error("nobody leads");
  return leader;
}

function newcomers({ ceremony, cluster }: Setup, ...nodeIds: readonly string[]): readonly Newcomer[] {
  const [like] = cluster.nodes;
  if (like === undefined) throw new Error("a cluster has nodes");
  return nodeIds.map((nodeId) => newcomer(ceremony, like.identity, nodeId));
}

async function change(setup: Setup, changes: Changes, through = leaderOf(setup)): Promise<SubmissionResult> {
  const { ceremony, cluster } = setup;
  const result = cluster.submit(through, nextTrustRoot(ceremony, leaderOf(setup).live().state, changes));
  await cluster.time.advance(300);
  return answered(cluster, result);
}

const APPLIED = { kind: "decided", outcome: { kind: "applied" } };

const live = ({ cluster }: Setup): readonly QuietMachine[] => cluster.nodes.filter(({ session }) => session !== null);

function voters(node: QuietMachine): number {
  return node.live().membership.group.confState.voters.length;
}

const uncovered = (setup: Setup): readonly number[] =>
  live(setup).map((node) => node.live().certifying.certifier.uncovered().leaves);

async function untilAllIsCertified(setup: Setup, count: number): Promise<void> {
  await setup.cluster.until(
    () => live(setup).every((node) => voters(node) === count) && uncovered(setup).every((leaves) => leaves === 0),
    `${count} voters, and every leaf certified: ${uncovered(setup).join()}`,
  );
}

async function write(setup: Setup, through: QuietMachine, seed: number): Promise<SubmissionResult> {
  const result = setup.cluster.submit(through, eventCommand(through.identity.originFingerprint, seed));
  await setup.cluster.time.advance(100);
  return answered(setup.cluster, result);
}

/** An operator's call to that node, whose peers answer for themselves. */
async function called(setup: Setup, through: QuietMachine, name: UnaryCallName, body: Uint8Array): Promise<unknown> {
  const { cluster } = setup;
  const signal = new AbortController().signal;
  const viewOf = (node: QuietMachine): UnaryView => ({
    clock: cluster.time.clock,
    logger: quietLogger,
    identity: node.identity,
    session: () => node.session,
    status: () => {
      throw new Error("nobody asks for the status here");
    },
    snapshots: {} as SnapshotExporter,
    call: async (nodeId, path, asked) => {
      const peer = cluster.nodes.find((each) => each.nodeId === nodeId);
      const handler = peer === undefined ? undefined : unaryHandlers(viewOf(peer))[path];
      if (handler === undefined || peer?.session === null) throw new PeerCallError("connection_refused", "it is down");
      const from = { kind: "node", nodeId: node.nodeId } as const;
      const answer = await handler({ from, body: asked ?? new Uint8Array(), signal });
      if (!("body" in answer)) throw new Error("a stream");
      return answer;
    },
  });
  const handler = unaryHandlers(viewOf(through))[UNARY_CALLS[name].path];
  if (handler === undefined) throw new Error(`no handler for ${name}`);
  const answer = handler({ from: { kind: "operator", operatorId: "o" }, body, signal });
  await cluster.time.advance(2500);
  const given = await answer;
  return "body" in given ? decodeOperatorResult(given.body) : null;
}

/** Node a, which is on its way to three nodes: the document is given, and not awaited. */
async function growing(): Promise<Setup> {
  const setup = await ready("a");
  const joining = newcomers(setup, "b", "c");
  const [a] = setup.cluster.nodes as [QuietMachine];
  for (const { identity } of joining) await setup.cluster.add(identity);
  const changes = { actives: joining.map(({ card }) => card), quorum: 2 };
  void setup.cluster.submit(a, nextTrustRoot(setup.ceremony, a.live().state, changes));
  return setup;
}

describe("a node that becomes entitled to cosign", () => {
  test("signs what it has passed: one node grows to three by one document", async () => {
    const setup = await ready("a");
    const { cluster } = setup;
    const joining = newcomers(setup, "b", "c");
    for (const { identity } of joining) await cluster.add(identity);
    expect(await change(setup, { actives: joining.map(({ card }) => card), quorum: 2 })).toMatchObject(APPLIED);
    await untilAllIsCertified(setup, 3);
    for (const node of cluster.nodes) await anchor(cluster, node, 7);
    expect(new Set(certifiedSizes(cluster).map((sizes) => JSON.stringify(sizes))).size).toBe(1);
  });

  test.each([
    ["the version is applied", 1, 0],
    ["one follows", 1, 1],
    ["two follow", 1, 2],
    ["one votes", 2, 1],
    ["both vote", 3, 0],
  ])("also if the first node crashes when %s", async (_step, votersThen, learnersThen) => {
    const setup = await growing();
    const { cluster } = setup;
    const [a] = cluster.nodes as [QuietMachine];
    await cluster.until(() => {
      const { confState } = a.live().membership.group;
      const isThere = confState.voters.length === votersThen && confState.learners.length === learnersThen;
      return a.live().trustRoot().version === 2 && isThere;
    }, "that step");
    cluster.crash(a);
    await cluster.time.advance(3000);
    await cluster.start(a);
    await untilAllIsCertified(setup, 3);
    for (const node of cluster.nodes) await anchor(cluster, node, 7);
    expect(uncovered(setup)).toEqual([0, 0, 0]);
  });

  test.each([
    ["a peer that votes has found nothing missing", ["a", "b", "c"], false],
    ["it is started, if it votes alone", ["a"], true],
  ])("whose newest promise may be lost signs once %s", async (_when, nodeIds, isAtOnce) => {
    const setup = await ready(...nodeIds);
    const { cluster } = setup;
    const [a] = cluster.nodes as [QuietMachine];
    cluster.crash(a);
    cluster.cut("a");
    await a.volume.replace({ ...a.promises, mayLackNewest: true });
    await cluster.start(a);
    await cluster.time.advance(1000);
    expect(a.live().membership.group.maySign()).toBe(isAtOnce);
    cluster.heal();
    await cluster.until(() => cluster.leader() !== null, "somebody leads");
    await cluster.until(() => a.live().membership.group.maySign(), "it may sign");
    await anchor(cluster, a, 3);
    expect(uncovered(setup).every((leaves) => leaves === 0)).toBe(true);
    expect(a.promises.mayLackNewest).toBe(isAtOnce);
  });

  test("whose newest promise may be lost signs once a learner that has let it in votes", async () => {
    const setup = await growing();
    const { cluster } = setup;
    const [a] = cluster.nodes as [QuietMachine];
    await cluster.until(() => a.live().membership.group.confState.learners.length === 2, "two follow");
    cluster.crash(a);
    await a.volume.replace({ ...a.promises, mayLackNewest: true });
    await cluster.start(a);
    await untilAllIsCertified(setup, 3);
    expect(a.live().membership.group.maySign()).toBe(true);
  });

  test("takes the place of one that died before: three grow to five, under one leader", async () => {
    const setup = await ready("a", "b", "c");
    const { cluster } = setup;
    const joining = newcomers(setup, "d", "e");
    expect(await change(setup, { actives: joining.map(({ card }) => card), quorum: 3 })).toMatchObject(APPLIED);
    const leader = leaderOf(setup);
    const dead = cluster.nodes.find((node) => node !== leader) as QuietMachine;
    cluster.crash(dead);
    void write(setup, leader, 1);
    await cluster.time.advance(6000);
    expect(await write(setup, leader, 2)).toMatchObject({ kind: "refused", code: "certification_stalled" });
    for (const { identity } of joining) await cluster.add(identity);
    await untilAllIsCertified(setup, 5);
    expect(leaderOf(setup).nodeId).toBe(leader.nodeId);
    expect(dead.session).toBeNull();
    for (const node of live(setup)) await anchor(cluster, node, 7);
  });
});

describe("while too few nodes can cosign", () => {
  /** Three must cosign, and two of the five are all there is. */
  async function stalled(): Promise<Setup> {
    const setup = await ready("a", "b", "c");
    const { cluster } = setup;
    const cards = newcomers(setup, "d", "e").map(({ card }) => card);
    const old = await anchor(cluster, leaderOf(setup), 1, "to be erased");
    expect(await change(setup, { actives: cards, quorum: 3 })).toMatchObject(APPLIED);
    cluster.crash(cluster.nodes.find((node) => node !== leaderOf(setup)) as QuietMachine);
    void write(setup, leaderOf(setup), 2);
    await cluster.time.advance(6000);
    for (const node of live(setup)) {
      expect(await write(setup, node, 3)).toMatchObject({ kind: "refused", code: "certification_stalled" });
    }
    const anchorId = toAnchorId(Buffer.from(old, "hex"));
    const erasure: Command = { kind: "erase_client_event", credential: CREDENTIAL, anchorId };
    for (const node of live(setup)) {
      expect((await decided(cluster, node, erasure)).kind).toMatch(/applied|unchanged/u);
    }
    return setup;
  }

  test.each([
    ["the leader", true],
    ["a follower", false],
  ])("a trust root goes through %s, and is the way out", async (_who, isLeader) => {
    const setup = await stalled();
    const through = live(setup).find((node) => node.live().isLeader() === isLeader) as QuietMachine;
    expect(await change(setup, { retire: ["d", "e"], quorum: 2 }, through)).toMatchObject({
      kind: "decided",
      finality: "committed",
      outcome: { kind: "applied" },
    });
    await untilAllIsCertified(setup, 3);
    for (const node of live(setup)) await anchor(setup.cluster, node, 9);
    expect(uncovered(setup)).toEqual([0, 0]);
  });

  test("a key is revoked through either node, and the answer says that it is committed", async () => {
    const setup = await stalled();
    for (const [at, node] of live(setup).entries()) {
      const call = { kind: "revoke_api_key", keyId: CREDENTIAL.keyId } as const;
      const body = encodeOperatorAct(operatorOf(setup.ceremony), 10 + at, call);
      const answer = await called(setup, node, "operator_act", body);
      expect(answer).toEqual(at === 0 ? { outcome: "applied", finality: "committed" } : { outcome: "unchanged" });
    }
  });
});

describe("an operator's trust root", () => {
  async function proposed(setup: Setup, through: QuietMachine, changes: Changes): Promise<unknown> {
    const { document } = nextTrustRoot(setup.ceremony, through.live().state, changes);
    return called(setup, through, "propose_trust_root", utf8ToBytes(document));
  }

  test("makes three of one in two steps, without a pause: the second needs learners that are ready", async () => {
    const setup = await ready("a");
    const { cluster } = setup;
    const [a] = cluster.nodes as [QuietMachine];
    const joining = newcomers(setup, "b", "c");
    expect(await proposed(setup, a, { learners: joining.map(({ card }) => card) })).toMatchObject({
      outcome: "applied",
      finality: "certified",
    });
    expect(await proposed(setup, a, { promote: ["b", "c"], quorum: 2 })).toMatchObject({
      outcome: "rejected",
      code: "not_ready",
    });
    for (const { identity } of joining) await cluster.add(identity);
    await cluster.until(() => live(setup).every((node) => node.live().trustRoot().version === 2), "both follow");
    await cluster.time.advance(6000);
    expect(await proposed(setup, a, { promote: ["b", "c"], quorum: 2 })).toMatchObject({
      outcome: "applied",
      finality: "certified",
    });
    await untilAllIsCertified(setup, 3);
  });

  test("makes three of one in one step, and says that nothing is certified before one of them votes", async () => {
    const setup = await ready("a");
    const { cluster } = setup;
    const joining = newcomers(setup, "b", "c");
    const [a] = cluster.nodes as [QuietMachine];
    for (const { identity } of joining) await cluster.add(identity);
    expect(await proposed(setup, a, { actives: joining.map(({ card }) => card), quorum: 2 })).toMatchObject({
      outcome: "applied",
      finality: "committed",
    });
    await untilAllIsCertified(setup, 3);
  });

  test("does not count on newcomers while a node of the group is not ready", async () => {
    const setup = await ready("a", "b", "c");
    const cards = newcomers(setup, "d", "e").map(({ card }) => card);
    const leader = leaderOf(setup);
    setup.cluster.crash(setup.cluster.nodes.find((node) => node !== leader) as QuietMachine);
    expect(await proposed(setup, leader, { actives: cards, quorum: 3 })).toMatchObject({
      outcome: "rejected",
      code: "not_ready",
      detail: expect.stringMatching(/^2 of the 3 nodes/u),
    });
  });
});
