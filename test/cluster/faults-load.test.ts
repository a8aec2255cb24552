import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  MixedLoad,
  NETWORK_NEMESES,
  PROCESS_NEMESES,
  audit,
  describeStrike,
  startFaultyCluster,
  strike,
} from "@event-anchoring/testkit";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit";

// Two of the faults of test/long, for a moment each.

const HOLD_MS = 1500;

let faulty: FaultyCluster;
let load: MixedLoad;

beforeAll(async () => {
  faulty = await startFaultyCluster();
  load = MixedLoad.start(faulty, faulty.recorder, "load", { writers: 6, batchEvents: 5 });
}, 120_000);

afterAll(async () => {
  await load.abandon();
  await faulty.end();
}, 60_000);

function named(nemeses: readonly Nemesis[], name: string): Nemesis {
  const found = nemeses.find((nemesis) => nemesis.name === name);
  if (found === undefined) throw new Error(`no fault is called ${name}`);
  return found;
}

describe("a cluster under load", () => {
  test.each([
    named(NETWORK_NEMESES, "the leader is alone"),
    named(PROCESS_NEMESES, "the leader's control plane stands still"),
  ])(
    "goes on when $name",
    async (nemesis) => {
      await load.more(100);
      process.stdout.write(describeStrike(await strike(faulty, load, [nemesis], HOLD_MS)));
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
