import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ClusterLoad, differencesAt, headsAt, receiptFailures } from "@event-anchoring/testkit/cluster";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";
import { killLeader } from "./kill-leader.ts";

const WRITERS = 12;
/** KILLS=20 kills as often; the long suites do. */
const KILLS = Number(process.env["KILLS"] ?? 3);
/** How much is written between two kills: enough that every kill meets writes under way. */
const WRITES_BETWEEN_KILLS = 60;
/** On a quiet machine it is less than a second: npm run bench measures it. */
const GAP_MS_MAX = 20_000;

let setup: TestCluster;
const loads: ClusterLoad[] = [];

beforeAll(async () => {
  setup = await sharedCluster();
}, 240_000);

afterAll(async () => {
  await Promise.all(loads.map((load) => load.abandon()));
}, 240_000);

function startLoad(writers: number): ClusterLoad {
  const load = ClusterLoad.start(setup, writers);
  loads.push(load);
  return load;
}

describe("a cluster whose leader is killed again and again while events are written", () => {
  const acknowledged: Acknowledged[] = [];

  test(
    "goes on writing, and no client that retries waits for long",
    async () => {
      const load = startLoad(WRITERS);
      for (let kill = 0; kill < KILLS; kill++) {
        await load.more(WRITES_BETWEEN_KILLS);
        await killLeader(setup);
        await setup.cluster.ready();
      }
      await load.more(WRITES_BETWEEN_KILLS);
      acknowledged.push(...(await load.stop()));
      expect(load.refusals).toEqual([]);
      const longestMs = Math.max(...acknowledged.map(({ tookMs }) => tookMs));
      process.stdout.write(`${acknowledged.length} events acknowledged, longest wait ${longestMs.toFixed(0)} ms\n`);
      expect(longestMs).toBeLessThan(GAP_MS_MAX);
      expect(Math.max(...acknowledged.map(({ tries }) => tries))).toBeGreaterThan(1);
    },
    90_000 + KILLS * 30_000,
  );

  test("never gives two events one place, nor one event two", () => {
    expect(acknowledged.length).toBeGreaterThan(KILLS * WRITES_BETWEEN_KILLS);
    const places = acknowledged.map(({ sequence }) => sequence);
    expect(new Set(places).size).toBe(acknowledged.length);
    expect(new Set(acknowledged.map(({ anchorId }) => anchorId)).size).toBe(acknowledged.length);
    const depths = acknowledged.map(({ originFingerprint, depth }) => `${originFingerprint} ${depth}`);
    expect(new Set(depths).size).toBe(acknowledged.length);
  });

  test("has every acknowledged anchor on every node, unchanged and equal", async () => {
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
  }, 240_000);

  test("says the same newest root of every origin on every node", async () => {
    const [first, ...others] = await Promise.all(setup.cluster.file.nodes.map(({ id }) => headsAt(setup, id)));
    expect(first).toEqual(first?.map(() => expect.stringMatching(/^\d+ [0-9a-f]{64}$/)));
    expect(others).toEqual([first, first]);
  });

  test("gave receipts that verify offline", () => {
    expect(receiptFailures(setup, acknowledged)).toEqual([]);
  });
});
