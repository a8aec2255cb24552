/** One member that signs two trees, on clusters in memory: what the others find, keep, and stop. */
import { describe, expect, test } from "@jest/globals";
import { trustRootsOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type Contradiction,
  type OriginFingerprint,
  bytesToHex,
  equalBytes,
  verifyContradiction,
} from "@event-anchoring/protocol";
import { NoLie, OtherBytes, cosignedBy } from "@event-anchoring/simulator";
import type { PeerFrame } from "@event-anchoring/control-contract";
import type { ComparisonView } from "../src/certification/comparison.ts";
import { anchor, clusterOf, decided, made } from "./cluster-steps.ts";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { ceremonyOf } from "./ceremony.ts";
import { eventCommand } from "./commands.ts";
import { newcomer, nextTrustRoot } from "./trust-root-maker.ts";

interface Lied {
  readonly cluster: QuietCluster;
  readonly liar: QuietMachine;
  readonly victim: QuietMachine;
  /** Those to whom the liar tells the truth. */
  readonly told: readonly QuietMachine[];
  readonly origin: OriginFingerprint;
  readonly ceremony: ReturnType<typeof ceremonyOf>;
}

/** A cluster whose leader lies to one follower from now on. */
async function lied(nodeIds: readonly string[]): Promise<Lied> {
  const ceremony = ceremonyOf(nodeIds);
  const cluster = await made(await clusterOf(ceremony));
  const liar = cluster.leader() as QuietMachine;
  const others = cluster.nodes.filter((node) => node !== liar);
  const [victim] = others as [QuietMachine];
  cluster.watches = false;
  cluster.liar = { nodeId: liar.nodeId, lie: new OtherBytes(liar.identity, victim.nodeId) };
  const origin = (others[1] as QuietMachine).identity.originFingerprint;
  return { cluster, liar, victim, told: others.filter((node) => node !== victim), origin, ceremony };
}

/** What the files on this node prove to somebody who has nothing else. */
function provenBy(node: QuietMachine): readonly Contradiction[] {
  const { trustRoot } = node.identity;
  return [...node.evidence.values()].map((text) => verifyContradiction(text, [trustRoot], nodeCrypto));
}

function namedBy(node: QuietMachine): readonly string[] {
  const names = provenBy(node).flatMap(({ named }) => named.map(({ name }) => name.split("/").at(-1) ?? ""));
  return [...new Set(names)].toSorted();
}

function viewOf(node: QuietMachine): ComparisonView {
  return node.live().certifying.contradictions.comparison.view;
}

describe("a leader of three that gives one follower other bytes", () => {
  test("is named at both honest nodes, by files that prove it offline", async () => {
    const { cluster, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    void cluster.submit(victim, eventCommand(origin, 1));
    await cluster.time.advance(2000);
    for (const node of [...told, victim]) {
      expect(namedBy(node)).toEqual([liar.nodeId]);
      expect(viewOf(node)).toMatchObject({ named: [liar.nodeId], contradicted: [bytesToHex(origin)] });
      const evidence = [...node.evidence.keys()].toSorted();
      expect(node.live().certifying.contradictions.view()).toMatchObject({
        named: [liar.nodeId],
        origins: [bytesToHex(origin)],
        evidence,
        evidenceFiles: evidence.length,
      });
      expect(node.livesOn).toBe(true);
    }
  });

  test("has made a fork: both certificates are kept, the origin stops, and the others go on", async () => {
    const { cluster, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    void cluster.submit(victim, eventCommand(origin, 1));
    // 250 ms until followers compare, two seconds in which all lines are exchanged.
    await cluster.time.advance(2500);
    const [honest] = told as [QuietMachine];
    expect(provenBy(honest).flatMap(({ notes }) => notes.map(({ certifiedBy }) => certifiedBy))).toContainEqual([1]);
    const refused = cluster.submit(honest, eventCommand(origin, 2));
    const read = cluster.read(honest, [origin]);
    await cluster.time.advance(100);
    expect(await refused).toMatchObject({ kind: "refused", code: "origin_contradicted" });
    expect(await read).toMatchObject({ type: "refused", code: "origin_contradicted" });
    cluster.liar = null;
    await cluster.time.advance(10_000);
    expect(honest.live().certifying.certifier.uncovered().oldestMs).toBe(0);
    expect(liar.livesOn).toBe(true);
    // Another origin, which nobody has been deceived about, is certified without the liar's signature.
    const other = victim.identity.originFingerprint;
    expect(equalBytes(other, origin)).toBe(false);
    const result = cluster.submit(honest, eventCommand(other, 3));
    await cluster.time.advance(500);
    expect(await result).toMatchObject({ kind: "decided", finality: "certified" });
  });

  test("is found out also when the certificate was complete before the contradiction came", async () => {
    const { cluster, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    const [honest] = told as [QuietMachine];
    // What the two honest nodes tell each other is late.
    cluster.link = ({ from, to }) => ([from, to].includes(liar.nodeId) ? [1] : [500]);
    const result = cluster.submit(honest, eventCommand(origin, 1));
    await cluster.time.advance(300);
    expect(await result).toMatchObject({ finality: "certified" });
    await cluster.time.advance(2000);
    for (const node of [honest, victim]) expect(namedBy(node)).toEqual([liar.nodeId]);
  });

  test("is told of by the log, too: who has the other tree stops the origin, keeps both, and goes on", async () => {
    const { cluster, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    const [honest] = told as [QuietMachine];
    const deceivable = [honest, victim].map(({ nodeId }) => nodeId);
    // The two never hear what the other one has signed.
    cluster.link = ({ from, to, frame }) =>
      deceivable.includes(from) && deceivable.includes(to) && ["lines", "cosignatures"].includes(frame.type) ? [] : [1];
    const sizeAt = ({ session }: QuietMachine): number => session?.certifying.certifier.heldOf(origin)?.treeSize ?? 0;
    void cluster.submit(honest, eventCommand(origin, 1));
    // Somebody on the deceived node waits as well.
    victim.live().whenCovered(origin, 2, () => {});
    await cluster.until(() => [honest, victim].every((node) => sizeAt(node) > 1), "two certificates");
    cluster.crash(liar);
    const parted = (): readonly QuietMachine[] =>
      [honest, victim].filter((node) => viewOf(node).contradicted.length > 0);
    expect(parted()).toEqual([]);
    await cluster.until(() => parted().length > 0, "one of them has recorded its own");
    expect(parted()[0]?.evidence.size).toBe(1);
    await cluster.time.advance(2000);
    expect([honest.livesOn, victim.livesOn]).toEqual([true, true]);
  });

  test("counts no more after a restart, until its evidence is taken away", async () => {
    const { cluster, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    const [honest] = told as [QuietMachine];
    void cluster.submit(victim, eventCommand(origin, 1));
    await cluster.time.advance(2000);
    cluster.crash(honest);

    await cluster.start(honest);
    await cluster.time.advance(500);
    expect(viewOf(honest)).toMatchObject({ named: [liar.nodeId], contradicted: [bytesToHex(origin)] });
    honest.evidence = new Map();
    await cluster.time.advance(6000);
    expect(viewOf(honest)).toMatchObject({ named: [], contradicted: [] });
  });
});

describe("a leader of four that gives one follower other bytes", () => {
  test("makes no second certificate, is named, and halts no node that it told the truth", async () => {
    const { cluster, liar, told, victim, origin } = await lied(["a", "b", "c", "d"]);
    const [honest] = told as [QuietMachine];
    void cluster.submit(honest, eventCommand(origin, 1));
    await cluster.time.advance(2000);
    for (const node of [...told, victim]) expect(namedBy(node)).toEqual([liar.nodeId]);
    for (const node of told) {
      expect(node.livesOn).toBe(true);
      expect(viewOf(node)).toMatchObject({ contradicted: [] });
    }
  });
});

/** A follower that signs a tree of its own, and no other: it may be broken and not lie. */
class AnotherTree extends NoLie {
  readonly #liar: QuietMachine;

  constructor(liar: QuietMachine) {
    super();
    this.#liar = liar;
  }

  override onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (frame.type !== "cosignatures") return [frame];
    const { cosigner, trustRoot } = this.#liar.identity;
    const items = frame.items.map((item) =>
      cosignedBy(cosigner, trustRoot, { ...item, rootHash: item.rootHash.map((byte) => byte ^ 1) }),
    );
    return [{ ...frame, items }];
  }
}

describe("a follower that signs another tree than everybody else", () => {
  test("holds back one certificate for the exchange, is not named, and stops nobody", async () => {
    const { cluster, victim, told, liar, origin } = await lied(["a", "b", "c"]);
    cluster.liar = { nodeId: victim.nodeId, lie: new AnotherTree(victim) };
    const honest = [...told, liar];
    const [first] = honest as [QuietMachine];
    // What completes the certificate comes after what contradicts it.
    cluster.link = ({ from, frame }) => (frame.type === "cosignatures" && from !== victim.nodeId ? [20] : [1]);
    const slow = cluster.submit(first, eventCommand(origin, 1));
    let isAnswered = false;
    void slow.then(() => (isAnswered = true));
    await cluster.time.advance(1500);
    expect(isAnswered).toBe(false);
    const originFingerprint = bytesToHex(origin);
    expect(first.live().certifying.contradictions.view()).toMatchObject({
      named: [],
      origins: [],
      withheld: [{ originFingerprint, treeSize: first.live().state.origins.get(originFingerprint)?.tree.size }],
      differing: [victim.nodeId],
    });
    await cluster.time.advance(1000);
    expect(await slow).toMatchObject({ finality: "certified" });
    // It is known to differ now: nobody waits for it again.
    await anchor(cluster, first, 2);
    for (const node of honest) {
      expect(namedBy(node)).toEqual([]);
      expect(node.evidence.size).toBeGreaterThan(0);
      expect(node.livesOn).toBe(true);
      expect(node.live().certifying.contradictions.divergence.peers).toEqual([victim.nodeId]);
    }
  });
});

describe("an origin that has stopped", () => {
  test("goes on when a trust root is in force by whose nodes the other certificate is none", async () => {
    const { cluster, ceremony, liar, victim, told, origin } = await lied(["a", "b", "c"]);
    const [honest] = told as [QuietMachine];
    void cluster.submit(victim, eventCommand(origin, 1));
    await cluster.time.advance(2000);
    cluster.liar = null;
    expect(viewOf(honest)).toMatchObject({ contradicted: [bytesToHex(origin)] });
    const { identity, card } = newcomer(ceremony, honest.identity, "d");
    const next = nextTrustRoot(ceremony, honest.live().state, { retire: [victim.nodeId], actives: [card] });
    // Decided, and certified when there are enough nodes again.
    const applied = cluster.submit(liar, next);
    await cluster.time.advance(6000);
    expect(await applied).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
    expect(viewOf(honest)).toMatchObject({ contradicted: [] });
    await cluster.add(identity);
    await cluster.until(() => honest.live().membership.group.confState.voters.includes(identity.raftId), "d votes");
    await cluster.until(
      () => honest.live().certifying.certifier.uncovered().leaves === 0,
      "everything is certified again",
    );
    const result = cluster.submit(honest, eventCommand(origin, 9));
    await cluster.time.advance(1000);
    expect(await result).toMatchObject({ kind: "decided", finality: "certified" });
    const held = honest.live().certifying.certifier.heldOf(origin);
    expect(held?.cosignatures.map(({ nodeId }) => nodeId)).not.toContain(liar.nodeId);
    expect(trustRootsOf(honest.live().state)).toHaveLength(2);
    expect(viewOf(honest).named).toEqual([liar.nodeId]);
    // Two differ from it by now. Its vote was needed until one of them had taken its place.
    expect(victim.stopped?.reason).not.toBe("halted");
  });

  test("names nobody any more who is not to be believed", async () => {
    const { cluster, ceremony, liar, victim, told } = await lied(["a", "b", "c"]);
    const [honest] = told as [QuietMachine];
    void cluster.submit(victim, eventCommand(honest.identity.originFingerprint, 1));
    await cluster.time.advance(2000);
    cluster.crash(liar);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    const { card } = newcomer(ceremony, honest.identity, "d");
    const next = nextTrustRoot(ceremony, honest.live().state, { distrust: [liar.nodeId], actives: [card] });
    const applied = cluster.submit(honest, next);
    await cluster.time.advance(6000);
    expect(await applied).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
    // Its key counts in nothing; the files stay, and prove what it did.
    expect(viewOf(honest)).toMatchObject({ named: [], contradicted: [] });
    expect(honest.evidence.size).toBeGreaterThan(0);
  });
});

/** What of the origin this node shows: the size it is certified up to, or why it is not shown. */
async function shown(cluster: QuietCluster, node: QuietMachine, origin: OriginFingerprint): Promise<number | string> {
  const read = cluster.read(node, [origin]);
  await cluster.time.advance(300);
  const answer = await read;
  return answer.type === "ready_to_read" ? (answer.certificates[0]?.treeSize ?? 0) : answer.code;
}

function recordedSize(node: QuietMachine, origin: OriginFingerprint): number {
  return node.live().state.origins.get(bytesToHex(origin))?.certified?.treeSize ?? 0;
}

describe("a forked origin that the root keys call lost", () => {
  /** The liar is stopped for good: the deceived node still votes. */
  async function lost(): Promise<Lied & { readonly honest: QuietMachine }> {
    const lie = await lied(["a", "b", "c"]);
    const { cluster, ceremony, liar, victim, told, origin } = lie;
    const [honest] = told as [QuietMachine];
    void cluster.submit(honest, eventCommand(origin, 1));
    await cluster.time.advance(2000);
    cluster.crash(liar);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    expect(await shown(cluster, honest, origin)).toBe("origin_contradicted");
    const next = nextTrustRoot(ceremony, honest.live().state, { loseOrigins: [bytesToHex(origin)] });
    const applied = cluster.submit(honest, next);
    await cluster.time.advance(6000);
    expect(await applied).toMatchObject({ kind: "decided", outcome: { kind: "applied" } });
    for (const node of [honest, victim]) expect(viewOf(node)).toMatchObject({ contradicted: [], named: [liar.nodeId] });
    return { ...lie, honest };
  }

  test("is shown as far as the log records it, after a restart as before", async () => {
    const { cluster, honest, origin } = await lost();
    const size = recordedSize(honest, origin);
    expect(await shown(cluster, honest, origin)).toBe(size);
    cluster.crash(honest);
    await cluster.start(honest);
    await cluster.until(() => cluster.leader() !== null, "a leader");
    expect(await shown(cluster, honest, origin)).toBe(size);
  });

  test("takes nothing more and is signed no more, and the others go on", async () => {
    const { cluster, honest, victim, origin } = await lost();
    const promised = honest.promises.signedHeads.get(bytesToHex(origin));
    const refused = await decided(cluster, honest, eventCommand(origin, 5));
    expect(refused).toMatchObject({ records: [{ status: "rejected", rejection: { code: "origin_closed" } }] });
    const other = cluster.submit(honest, eventCommand(victim.identity.originFingerprint, 6));
    await cluster.time.advance(1000);
    expect(await other).toMatchObject({ kind: "decided", finality: "certified" });
    await cluster.time.advance(10_000);
    expect(honest.promises.signedHeads.get(bytesToHex(origin))).toEqual(promised);
    expect(honest.live().certifying.certifier.uncovered().leaves).toBe(0);
    expect(honest.livesOn).toBe(true);
  });
});
