import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { HistoryChecker, HistoryLoad, PROCESS_NEMESES, startFaultyCluster, strike } from "@event-anchoring/testkit";
import type { FaultyCluster } from "@event-anchoring/testkit";

// One of the faults of test/long, for a moment.

const WRITERS = 4;
const LOAD_BEFORE = 60;
const HOLD_MS = 1500;

const made = HistoryChecker.build(fileURLToPath(new URL("../linearizability", import.meta.url)));
const checker = made instanceof HistoryChecker ? made : null;
if (!(made instanceof HistoryChecker)) process.stdout.write(`linearizability is not tested: ${made.missing}\n`);

(checker === null ? describe.skip : describe)("what clients see of a cluster whose leader stands still", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-history-"));
  let faulty: FaultyCluster;

  beforeAll(async () => {
    faulty = await startFaultyCluster();
  }, 120_000);

  afterAll(async () => {
    await faulty.end();
    checker?.close();
    rmSync(folder, { recursive: true });
  }, 60_000);

  test("is linearizable", async () => {
    const nemesis = PROCESS_NEMESES.find(({ name }) => name === "all processes of the leader stand still");
    if (nemesis === undefined) throw new Error("there is no such fault");
    const load = await HistoryLoad.start(faulty, WRITERS);
    try {
      await load.more(LOAD_BEFORE);
      load.history.fault(nemesis.name);
      await strike(faulty, load, [nemesis], HOLD_MS);
    } finally {
      await load.stop();
    }
    const path = join(folder, "history.jsonl");
    load.history.save(path);
    const said = checker?.judge(path, { writesBefore: LOAD_BEFORE, readsBefore: LOAD_BEFORE });
    process.stdout.write(`${JSON.stringify(said)}\n`);
    expect(load.history.refusals).toEqual([]);
    expect(said).toMatchObject({ verdict: "linearizable", faults: 1 });
  }, 180_000);
});
