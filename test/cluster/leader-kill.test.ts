import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import { LoadClient, RetryingWriter, startTestCluster, trustRootsOf, until } from "@event-anchoring/testkit";
import type { Acknowledged, TestCluster } from "@event-anchoring/testkit";

const WRITERS = 12;
const KILLS = 5;
/** How much is written between two kills: enough that every kill meets writes under way. */
const WRITES_BETWEEN_KILLS = 60;
const GAP_MS_MAX = 5000;

let setup: TestCluster;

beforeAll(async () => {
  setup = await startTestCluster();
}, 90_000);

afterAll(async () => {
  await setup.cluster.erase();
}, 60_000);

/** Kills the leader's api and control-plane processes as a crash would, and waits until another node leads. */
async function killLeader(): Promise<void> {
  const leader = await setup.leader();
  for (const pid of [leader.pids.control_plane, leader.pids.api]) {
    if (pid === null) throw new Error(`${leader.id} has a process that does not run`);
    process.kill(pid, "SIGKILL");
  }
  await until("cluster.json names other processes", () => {
    const { pids } = setup.entry(leader.id);
    return pids.api !== null && pids.control_plane !== null && pids.control_plane !== leader.pids.control_plane;
  });
}

interface Stored {
  readonly anchor_id: string;
  readonly sequence: number;
  readonly depth: number;
  readonly origin_fingerprint: string;
  readonly event_hash: string;
  readonly client_event_id: string;
}

/** All these anchors as one node tells them, each verified by that node, in the order asked. */
async function readAll(apiUrl: string, acknowledged: readonly Acknowledged[]): Promise<readonly Stored[]> {
  const client = new LoadClient({ apiUrl, apiKey: setup.apiKey, connections: 1 });
  const stored: Stored[] = [];
  for (let from = 0; from < acknowledged.length; from += 500) {
    const anchors = acknowledged
      .slice(from, from + 500)
      .map(({ anchorId, eventHash }) => ({ anchor_id: anchorId, event_hash: eventHash }));
    const answer = await client.post("/v1/event-anchors:batchVerify", JSON.stringify({ anchors }), 20_000);
    expect(answer.status).toBe(200);
    const { results } = JSON.parse(answer.text) as { results: { valid: boolean; anchor: Stored }[] };
    expect(results.filter(({ valid }) => !valid)).toEqual([]);
    stored.push(...results.map(({ anchor }) => anchor));
  }
  await client.close();
  return stored;
}

describe("a cluster whose leader is killed again and again while events are written", () => {
  const acknowledged: Acknowledged[] = [];

  test("goes on writing, with no gap of five seconds for a client that retries", async () => {
    const { nodes } = setup.cluster.file;
    const writers = Array.from(
      { length: WRITERS },
      (_, firstNode) => new RetryingWriter({ nodes, apiKey: setup.apiKey, firstNode }),
    );
    const count = (): number => writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);
    const runs = writers.map((writer) => writer.run());
    for (let kill = 0; kill < KILLS; kill++) {
      const goal = count() + WRITES_BETWEEN_KILLS;
      await until(`${WRITES_BETWEEN_KILLS} more events are acknowledged`, () => count() >= goal, 30_000);
      await killLeader();
      await setup.cluster.ready();
    }
    const goal = count() + WRITES_BETWEEN_KILLS;
    await until("events are acknowledged after the last kill", () => count() >= goal, 30_000);
    for (const writer of writers) writer.stop();
    await Promise.all(runs);
    acknowledged.push(...writers.flatMap((writer) => writer.acknowledged));
    expect(writers.flatMap((writer) => writer.refusals)).toEqual([]);
    const longestMs = Math.max(...acknowledged.map(({ tookMs }) => tookMs));
    process.stdout.write(`${acknowledged.length} events acknowledged, longest wait ${longestMs.toFixed(0)} ms\n`);
    expect(longestMs).toBeLessThan(GAP_MS_MAX);
    expect(Math.max(...acknowledged.map(({ tries }) => tries))).toBeGreaterThan(1);
  }, 150_000);

  test("never gives two events one place, nor one event two", () => {
    expect(acknowledged.length).toBeGreaterThan(KILLS * WRITES_BETWEEN_KILLS);
    const places = acknowledged.map(({ sequence }) => sequence);
    expect(new Set(places).size).toBe(acknowledged.length);
    expect(new Set(acknowledged.map(({ anchorId }) => anchorId)).size).toBe(acknowledged.length);
    const depths = acknowledged.map(({ originFingerprint, depth }) => `${originFingerprint} ${depth}`);
    expect(new Set(depths).size).toBe(acknowledged.length);
  });

  test("has every acknowledged anchor on every node, unchanged and equal", async () => {
    for (const { api_url: apiUrl } of setup.cluster.file.nodes) {
      const stored = await readAll(apiUrl, acknowledged);
      const told = stored.map((anchor) => ({
        anchorId: anchor.anchor_id,
        sequence: anchor.sequence,
        depth: anchor.depth,
        originFingerprint: anchor.origin_fingerprint,
        eventHash: anchor.event_hash,
        clientEventId: anchor.client_event_id,
      }));
      expect(told).toEqual(
        acknowledged.map(({ anchorId, sequence, depth, originFingerprint, eventHash, clientEventId }) => ({
          anchorId,
          sequence,
          depth,
          originFingerprint,
          eventHash,
          clientEventId,
        })),
      );
    }
  }, 60_000);

  test("says the same newest root of every origin on every node", async () => {
    const { nodes } = setup.cluster.file;
    for (const { origin_fingerprint: origin } of nodes) {
      const heads = await Promise.all(
        nodes.map(async ({ api_url: apiUrl }) => {
          const client = new LoadClient({ apiUrl, apiKey: setup.apiKey, connections: 1 });
          const answer = await client.get(`/v1/event-anchors/latest?origin_fingerprint=${origin}`);
          await client.close();
          const { tree_size: size, root_hash: root } = JSON.parse(answer.text) as Record<string, unknown>;
          return { status: answer.status, size, root };
        }),
      );
      expect(heads).toEqual(heads.map(() => heads[0]));
      expect(heads[0]?.status).toBe(200);
    }
  });

  test("gave receipts that verify offline", () => {
    const trustRoots = trustRootsOf(setup.cluster.file.trust_root);
    const failures = acknowledged.flatMap(({ receipt: value, eventHash, anchorId }) => {
      const { receipt } = receiptFromJson(value);
      const expectation = { eventHash: hexToBytes(eventHash, 32), anchorId: hexToBytes(anchorId, 32) };
      const { failure } = verifyReceipt({ receipt, trustRoots, expect: expectation }, nodeCrypto);
      return failure === null ? [] : [{ anchorId, failure }];
    });
    expect(failures).toEqual([]);
  });
});
