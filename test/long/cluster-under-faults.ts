import { MixedLoad, audit, describeInjection, injectFaults, startFaultyCluster } from "@event-anchoring/testkit/faults";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit/faults";

/** How long each fault lasts. */
export const HOLD_MS = Number(process.env["FAULT_SECONDS"] ?? 6) * 1000;
export const START_TIMEOUT_MS = 300_000;
/** For a fault and all that follows, on a machine that is busy with other things. */
export const FAULT_TIMEOUT_MS = HOLD_MS + 600_000;
const LOAD = { writers: 8, batchEvents: 8 };
const RECORDS_BEFORE = 300;
const HEADS_LEAST = 100;
const LINKS = 6;

/** A cluster whose nodes are overheard, under load of all kinds of records. Complaints are lines; none is wanted. */
export class ClusterUnderFaults {
  readonly faulty: FaultyCluster;
  readonly #load: MixedLoad;

  private constructor(faulty: FaultyCluster, load: MixedLoad) {
    this.faulty = faulty;
    this.#load = load;
  }

  /** @param prepare called before there is any load */
  static async start(prepare?: (faulty: FaultyCluster) => Promise<void>): Promise<ClusterUnderFaults> {
    const faulty = await startFaultyCluster();
    try {
      await prepare?.(faulty);
      const load = MixedLoad.start(faulty, faulty.recorder, "load", LOAD);
      await load.more(RECORDS_BEFORE, START_TIMEOUT_MS);
      return new ClusterUnderFaults(faulty, load);
    } catch (error) {
      await faulty.end();
      throw error;
    }
  }

  /** Waits until so many more records are acknowledged. */
  more(count: number): Promise<void> {
    return this.#load.more(count, FAULT_TIMEOUT_MS / 2);
  }

  /** Some faults at once. @returns what went wrong, as soon as they are over */
  async inject(nemeses: readonly Nemesis[]): Promise<readonly string[]> {
    const { recorder, notices } = this.faulty;
    const here = nemeses.filter((nemesis) => !isMissing(nemesis, this.faulty));
    if (here.length > 0)
      process.stdout.write(describeInjection(await injectFaults(this.faulty, this.#load, here, HOLD_MS)));
    return [
      ...recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`),
      ...recorder.contradictions,
      ...notices.filter((said) => /fenced|halted/.test(said)),
    ];
  }

  /** Ends the load. @returns what was lost, doubled, contradicted, signed without being there, or not overheard */
  async audit(): Promise<readonly string[]> {
    await this.#load.stop();
    const { recorder, tap } = this.faulty;
    tap.finish();
    const { broken, ...counts } = await audit(this.faulty, recorder);
    process.stdout.write(`audited: ${JSON.stringify(counts)}\n`);
    return [
      ...broken,
      ...tap.unreadable,
      ...(recorder.framesByLink.size === LINKS ? [] : [`frames on ${recorder.framesByLink.size} links`]),
      ...(counts.cosignatures > RECORDS_BEFORE ? [] : [`${counts.cosignatures} cosignatures were overheard`]),
      ...(counts.heads > HEADS_LEAST ? [] : [`${counts.heads} latest anchors were read`]),
    ];
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
