import { beforeAll, describe, expect, test } from "@jest/globals";
import { ENTRY_BOUNDS, MANY_LEAVES } from "./bounds.ts";
import { CountedCluster } from "./counted-cluster.ts";
import type { EntryCounts } from "./counted-cluster.ts";

const WRITES = 40;
const CLIENTS_OF_EACH_NODE = 16;

let cluster: CountedCluster;

beforeAll(async () => {
  cluster = await CountedCluster.start();
});

function expectWithin(counts: EntryCounts, bounds: Omit<EntryCounts, "leaves">): void {
  const { leaves: _, ...costs } = counts;
  for (const [what, count] of Object.entries(costs)) {
    const bound = bounds[what as keyof typeof bounds];
    // What counts nothing is within any bound, and what costs half of it has a bound that holds nothing.
    const isWithin = count <= bound && count >= bound / 2;
    // The message names the count; a bare comparison of numbers would not.
    expect({ what, count, isWithin }).toEqual({ what, count, isWithin: true });
  }
}

describe("an entry costs no more than its bounds", () => {
  test("with one client, at the leader", async () => {
    const counts = await cluster.countsOf(() => cluster.write([cluster.leader], WRITES));
    expect(counts.leaves).toBeCloseTo(1, 1);
    expectWithin(counts, ENTRY_BOUNDS.oneClient);
  });

  test("with 48 clients, over all nodes", async () => {
    const clients = cluster.nodes.flatMap((node) => Array.from({ length: CLIENTS_OF_EACH_NODE }, () => node));
    const counts = await cluster.countsOf(() => cluster.write(clients, WRITES));
    expect(counts.leaves).toBeGreaterThan(MANY_LEAVES);
    expectWithin(counts, ENTRY_BOUNDS.manyClients);
  });

  test("with 48 clients, whose events have ids", async () => {
    const clients = cluster.nodes.flatMap((node) => Array.from({ length: CLIENTS_OF_EACH_NODE }, () => node));
    const counts = await cluster.countsOf(() => cluster.write(clients, WRITES, true));
    expect(counts.leaves).toBeGreaterThan(MANY_LEAVES);
    expectWithin(counts, ENTRY_BOUNDS.manyClientsWithIds);
  });
});
