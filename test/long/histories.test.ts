import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  CLOCK_NEMESES,
  HistoryChecker,
  HistoryLoad,
  NETWORK_NEMESES,
  PROCESS_NEMESES,
  STORAGE_NEMESES,
  describeStrike,
  startFaultyCluster,
  strike,
} from "@event-anchoring/testkit";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit";
import { HOLD_MS, START_TIMEOUT_MS, STRIKE_TIMEOUT_MS, isMissing } from "./cluster-under-faults.ts";

const WRITERS = 5;
/** Acknowledged writes and answered reads before the fault: with fewer a history proves nothing. */
const LOAD_BEFORE = 150;

const made = HistoryChecker.build(fileURLToPath(new URL("../linearizability", import.meta.url)));
const checker = made instanceof HistoryChecker ? made : null;
if (!(made instanceof HistoryChecker)) process.stdout.write(`linearizability is not tested: ${made.missing}\n`);

/** A fault that is announced to the history as it strikes. */
function noted(nemesis: Nemesis, load: HistoryLoad): Nemesis {
  return {
    ...nemesis,
    strike: async (cluster, roles) => {
      load.history.fault(nemesis.name);
      return nemesis.strike(cluster, roles);
    },
  };
}

(checker === null ? describe.skip : describe)("what clients of a cluster see is linearizable", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-histories-"));
  let faulty: FaultyCluster;

  beforeAll(async () => {
    faulty = await startFaultyCluster();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await faulty.end();
    checker?.close();
    rmSync(folder, { recursive: true });
  }, START_TIMEOUT_MS);

  const nemeses = [...NETWORK_NEMESES, ...PROCESS_NEMESES, ...STORAGE_NEMESES, ...CLOCK_NEMESES];
  test.each(nemeses.map((nemesis) => [nemesis.name, nemesis] as const))(
    "while %s",
    async (_name, nemesis) => {
      if (isMissing(nemesis, faulty)) return;
      const load = await HistoryLoad.start(faulty, WRITERS);
      try {
        await load.more(LOAD_BEFORE);
        process.stdout.write(describeStrike(await strike(faulty, load, [noted(nemesis, load)], HOLD_MS)));
      } finally {
        await load.stop();
      }
      const path = join(folder, "history.jsonl");
      load.history.save(path);
      const said = checker?.judge(path, { writesBefore: LOAD_BEFORE, readsBefore: LOAD_BEFORE });
      process.stdout.write(`${JSON.stringify(said)}\n`);
      expect(load.history.refusals).toEqual([]);
      expect(said).toMatchObject({ verdict: "linearizable", faults: 1 });
    },
    STRIKE_TIMEOUT_MS,
  );
});
