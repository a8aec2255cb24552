import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  CLOCK_NEMESES,
  HistoryChecker,
  NETWORK_NEMESES,
  PROCESS_NEMESES,
  STORAGE_NEMESES,
  judgedHistory,
  startFaultyCluster,
} from "@event-anchoring/testkit/faults";
import type { FaultyCluster } from "@event-anchoring/testkit/faults";
import { HOLD_MS, START_TIMEOUT_MS, FAULT_TIMEOUT_MS, isMissing } from "./cluster-under-faults.ts";

const WRITERS = 5;
/** Acknowledged writes and answered reads before the fault: with fewer a history proves nothing. */
const LOAD_BEFORE = 150;

const made = HistoryChecker.build(fileURLToPath(new URL("../linearizability", import.meta.url)));
const checker = made instanceof HistoryChecker ? made : null;
if (!(made instanceof HistoryChecker)) process.stdout.write(`linearizability is not tested: ${made.missing}\n`);

(checker === null ? describe.skip : describe)("what clients of a cluster see is linearizable", () => {
  let faulty: FaultyCluster;

  beforeAll(async () => {
    faulty = await startFaultyCluster();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await faulty.end();
    checker?.close();
  }, START_TIMEOUT_MS);

  const nemeses = [...NETWORK_NEMESES, ...PROCESS_NEMESES, ...STORAGE_NEMESES, ...CLOCK_NEMESES];
  test.each(nemeses.map((nemesis) => [nemesis.name, nemesis] as const))(
    "while %s",
    async (_name, nemesis) => {
      if (isMissing(nemesis, faulty)) return;
      if (checker === null) throw new Error("there is no checker");
      const plan = { checker, nemesis, writers: WRITERS, loadBefore: LOAD_BEFORE, holdMs: HOLD_MS };
      const { verdict, faults, refusals } = await judgedHistory(faulty, plan);
      expect({ verdict, faults, refusals }).toEqual({ verdict: "linearizable", faults: 1, refusals: [] });
    },
    3 * FAULT_TIMEOUT_MS,
  );
});
