import { describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { StoreError } from "@event-anchoring/store";
import { anchor, answered, certifiedSizes, readyCluster } from "./cluster-steps.ts";
import { acceptedId, batchCommand, eventCommand } from "./commands.ts";
import { seededRandom } from "./doubles.ts";

function others(cluster: QuietCluster, node: QuietMachine): QuietMachine[] {
  return cluster.nodes.filter((each) => each !== node);
}

function anchorIds({ decisions }: QuietMachine): string[] {
  return decisions.flatMap(({ writes }) => writes.leaves.map(({ anchorId }) => bytesToHex(anchorId)));
}

/** All nodes have the same effects, and certificates over everything. */
async function converges(cluster: QuietCluster): Promise<void> {
  await cluster.until(() => {
    const effects = cluster.nodes.map((node) => bytesToHex(node.live().state.effect));
    const sizes = cluster.nodes.map(({ session }) =>
      [...(session?.state.origins.values() ?? [])].map((o) => o.tree.size),
    );
    return new Set(effects).size === 1 && JSON.stringify(certifiedSizes(cluster)) === JSON.stringify(sizes);
  }, "one state, wholly certified");
}

/** Every acknowledged anchor is in the tables of every node, once. */
async function expectKept(cluster: QuietCluster, acknowledged: readonly string[]): Promise<void> {
  const isWritten = ({ session, database }: QuietMachine): boolean =>
    session === null || database.appliedIndex === session.state.appliedIndex;
  await cluster.until(() => cluster.nodes.every(isWritten), "tables that hold what is applied");
  for (const node of cluster.nodes) {
    const ids = anchorIds(node);
    for (const id of acknowledged) expect(ids.filter((each) => each === id)).toEqual([id]);
  }
}

describe("a leader cut off from the others", () => {
  test("serves no read, and acknowledges nothing, while the others elect another and go on", async () => {
    const cluster = await readyCluster();
    const old = cluster.leader() as QuietMachine;
    cluster.cut(old.nodeId);
    const read = cluster.read(old, "none", 3000);
    const write = cluster.submit(old, eventCommand(old.identity.originFingerprint, 1), 3000);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    const next = cluster.leader() as QuietMachine;
    const id = await anchor(cluster, next, 2);
    await cluster.time.advance(3000);
    expect(await read).toMatchObject({ type: "refused" });
    expect(await write).toMatchObject({ kind: "refused", code: "outcome_unknown" });
    expect(old.live().isLeader()).toBe(false);
    cluster.heal();
    await converges(cluster);
    await expectKept(cluster, [id]);
  });

  test("once healed, answers a read only with what was acknowledged elsewhere", async () => {
    const cluster = await readyCluster();
    const old = cluster.leader() as QuietMachine;
    const before = old.live().state.appliedIndex;
    cluster.cut(old.nodeId);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    await anchor(cluster, cluster.leader() as QuietMachine, 3);
    const newest = (cluster.leader() as QuietMachine).live().state.appliedIndex;
    cluster.heal();
    const answer = cluster.read(old, "all", 5000);
    await cluster.time.advance(3000);
    const given = await answer;
    if (given.type !== "ready_to_read") throw new Error(given.detail);
    expect(newest).toBeGreaterThan(before);
    expect(given.readIndex).toBeGreaterThanOrEqual(newest);
  });
});

describe("links that misbehave", () => {
  test("a follower that hears and is not heard holds up nobody, and comes back", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    const [mute] = others(cluster, leader) as [QuietMachine];
    const term = leader.live().consensus.view().term;
    cluster.link = ({ from }) => (from === mute.nodeId ? [] : [1]);
    const ids = [await anchor(cluster, leader, 1), await anchor(cluster, leader, 2)];
    await cluster.time.advance(5000);
    expect(leader.live().isLeader()).toBe(true);
    expect(leader.live().consensus.view().term).toBe(term);
    cluster.link = null;
    await converges(cluster);
    await expectKept(cluster, ids);
  });

  test("a leader that is heard and hears nothing gives up, and another is found", async () => {
    const cluster = await readyCluster();
    const deaf = cluster.leader() as QuietMachine;
    cluster.link = ({ to }) => (to === deaf.nodeId ? [] : [1]);
    const rest = others(cluster, deaf);
    await cluster.until(() => rest.some(({ session }) => session?.isLeader() === true), "another leader");
    const next = rest.find(({ session }) => session?.isLeader() === true) as QuietMachine;
    const id = await anchor(cluster, next, 5);
    expect(deaf.live().isLeader()).toBe(false);
    cluster.link = null;
    await converges(cluster);
    await expectKept(cluster, [id]);
  });

  test.each([1, 2, 3])("duplicated, delayed and reordered frames change nothing (seed %i)", async (seed) => {
    const cluster = await readyCluster();
    const random = seededRandom(seed * 101);
    const byte = new Uint8Array(1);
    const pick = (): number => {
      random(byte);
      return byte[0] ?? 0;
    };
    cluster.link = () => {
      const kind = pick() % 10;
      if (kind === 0) return [];
      if (kind <= 2) return [1 + (pick() % 40), 1 + (pick() % 40)];
      return kind <= 5 ? [1 + (pick() % 30)] : [1];
    };
    const results: Promise<string>[] = [];
    for (let at = 0; at < 30; at++) {
      const node = cluster.nodes[pick() % 3] as QuietMachine;
      const command = eventCommand(node.identity.originFingerprint, at, `order-${at}`);
      const ask = async (): Promise<string> => {
        for (;;) {
          const result = await cluster.submit(node, command, 2000);
          if (result.kind === "decided") return acceptedId(result);
          await new Promise<void>((resolve) => cluster.time.clock.startTimer(50, resolve));
        }
      };
      results.push(ask());
      await cluster.time.advance(20);
    }
    let isDone = false;
    const all = Promise.all(results).finally(() => (isDone = true));
    await cluster.until(() => isDone, "every order is acknowledged", 60_000);
    cluster.link = null;
    await converges(cluster);
    const ids = await all;
    expect(new Set(ids).size).toBe(30);
    await expectKept(cluster, ids);
    expect(anchorIds(cluster.nodes[0] as QuietMachine)).toHaveLength(3 + 30);
    expect(cluster.nodes.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
  });

  test("cosignatures that got lost reach a node that waits for them, without a reconnect", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    const [left, right] = others(cluster, leader) as [QuietMachine, QuietMachine];
    await converges(cluster);
    // The leader gets no cosignature of anybody; the followers get each other's.
    cluster.link = ({ to, frame }) => (to === leader.nodeId && frame.type === "cosignatures" ? [] : [1]);
    const write = cluster.submit(left, eventCommand(left.identity.originFingerprint, 1));
    await cluster.time.advance(500);
    expect(await write).toMatchObject({ kind: "decided", finality: "certified" });
    cluster.crash(right);
    cluster.link = null;
    const key = bytesToHex(left.identity.originFingerprint);
    const size = left.live().state.origins.get(key)?.tree.size;
    await cluster.until(
      () => leader.live().certifying.certifier.heldOf(left.identity.originFingerprint)?.treeSize === size,
      "the leader holds the certificate as well",
      2000,
    );
  });
});

describe("a leader whose disk hangs", () => {
  test("hands leadership on, and writes go on through the others", async () => {
    const cluster = await readyCluster();
    const slow = cluster.leader() as QuietMachine;
    const [asking] = others(cluster, slow) as [QuietMachine];
    slow.database.appends.hold();
    const ids: string[] = [];
    for (let seed = 1; seed <= 4; seed++) {
      const result = cluster.submit(asking, eventCommand(asking.identity.originFingerprint, seed), 10_000);
      await cluster.time.advance(4000);
      ids.push(acceptedId(await result));
    }
    expect(slow.live().isLeader()).toBe(false);
    slow.database.appends.release();
    await converges(cluster);
    await expectKept(cluster, ids);
  });
});

describe("a leader whose tables hang", () => {
  test("goes on while memory has room for what they lack, then hands leadership on, and loses nothing", async () => {
    const cluster = await readyCluster();
    const slow = cluster.leader() as QuietMachine;
    const [asking] = others(cluster, slow) as [QuietMachine];
    const origin = asking.identity.originFingerprint;
    slow.database.applies.hold();
    const read = cluster.read(slow, [origin], 1000);
    const ids = [await anchor(cluster, asking, 1), await anchor(cluster, slow, 2)];
    await cluster.time.advance(1000);
    expect(await read).toMatchObject({ type: "ready_to_read" });
    const late = cluster.read(slow, [origin], 1000);
    await cluster.time.advance(1000);
    expect(await late).toMatchObject({ type: "refused", code: "deadline_exceeded" });
    expect(slow.live().isLeader()).toBe(true);
    for (let round = 0; round < 10; round++)
      await answered(cluster, cluster.submit(asking, batchCommand(origin, round)));
    await cluster.until(() => !slow.live().isLeader(), "another leader");
    const { tables } = slow.live().consensus;
    expect(slow.live().state.appliedIndex - tables.writtenIndex).toBeLessThan(40);
    ids.push(await anchor(cluster, asking, 3));
    slow.database.applies.release();
    await converges(cluster);
    await expectKept(cluster, ids);
    expect(cluster.nodes.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
  });
});

describe("restarts", () => {
  test("of all three at once keep what was acknowledged, and certify again", async () => {
    const cluster = await readyCluster();
    const ids: string[] = [];
    for (const [seed, node] of cluster.nodes.entries()) ids.push(await anchor(cluster, node, seed));
    for (const node of cluster.nodes) cluster.crash(node);
    await cluster.time.advance(1000);
    for (const node of cluster.nodes) await cluster.start(node);
    await cluster.until(() => cluster.leader() !== null, "a leader");
    await converges(cluster);
    await expectKept(cluster, ids);
    ids.push(await anchor(cluster, cluster.nodes[0] as QuietMachine, 50));
    await converges(cluster);
    await expectKept(cluster, ids);
    expect(cluster.nodes.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
  });

  test("of a follower, again and again, under writes, are never taken for amnesia", async () => {
    const cluster = await readyCluster();
    const ids: string[] = [];
    for (let round = 0; round < 6; round++) {
      const leader = cluster.leader() as QuietMachine;
      const victim = others(cluster, leader)[round % 2] as QuietMachine;
      ids.push(await anchor(cluster, leader, round * 2));
      cluster.crash(victim);
      ids.push(await anchor(cluster, leader, round * 2 + 1));
      await cluster.start(victim);
      await cluster.time.advance(300);
    }
    await converges(cluster);
    await expectKept(cluster, ids);
    expect(cluster.nodes.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
  });

  test("after a power cut know that what was signed is committed, and decide it alone", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    const [victim] = others(cluster, leader) as [QuietMachine];
    const signedTo = (): number => Math.max(...[...victim.promises.signedHeads.values()].map((head) => head.raftIndex));
    const before = signedTo();
    victim.volume.onSaved = () => {
      if (signedTo() === before) return;
      victim.volume.onSaved = null;
      victim.losePower();
    };
    const id = await anchor(cluster, leader, 1);
    expect(victim.node).toBeNull();
    expect(victim.database.appliedIndex).toBeLessThan(signedTo());
    expect(victim.database.rowsCommitHint).toBeLessThan(signedTo());
    cluster.cut(victim.nodeId);
    await cluster.start(victim);
    await cluster.until(() => victim.database.appliedIndex >= signedTo(), "it decides what it has signed");
    expect(anchorIds(victim)).toContain(id);
  });

  test("with the same client_event_id asked before and after give one anchor", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    const [asking] = others(cluster, leader) as [QuietMachine];
    const command = eventCommand(asking.identity.originFingerprint, 8, "order-8");
    const first = cluster.submit(asking, command);
    await cluster.time.advance(2);
    cluster.crash(leader);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    await cluster.time.advance(5500);
    await first;
    const second = cluster.submit(asking, command);
    await cluster.time.advance(500);
    const id = acceptedId(await second);
    await cluster.start(leader);
    await converges(cluster);
    await expectKept(cluster, [id]);
    expect(anchorIds(asking)).toHaveLength(3 + 1);
  });
});

describe("an ended session", () => {
  test("refuses at once what still comes, and touches nothing", async () => {
    const cluster = await readyCluster();
    const [node, peer] = cluster.nodes as [QuietMachine, QuietMachine];
    const session = node.live();
    const frame = cluster.sent.find((sent) => sent.to === node.nodeId && sent.frame.type === "raft")?.frame;
    if (frame === undefined) throw new Error("nothing was ever sent");
    session.stop();
    const results: unknown[] = [];
    const respond = (result: unknown): void => void results.push(result);
    const deadlineMs = 1e9;
    session.submit({
      command: eventCommand(node.identity.originFingerprint, 1),
      answer: "certified",
      deadlineMs,
      respond,
    });
    session.read({ origins: "none", deadlineMs, respond });
    expect(results).toMatchObject([{ code: "unavailable" }, { code: "unavailable" }]);
    expect(() => session.onFrame(peer.nodeId, frame)).not.toThrow();
    expect(() => session.onPeerDown(peer.nodeId, true)).not.toThrow();
    expect(session.consensus.view()).toMatchObject({ leader: null, lastIndex: 0 });
    expect([session.isLeader(), session.leaderNodeId()]).toEqual([false, null]);
  });

  test("answers those who waited in it", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    cluster.cut(...others(cluster, leader).map(({ nodeId }) => nodeId));
    const write = cluster.submit(leader, eventCommand(leader.identity.originFingerprint, 1));
    const read = cluster.read(leader, "none");
    await cluster.time.advance(50);
    leader.live().stop();
    expect(await write).toMatchObject({ kind: "refused", code: "outcome_unknown" });
    expect(await read).toMatchObject({ type: "refused", code: "unavailable" });
  });
});

describe("what works beside log and tables fails", () => {
  test("a node whose rows are damaged halts, and does not load the same rows again and again", async () => {
    const cluster = await readyCluster();
    const node = cluster.nodes[0] as QuietMachine;
    node.database.failBeside(new StoreError("corrupt", "leaves from 8 to 15 are missing"));
    await cluster.until(() => node.stopped !== null, "a halt");
    expect(node.stopped).toMatchObject({ reason: "halted", code: "corrupt_row" });
  });

  test("a node whose disk is full, or whose session is lost, loads again", async () => {
    const cluster = await readyCluster();
    const [full, lost] = cluster.nodes as [QuietMachine, QuietMachine];
    full.database.failBeside(new StoreError("full", "no space left on device"));
    lost.database.failBeside(new Error("Connection terminated unexpectedly"));
    await cluster.until(() => full.session === null && lost.session === null, "two ended sessions");
    await cluster.until(() => cluster.leader() !== null && full.session !== null && lost.session !== null, "new ones");
    expect([full.stopped, lost.stopped]).toEqual([null, null]);
    await converges(cluster);
  });
});

describe("five nodes", () => {
  test("go on with two of them gone, and certify with three", async () => {
    const cluster = await readyCluster(["a", "b", "c", "d", "e"]);
    const leader = cluster.leader() as QuietMachine;
    const [gone, alsoGone, third] = others(cluster, leader) as [QuietMachine, QuietMachine, QuietMachine];
    cluster.crash(gone);
    cluster.crash(alsoGone);
    const ids = [await anchor(cluster, leader, 1), await anchor(cluster, third, 2)];
    expect(leader.live().certifying.certifier.heldOf(third.identity.originFingerprint)?.cosignatures).toHaveLength(3);
    await cluster.start(gone);
    await cluster.start(alsoGone);
    await converges(cluster);
    await expectKept(cluster, ids);
  });
});
