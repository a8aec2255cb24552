import { beforeEach, describe, expect, test } from "@jest/globals";
import type { HelloRefusal } from "@event-anchoring/control-contract";
import { type InboundMessage, encodeMessage } from "raft-ts";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { PeerOffences } from "../src/session/peer-offences.ts";
import { anchor, readyCluster } from "./cluster-steps.ts";
import { StepClock, quietLogger } from "./doubles.ts";

const ACCUSED: HelloRefusal = { accepted: false, code: "amnesia", detail: "you signed 99" };

function sent(from: QuietMachine, to: QuietMachine, change: Partial<InboundMessage>): void {
  const message: InboundMessage = {
    type: "MsgHeartbeat",
    from: from.identity.raftId,
    to: to.identity.raftId,
    term: to.live().consensus.view().term,
    logTerm: 0,
    index: 0,
    commit: 0,
    vote: 0n,
    reject: false,
    rejectHint: 0,
    context: new Uint8Array(),
    entries: [],
    snapshot: null,
    ...change,
  };
  to.live().onFrame(from.nodeId, { type: "raft", message: encodeMessage(message) });
}

describe("one lying member", () => {
  let cluster: QuietCluster;
  let liar: QuietMachine;
  let honest: QuietMachine[];

  beforeEach(async () => {
    cluster = await readyCluster(["a", "b", "c", "d"]);
    liar = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    honest = cluster.nodes.filter((node) => node !== liar);
  });

  const everybodyWrites = async (): Promise<void> => {
    for (const [at, node] of honest.entries()) await anchor(cluster, node, 100 + at);
  };

  test("stops nobody with a commit that no log reaches, and is cut off", async () => {
    for (const node of honest) sent(liar, node, { commit: 9_000_000 });
    await cluster.time.advance(100);
    expect(honest.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
    await everybodyWrites();
    for (const node of honest) {
      expect(node.running().offences.countOf(liar.nodeId, "impossible_message")).toBe(1);
      expect(node.live().judgeHello(liar.live().hello())).toMatchObject({ accepted: false, code: "cut_off" });
      expect(node.running().offences.view()).toEqual([
        { nodeId: liar.nodeId, remainingMs: expect.any(Number), offences: { impossible_message: 1 } },
      ]);
    }
    await cluster.time.advance(1000);
    expect(honest.map((node) => node.live().judgeHello(liar.live().hello()).accepted)).toEqual([true, true, true]);
    expect(honest.map((node) => node.running().offences.view())).toEqual([[], [], []]);
  });

  test("stops nobody by saying that it forgot", async () => {
    for (const node of honest) node.live().membership.peers.onRefused(liar.nodeId, ACCUSED);
    const forged = { ...liar.live().hello().progress, incarnation: 99 };
    for (const node of honest) {
      const ownWord = { kind: "progress", progress: forged } as const;
      node.live().membership.peers.onRefused(liar.nodeId, { ...ACCUSED, code: "stale_incarnation", ownWord });
    }
    await cluster.time.advance(10);
    expect(honest.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
    expect(honest.map((node) => node.running().offences.countOf(liar.nodeId, "unproven_accusation"))).toEqual([
      2, 2, 2,
    ]);
    await everybodyWrites();
  });

  test("ends no elections with a term that nothing explains", async () => {
    const { term } = (honest[0] as QuietMachine).live().consensus.view();
    for (const node of honest) sent(liar, node, { term: 2 ** 53 - 2 });
    for (const node of honest) sent(liar, node, { type: "MsgPreVote", term: 2 ** 52 });
    await cluster.time.advance(500);
    expect(honest.map((node) => node.live().consensus.view().term)).toEqual([term, term, term]);
    expect(honest.map((node) => node.running().offences.countOf(liar.nodeId, "term_too_high"))).toEqual([2, 2, 2]);
    const gone = cluster.leader() as QuietMachine;
    cluster.crash(gone);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    const rest = honest.filter((node) => node !== gone);
    await anchor(cluster, rest[0] as QuietMachine, 7);
  });

  test("ends no elections with the highest term that is believed either", async () => {
    const termMax = Math.min(...honest.map((node) => node.live().membership.peers.termMax()));
    for (const node of honest) sent(liar, node, { term: termMax });
    await cluster.time.advance(100);
    expect(honest.map((node) => node.live().consensus.view().term)).toEqual([termMax, termMax, termMax]);
    await cluster.until(() => cluster.leader() !== null, "a leader beyond it");
    await everybodyWrites();
  });
});

describe("two members", () => {
  test("are believed: a node that both call forgetful is fenced, if they are members", async () => {
    const cluster = await readyCluster();
    const [node] = cluster.nodes as [QuietMachine];
    node.live().membership.peers.onRefused("x", ACCUSED);
    node.live().membership.peers.onRefused("b", ACCUSED);
    node.live().membership.peers.onRefused("y", ACCUSED);
    node.live().membership.peers.onRefused("b", ACCUSED);
    await cluster.time.advance(10);
    expect(node.livesOn).toBe(true);
    node.live().membership.peers.onRefused("c", ACCUSED);
    await cluster.until(() => node.stopped !== null, "it stops");
    expect(node.stopped).toMatchObject({ reason: "fenced", code: "peer_remembers_more" });
  });

  test("halt a node to which both send what its log excludes, and it keeps its identity", async () => {
    const cluster = await readyCluster();
    const [node, left, right] = cluster.nodes as [QuietMachine, QuietMachine, QuietMachine];
    sent(left, node, { commit: 9_000_000 });
    sent(left, node, { commit: 9_000_001 });
    await cluster.time.advance(10);
    expect(node.livesOn).toBe(true);
    sent(right, node, { commit: 9_000_000 });
    await cluster.until(() => node.stopped !== null, "it stops");
    expect(node.stopped).toMatchObject({ reason: "halted", code: "impossible_message" });
  });
});

describe("a node that is set back", () => {
  test("is fenced by one peer alone that shows what it has signed itself", async () => {
    const cluster = await readyCluster();
    const [keeper, node] = cluster.nodes as [QuietMachine, QuietMachine];
    const images = node.images();
    cluster.watches = false;
    await anchor(cluster, keeper, 1);
    await cluster.time.advance(1500);
    cluster.crash(node);
    // Only what is durable counts: the peer that remembers has been restarted too.
    cluster.crash(keeper);
    await cluster.start(keeper);
    node.database.restore(images.database);
    node.volume.restore(images.volume);
    cluster.cut(node.nodeId);
    await cluster.start(node);
    const verdict = keeper.live().judgeHello(node.live().hello());
    if (verdict.accepted) throw new Error("it was let in");
    node.live().membership.peers.onRefused(keeper.nodeId, verdict);
    await cluster.until(() => node.stopped !== null, "it stops");
    expect(node.stopped).toMatchObject({ reason: "fenced", code: "peer_remembers_more" });
  });
});

describe("the pause of who is cut off", () => {
  test("grows with each offence after it, up to five minutes, and begins anew after a quiet hour", () => {
    const clock = new StepClock();
    const offences = new PeerOffences({ clock, logger: quietLogger });
    const pauses: number[] = [];
    for (let time = 0; time < 12; time++) {
      offences.note("b", "invalid_frame", "");
      // What comes while it is cut off was on its way.
      offences.note("b", "invalid_frame", "");
      pauses.push(offences.cutOffMs("b") / 1000);
      clock.advance(offences.cutOffMs("b"));
      expect(offences.cutOffMs("b")).toBe(0);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    expect(offences.countOf("b", "invalid_frame")).toBe(24);
    expect(offences.cutOffMs("c")).toBe(0);
    clock.advance(3_700_000);
    offences.note("b", "invalid_frame", "");
    expect(offences.cutOffMs("b")).toBe(1000);
  });
});
