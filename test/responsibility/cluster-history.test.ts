/** A random life of a running cluster, against the model. A failure prints the seed that brings the choices back. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { ClusterDriver } from "./cluster-driver.ts";
import { ClusterHistory } from "./cluster-history.ts";
import { seededDice } from "./dice.ts";
import { historySeed } from "./seed.ts";

// More operations, or a busy machine, need more than the usual limit.
jest.setTimeout(600_000);

const OPERATIONS = Number(process.env["HISTORY_OPERATIONS"] ?? 400);
const QUERIES_EVERY = 40;
const QUESTIONS = 150;

let setup: TestCluster;
let driver: ClusterDriver;

beforeAll(async () => {
  setup = await startTestCluster();
  driver = await ClusterDriver.on(setup);
}, 240_000);

afterAll(async () => {
  await driver.close();
  await setup.erase();
}, 240_000);

describe("three nodes answer as the model does", () => {
  const seed = historySeed();
  const dice = seededDice(seed);
  let history: ClusterHistory;

  test("every operation of a random life, at any node", async () => {
    history = await ClusterHistory.on(driver);
    const startedAt = performance.now();
    for (let step = 1; step <= OPERATIONS; step++) {
      await history.step(dice);
      if (step % QUERIES_EVERY !== 0) continue;
      for (const nodeId of driver.nodeIds) await history.compareQueries(nodeId);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const said = [...history.answers].sort((a, b) => b[1] - a[1]).map(([code, count]) => `${code} ${count}`);
    process.stdout.write(`seed ${seed}: ${OPERATIONS} operations in ${seconds.toFixed(1)} s: ${said.join(", ")}\n`);
    expect({ seed, differences: history.differences }).toEqual({ seed, differences: [] });
    expect([...history.answers.keys()]).toEqual(expect.arrayContaining(ANSWERS));
  });

  test("verify, trace and lists of what it recorded, at any node and position", async () => {
    for (let question = 0; question < QUESTIONS; question++)
      for (const nodeId of driver.nodeIds) await history.compareRecord(nodeId, dice);
    for (const nodeId of driver.nodeIds) {
      await history.compareQueries(nodeId);
      await history.compareLists(nodeId);
    }
    process.stdout.write(`${history.comparisons} answers compared; met: ${[...history.met].sort().join(", ")}\n`);
    expect({ seed, differences: history.differences }).toEqual({ seed, differences: [] });
    expect(history.comparisons).toBeGreaterThan(QUESTIONS * driver.nodeIds.length);
    expect([...history.met]).toEqual(expect.arrayContaining(SITUATIONS));
  });
});

const ANSWERS = [
  ...["claim", "grant", "revocation", "event"].map((kind) => `${kind} accepted`),
  "claim replayed",
  "signature_invalid",
  "claim_conflict",
  "claim_not_in_force",
];

const SITUATIONS = [
  "authorised at action",
  "not authorised at action",
  "unknown at action",
  "a claim that is valid",
  "a grant that is valid",
  "revocation fails",
  "superseded fails",
];
