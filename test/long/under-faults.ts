/** What the long suites of faults do alike. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MixedLoad, audit, describeStrike, startFaultyCluster, strike } from "@event-anchoring/testkit";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit";

/** How long each fault lasts. */
export const HOLD_MS = Number(process.env["FAULT_SECONDS"] ?? 6) * 1000;
/** For a fault and all that follows, on a machine that is busy with other things. */
export const STRIKE_TIMEOUT_MS = HOLD_MS + 300_000;
export const START_TIMEOUT_MS = 300_000;
const LOAD = { writers: 8, batchEvents: 8 };
const RECORDS_BEFORE = 300;

/** A cluster whose nodes are overheard, under load of all kinds of records. */
export class ClusterUnderFaults {
  readonly faulty: FaultyCluster;
  readonly #load: MixedLoad;

  private constructor(faulty: FaultyCluster, load: MixedLoad) {
    this.faulty = faulty;
    this.#load = load;
  }

  /** @param prepare called before there is any load */
  static async start(
    prepare: (faulty: FaultyCluster) => Promise<void> = async () => undefined,
  ): Promise<ClusterUnderFaults> {
    const faulty = await startFaultyCluster();
    try {
      await prepare(faulty);
      const load = MixedLoad.start(faulty, faulty.recorder, "load", LOAD);
      await load.more(RECORDS_BEFORE, START_TIMEOUT_MS);
      return new ClusterUnderFaults(faulty, load);
    } catch (error) {
      await faulty.end();
      throw error;
    }
  }

  /** Some faults at once, and what must hold as soon as they are over. */
  async strike(nemeses: readonly Nemesis[]): Promise<void> {
    const { faulty } = this;
    process.stdout.write(describeStrike(await strike(faulty, this.#load, nemeses, HOLD_MS)));
    expect(faulty.recorder.refusals).toEqual([]);
    expect(faulty.recorder.contradictions).toEqual([]);
    expect(faulty.notices.filter((said) => /fenced|halted/.test(said))).toEqual([]);
  }

  /** Nothing lost, doubled or contradicted; nothing signed that is not there; and nothing overheard in part. */
  async expectSound(): Promise<void> {
    await this.#load.stop();
    this.faulty.tap.finish();
    const { broken, ...counts } = await audit(this.faulty, this.faulty.recorder);
    process.stdout.write(`audited: ${JSON.stringify(counts)}\n`);
    expect(broken).toEqual([]);
    expect(this.faulty.tap.unreadable).toEqual([]);
    expect(this.faulty.recorder.framesByLink.size).toBe(6);
    expect(counts.cosignatures).toBeGreaterThan(RECORDS_BEFORE);
    expect(counts.heads).toBeGreaterThan(100);
  }

  /** Whatever has become of it. */
  async end(): Promise<void> {
    await this.#load.abandon();
    await this.faulty.end();
  }
}

/** Says that a fault is not tested on this machine, and why. */
export function isMissing(nemesis: Nemesis, faulty: FaultyCluster): boolean {
  const missing = nemesis.missing(faulty);
  if (missing !== null) process.stdout.write(`not tested here: ${nemesis.name} (${missing})\n`);
  return missing !== null;
}

/** One cluster is given one fault after another, and audited in the end. */
export function describeUnderFaults(title: string, nemeses: readonly Nemesis[]): void {
  describe(title, () => {
    let cluster: ClusterUnderFaults;

    beforeAll(async () => {
      cluster = await ClusterUnderFaults.start();
    }, START_TIMEOUT_MS);

    afterAll(async () => {
      await cluster.end();
    }, START_TIMEOUT_MS);

    test.each(nemeses.map((nemesis) => [nemesis.name, nemesis] as const))(
      "goes on when %s",
      async (_name, nemesis) => {
        if (!isMissing(nemesis, cluster.faulty)) await cluster.strike([nemesis]);
      },
      STRIKE_TIMEOUT_MS,
    );

    test("has lost, doubled and contradicted nothing", () => cluster.expectSound(), STRIKE_TIMEOUT_MS);
  });
}
