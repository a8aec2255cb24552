import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CLOCK_NEMESES, NETWORK_NEMESES, PROCESS_NEMESES, STORAGE_NEMESES } from "@event-anchoring/testkit/faults";
import { pick, seededDice } from "../responsibility/dice.ts";
import { historySeed } from "../responsibility/seed.ts";
import { ClusterUnderFaults, START_TIMEOUT_MS, FAULT_TIMEOUT_MS } from "./cluster-under-faults.ts";

/** How many pairs of faults strike. */
const PAIRS = Number(process.env["FAULT_PAIRS"] ?? 12);
const OF_A_NODE = [...PROCESS_NEMESES, ...STORAGE_NEMESES, ...CLOCK_NEMESES];

describe("a cluster that is given two faults at once, again and again", () => {
  const seed = historySeed();
  const dice = seededDice(seed);
  let cluster: ClusterUnderFaults;

  beforeAll(async () => {
    process.stdout.write(`HISTORY_SEED=${seed}\n`);
    cluster = await ClusterUnderFaults.start();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await cluster.end();
  }, START_TIMEOUT_MS);

  const pairs = Array.from({ length: PAIRS }, () => {
    const [ofNode, ofNetwork] = [pick(dice, OF_A_NODE), pick(dice, NETWORK_NEMESES)];
    return { title: `${ofNode.name}, and ${ofNetwork.name}`, ofNode, ofNetwork };
  });
  test.each(pairs)(
    "goes on when $title",
    async ({ ofNode, ofNetwork }) => {
      // The network comes last: who is to be met in some act must be able to act.
      expect(await cluster.inject([ofNode, ofNetwork])).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );

  test(
    "has lost, doubled and contradicted nothing",
    async () => {
      expect(await cluster.audit()).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );
});
