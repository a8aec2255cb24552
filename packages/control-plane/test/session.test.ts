import { describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { decodeMessage } from "raft-ts";
import type { QuietMachine } from "@event-anchoring/simulator";
import { anchor, certifiedSizes, readyCluster } from "./cluster-steps.ts";
import { acceptedId, eventCommand } from "./commands.ts";

describe("three sessions", () => {
  test("certify genesis, and an event written through any node, everywhere", async () => {
    const cluster = await readyCluster();
    for (const [seed, node] of cluster.nodes.entries()) await anchor(cluster, node, seed);
    await cluster.until(
      () => certifiedSizes(cluster).every((sizes) => sizes.length === 3 && sizes.every((size) => size === 2)),
      "genesis and one event certified in each origin on each node",
    );
    const effects = cluster.nodes.map(({ session }) => bytesToHex(session?.state.effect ?? new Uint8Array()));
    expect(new Set(effects).size).toBe(1);
  });

  test("replay one client_event_id on every node as one anchor", async () => {
    const cluster = await readyCluster();
    const [first] = cluster.nodes as [QuietMachine];
    const ids: string[] = [];
    for (const node of cluster.nodes) {
      const result = cluster.submit(node, eventCommand(first.identity.originFingerprint, 1, "order-1"));
      await cluster.time.advance(200);
      ids.push(acceptedId(await result));
    }
    expect(new Set(ids).size).toBe(1);
  });

  test("keep what was acknowledged when the leader crashes, and go on without it", async () => {
    const cluster = await readyCluster();
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round++) {
      const leader = cluster.leader() as QuietMachine;
      const other = cluster.nodes.find((node) => node !== leader && node.session !== null) as QuietMachine;
      acknowledged.push(await anchor(cluster, other, round * 2));
      cluster.crash(leader);
      await cluster.until(() => cluster.leader() !== null, "another leader");
      acknowledged.push(await anchor(cluster, other, round * 2 + 1));
      await cluster.start(leader);
      await cluster.time.advance(1000);
    }
    for (const { decisions } of cluster.nodes) {
      const ids = decisions.flatMap(({ writes }) => writes.leaves.map(({ anchorId }) => bytesToHex(anchorId)));
      for (const id of acknowledged) expect(ids.filter((candidate) => candidate === id)).toHaveLength(1);
    }
  });

  test("answer outcome_unknown, never success, when no quorum is left", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    cluster.cut(...cluster.nodes.filter((node) => node !== leader).map(({ nodeId }) => nodeId));
    const result = cluster.submit(leader, eventCommand(leader.identity.originFingerprint, 9), 1500);
    await cluster.time.advance(2500);
    expect(await result).toMatchObject({ kind: "refused", code: expect.stringMatching(/outcome_unknown|no_leader/) });
    cluster.heal();
    const isSafe = (): boolean => cluster.leader()?.live().membership.clockGuard.isSafe() ?? false;
    await cluster.until(isSafe, "a leader after healing, whose clock the others confirm");
    expect(await anchor(cluster, leader, 10)).toMatch(/^[0-9a-f]{64}$/);
  });

  test("acknowledge nothing that is not durable, and keep heartbeats going meanwhile", async () => {
    const cluster = await readyCluster();
    const leader = cluster.leader() as QuietMachine;
    const [held] = cluster.nodes.filter((node) => node !== leader) as [QuietMachine];
    await cluster.time.advance(500);
    held.database.appends.hold();
    const from = cluster.sent.length;
    const durable = held.entries.at(-1)?.index ?? 0;
    await anchor(cluster, leader, 77);
    await cluster.time.advance(500);
    const messages = cluster.sent
      .slice(from)
      .filter((sent) => sent.from === held.nodeId)
      .flatMap(({ frame }) => (frame.type === "raft" ? [decodeMessage(frame.message)] : []));
    const acks = messages.filter(({ type, reject }) => type === "MsgAppResp" && !reject);
    for (const ack of acks) expect(ack.index).toBeLessThanOrEqual(durable);
    expect(messages.some(({ type }) => type === "MsgHeartbeatResp")).toBe(true);
    held.database.appends.release();
    await cluster.until(() => held.live().state.appliedIndex === leader.live().state.appliedIndex, "it catches up");
  });

  test("sign no head that the promise file does not hold", async () => {
    const cluster = await readyCluster();
    const from = cluster.sent.length;
    for (let seed = 0; seed < 5; seed++) await anchor(cluster, cluster.nodes[seed % 3] as QuietMachine, seed);
    const signed = cluster.sent
      .slice(from)
      .flatMap(({ from: nodeId, frame }) =>
        frame.type === "cosignatures" ? frame.items.map((item) => ({ nodeId, item })) : [],
      );
    expect(signed.length).toBeGreaterThan(0);
    for (const { nodeId, item } of signed) {
      const key = bytesToHex(item.originFingerprint);
      const sizes = cluster.node(nodeId).saved.map(({ signedHeads }) => signedHeads.get(key)?.treeSize ?? 0);
      expect(Math.max(...sizes)).toBeGreaterThanOrEqual(item.treeSize);
    }
  });
});
