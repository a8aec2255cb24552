import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  HistoryChecker,
  MixedLoad,
  NETWORK_NEMESES,
  PROCESS_NEMESES,
  audit,
  describeInjection,
  injectFaults,
  judgedHistory,
  startFaultyCluster,
} from "@event-anchoring/testkit/faults";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit/faults";

// Three of the faults of test/long, for a moment each.

const HOLD_MS = 1500;

let faulty: FaultyCluster;

beforeAll(async () => {
  faulty = await startFaultyCluster();
}, 120_000);

afterAll(async () => {
  await faulty.end();
}, 240_000);

function named(nemeses: readonly Nemesis[], name: string): Nemesis {
  const found = nemeses.find((nemesis) => nemesis.name === name);
  if (found === undefined) throw new Error(`no fault is called ${name}`);
  return found;
}

describe("a cluster under load", () => {
  let load: MixedLoad;

  beforeAll(() => {
    load = MixedLoad.start(faulty, faulty.recorder, "load", { writers: 6, batchEvents: 5 });
  });

  afterAll(async () => {
    await load.abandon();
  }, 240_000);

  test.each([
    named(NETWORK_NEMESES, "the leader is alone"),
    named(PROCESS_NEMESES, "the leader's control plane stands still"),
  ])(
    "goes on when $name",
    async (nemesis) => {
      await load.more(100);
      process.stdout.write(describeInjection(await injectFaults(faulty, load, [nemesis], HOLD_MS)));
      expect(faulty.recorder.refusals).toEqual([]);
    },
    120_000,
  );

  test("has lost, doubled and contradicted nothing of what was written, read or cosigned", async () => {
    await load.stop();
    faulty.tap.finish();
    const { broken, ...counts } = await audit(faulty, faulty.recorder);
    process.stdout.write(`audited: ${JSON.stringify(counts)}\n`);
    expect(broken).toEqual([]);
    expect(faulty.tap.unreadable).toEqual([]);
    expect(faulty.recorder.framesByLink.size).toBe(6);
    expect(counts.anchored).toBeGreaterThan(200);
    expect(counts.cosignatures).toBeGreaterThan(100);
    expect(counts.heads).toBeGreaterThan(20);
  }, 120_000);
});

const LOAD_BEFORE = 60;
const checker = HistoryChecker.build(fileURLToPath(new URL("../linearizability", import.meta.url)));
if (!(checker instanceof HistoryChecker)) process.stdout.write(`linearizability is not tested: ${checker.missing}\n`);
const describeWithGo = checker instanceof HistoryChecker ? describe : describe.skip;

/** What is written here is in no record of the load above, which was audited before. */
describeWithGo("what clients see of a cluster whose leader stands still", () => {
  afterAll(() => {
    if (checker instanceof HistoryChecker) checker.close();
  });

  test("is linearizable", async () => {
    if (!(checker instanceof HistoryChecker)) throw new Error(checker.missing);
    const nemesis = named(PROCESS_NEMESES, "all processes of the leader stand still");
    const plan = { checker, nemesis, writers: 4, loadBefore: LOAD_BEFORE, holdMs: HOLD_MS };
    const { verdict, faults, refusals } = await judgedHistory(faulty, plan);
    expect({ verdict, faults, refusals }).toEqual({ verdict: "linearizable", faults: 1, refusals: [] });
  }, 500_000);
});
