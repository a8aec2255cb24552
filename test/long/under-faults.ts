/** What all long suites of faults do alike. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MixedLoad, audit, describeStrike, startFaultyCluster, strike } from "@event-anchoring/testkit";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit";

/** How long each fault lasts. */
const HOLD_MS = Number(process.env["FAULT_SECONDS"] ?? 6) * 1000;
const LOAD = { writers: 8, batchEvents: 8 };
const STRIKE_TIMEOUT_MS = HOLD_MS + 240_000;
const RECORDS_BEFORE = 300;

/** One cluster under load is given one fault after another, and audited in the end. */
export function describeUnderFaults(title: string, nemeses: readonly Nemesis[]): void {
  describe(title, () => {
    let faulty: FaultyCluster;
    let load: MixedLoad;

    beforeAll(async () => {
      faulty = await startFaultyCluster();
      load = MixedLoad.start(faulty, faulty.recorder, "load", LOAD);
      await load.more(RECORDS_BEFORE);
    }, 120_000);

    afterAll(async () => {
      await load.abandon();
      await faulty.end();
    }, 120_000);

    test.each(nemeses.map((nemesis) => [nemesis.name, nemesis] as const))(
      "it goes on when %s",
      async (name, nemesis) => {
        const missing = nemesis.missing(faulty);
        if (missing !== null) {
          process.stdout.write(`not tested here: ${name} (${missing})\n`);
          return;
        }
        const report = await strike(faulty, load, nemesis, HOLD_MS);
        process.stdout.write(describeStrike(report));
        expect(faulty.recorder.refusals).toEqual([]);
        expect(faulty.recorder.contradictions).toEqual([]);
        expect(faulty.notices.filter((said) => /fenced|halted/.test(said))).toEqual([]);
      },
      STRIKE_TIMEOUT_MS,
    );

    test("nothing was lost, doubled or contradicted, and nobody signed what is not there", async () => {
      await load.stop();
      faulty.tap.finish();
      const { broken, ...counts } = await audit(faulty, faulty.recorder);
      process.stdout.write(`audited: ${JSON.stringify(counts)}\n`);
      expect(broken).toEqual([]);
      expect(faulty.tap.unreadable).toEqual([]);
      expect(faulty.recorder.framesByLink.size).toBe(6);
      expect(counts.cosignatures).toBeGreaterThan(RECORDS_BEFORE);
      expect(counts.heads).toBeGreaterThan(100);
    }, 300_000);
  });
}
