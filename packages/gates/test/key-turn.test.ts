import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { TURNS, firstKey } from "../src/day/turns.ts";
import type { DayAtWork, MadeKey } from "../src/day/turns.ts";

// One turn of a day asks nodes with a key that has ended.

let setup: TestCluster;
beforeAll(async () => void (setup = await startTestCluster()), 300_000);
afterAll(() => setup.erase());

test("the turn of an API key ends when every node refuses the old one", async () => {
  const turn = TURNS.find(({ name }) => name === "rotations of an API key");
  const nodeIds = setup.cluster.file.nodes.map(({ id }) => id);
  const key = await firstKey(setup);
  const clients: MadeKey[] = [];
  const day: Partial<DayAtWork> & Pick<DayAtWork, "key"> = {
    setup,
    nodeIds,
    key,
    changeClients: () => Promise.resolve(void clients.push(day.key)),
  };
  await turn?.run(day as DayAtWork);
  expect(clients).toEqual([day.key]);
  expect(day.key.keyId).not.toBe(key.keyId);
}, 300_000);
