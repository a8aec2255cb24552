import { setTimeout as delay } from "node:timers/promises";
import { Seeded } from "@event-anchoring/simulator";
import { until } from "@event-anchoring/testkit";
import { assertHeadsChained } from "@event-anchoring/testkit/clients";
import { LastingFollower, servedChain, startTestCluster } from "@event-anchoring/testkit/cluster";
import { Recorder, audit } from "@event-anchoring/testkit/faults";
import type { LoadAnswer } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { DayLoad, complaintAbout } from "./day-load.ts";
import type { Pace } from "./day-load.ts";
import { DayReadings, SIZES } from "./day-readings.ts";
import { DaySlices } from "./day-slices.ts";
import { COLLECTED_WHEN_ASKED, collectAll } from "./full-collection.ts";
import { dropGuests, firstKey, unplannedEnds, wordsOfNodes, wrongErasures } from "./turns.ts";
import type { DayAtWork, MadeKey, Turn } from "./turns.ts";

/** The least that can be set: the log reaches its bound in minutes, and a new node installs a snapshot. */
const LOG_ENTRIES_KEPT = 1000;
/** What a server does every few minutes or every GB, it does here as often as makes it even in a part of the day. */
const POSTGRES_SETTINGS = {
  max_wal_size: "64MB",
  min_wal_size: "32MB",
  checkpoint_timeout: "30s",
  autovacuum_naptime: "5s",
} as const;
/** Undisturbed, before what follows a turn or a full collection. */
export const PAUSE_MS = 10_000;
/** What a turn may take that has not had one yet. */
const TURN_MS = 45_000;
/** What clients get for their last answers on a machine that does other things too. */
const STOP_TIMEOUT_MS = 600_000;
const POLL_MS = 500;
const MB = 1e6;

export interface DayClusterOptions {
  /** What its turns choose, they choose by this. */
  readonly seed: number;
  /** Whether the day is cut off. */
  readonly isOver: () => boolean;
  readonly say: (line: string) => void;
}

/** A cluster with its clients, the turns of its operator, and what is read of it meanwhile. */
export class DayCluster {
  readonly recorder = new Recorder();
  /** What should not have been, each a line. */
  readonly broken: string[] = [];
  /** How often each turn was taken, by name. */
  readonly turns: Record<string, number> = {};
  readonly readings: DayReadings;
  readonly slices: DaySlices;
  readonly #options: DayClusterOptions;
  readonly #setup: TestCluster;
  readonly #day: DayAtWork;
  readonly #follower: LastingFollower;
  readonly #tookMs = new Map<string, number>();
  #load: DayLoad | null = null;
  #loads = 0;
  #pace: Pace = "warmUp";
  #answered = 0;
  #askedAgain = 0;

  private constructor(setup: TestCluster, key: MadeKey, readings: DayReadings, options: DayClusterOptions) {
    const nodeIds = setup.cluster.file.nodes.map(({ id }) => id);
    this.#options = options;
    this.#setup = setup;
    this.readings = readings;
    this.slices = new DaySlices(
      () => readings.sizes(),
      () => readings.processorMs(),
    );
    this.#follower = new LastingFollower(setup, setup.entry(nodeIds[0] ?? "").origin_fingerprint, 1);
    this.#day = {
      setup,
      recorder: this.recorder,
      dice: new Seeded(options.seed, 51),
      nodeIds,
      key,
      nextNode: nodeIds.length + 1,
      changeClients: () => this.#changeClients(),
      erased: [],
    };
  }

  /** Nobody has written to it yet. */
  static async start(options: DayClusterOptions): Promise<DayCluster> {
    const setup = await startTestCluster({
      logEntriesKept: LOG_ENTRIES_KEPT,
      postgresSettings: POSTGRES_SETTINGS,
      nodeFlags: COLLECTED_WHEN_ASKED,
    });
    try {
      const key = await firstKey(setup);
      return new DayCluster(setup, key, await DayReadings.open(setup), options);
    } catch (error) {
      await setup.erase();
      throw error;
    }
  }

  /** Answers with success. */
  get answered(): number {
    return this.#answered;
  }

  /** The 503s with a reason and missing answers that clients have asked again after. */
  get askedAgain(): number {
    return this.#askedAgain;
  }

  /** Without pauses, until so much more is answered or that time has come. @returns whether it is enough */
  async warmUp(answers: number, untilMs: number): Promise<boolean> {
    const enough = this.#answered + answers;
    await this.#setPace("warmUp");
    await this.until(untilMs, () => this.#answered >= enough);
    await this.#setPace("day");
    return this.#answered >= enough;
  }

  /** From here on clients ask half as often: another cluster on the machine has as many. */
  async share(): Promise<void> {
    await this.#setPace("shared");
  }

  async until(timeMs: number, isEnough: () => boolean = () => false): Promise<void> {
    while (performance.now() < timeMs && !isEnough() && !this.#options.isOver()) {
      await delay(Math.max(0, Math.min(POLL_MS, timeMs - performance.now())));
    }
  }

  /** @returns `late`: there is no time for the next one */
  async takeRound(turns: readonly Turn[], endMs: number): Promise<"taken" | "late" | "failed"> {
    for (const turn of turns) {
      const needsMs = this.#tookMs.get(turn.name) ?? TURN_MS;
      // A day without any turn is none, however short.
      const isLate = this.#tookMs.size > 0 && performance.now() + needsMs > endMs;
      if (this.#options.isOver() || isLate) return "late";
      if (!(await this.#takeTurn(turn))) return "failed";
      await this.until(performance.now() + PAUSE_MS);
    }
    return "taken";
  }

  /** Its processes drop what nobody holds any more: what they hold then does not depend on when V8 last did so. */
  async collectGarbage(): Promise<void> {
    this.sayMemory();
    await collectAll(this.#day.nodeIds.map((id) => this.#setup.entry(id)));
    await this.until(performance.now() + PAUSE_MS);
  }

  /** Says what its processes hold now, as it was read last. */
  sayMemory(): void {
    const names = [SIZES.apiMemory, SIZES.controlPlaneMemory, SIZES.postgresMemory];
    const last = this.slices.slices.findLast(({ sizes }) => names.every((name) => sizes[name] !== undefined));
    if (last === undefined) return;
    const told = names.map((name) => `${name} ${((last.sizes[name] ?? NaN) / MB).toFixed(0)} MB`);
    this.#options.say(`  ${told.join(", ")}`);
  }

  /** Ends the clients, and what is read. */
  async stop(): Promise<void> {
    await this.#stopClients();
    try {
      await this.slices.stop();
    } finally {
      await this.readings.close();
    }
  }

  /** @returns how many heads the follower of an origin was shown: all that it was acknowledged, in one chain */
  async followed(): Promise<number> {
    const { origin_fingerprint: origin } = this.#setup.entry(this.#day.nodeIds[0] ?? "");
    const depths = this.recorder.anchored.map((each) => (each.originFingerprint === origin ? each.depth : -1));
    const size = depths.reduce((most, depth) => Math.max(most, depth), -1) + 1;
    try {
      await until(`the feed shows ${size} leaves`, () => this.#follower.size >= size, STOP_TIMEOUT_MS);
      await this.#follower.stop();
      assertHeadsChained(this.#follower.heads, null);
    } catch (error) {
      this.broken.push(`the feed: ${String(error)}`);
    }
    return this.#follower.heads.length;
  }

  /** Compares what clients were told with what every node holds. */
  async audit(): Promise<void> {
    const { nodeIds } = this.#day;
    const ended = unplannedEnds(this.#setup.notices, nodeIds);
    const refused = this.recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`);
    this.broken.push(...ended, ...refused);
    try {
      await dropGuests(this.#day);
      const chain = await servedChain(this.#setup, nodeIds[0] ?? "");
      const { broken } = await audit(this.#setup, this.recorder, chain);
      this.broken.push(...broken, ...(await wrongErasures(this.#day)));
    } catch (error) {
      // What was broken before is told too.
      this.broken.push(`the audit: ${String(error)}`);
    }
  }

  async erase(): Promise<void> {
    // What is wrong with it, `followed` has told.
    await this.#follower.stop().catch(() => {});
    await this.#setup.erase();
  }

  async #takeTurn(turn: Turn): Promise<boolean> {
    const startedMs = performance.now();
    try {
      await turn.run(this.#day);
    } catch (error) {
      this.broken.push(`${turn.name}: ${String(error)}`);
      for (const line of await wordsOfNodes(this.#day)) this.#options.say(`  ${line}`);
      return false;
    }
    const tookMs = performance.now() - startedMs;
    this.#tookMs.set(turn.name, tookMs);
    this.turns[turn.name] = (this.turns[turn.name] ?? 0) + 1;
    this.#options.say(`  ${turn.name}: one in ${(tookMs / 1000).toFixed(0)} s`);
    return true;
  }

  async #setPace(pace: Pace): Promise<void> {
    this.#pace = pace;
    await this.#changeClients();
  }

  async #changeClients(): Promise<void> {
    await this.#stopClients();
    this.#loads += 1;
    this.#load = DayLoad.start({
      setup: this.#setup,
      apiKey: this.#day.key.apiKey,
      recorder: this.recorder,
      name: `day ${this.#loads}`,
      pace: this.#pace,
      onAnswer: (kind, answer, tookMs) => this.#onAnswer(kind, answer, tookMs),
    });
  }

  async #stopClients(): Promise<void> {
    const load = this.#load;
    this.#load = null;
    if (load === null) return;
    try {
      const isStopped = load.stop().then(() => true);
      if (await Promise.race([isStopped, delay(STOP_TIMEOUT_MS, false, { ref: false })])) return;
      this.broken.push(`writers wait for more than ${STOP_TIMEOUT_MS} ms`);
      await load.abandon();
    } catch (error) {
      this.broken.push(`the clients: ${String(error)}`);
    }
  }

  #onAnswer(kind: string, answer: LoadAnswer, tookMs: number): void {
    if (answer.status === 200 || answer.status === 201) {
      this.#answered += 1;
      this.slices.answered(kind, tookMs);
      return;
    }
    this.#askedAgain += 1;
    const complaint = complaintAbout(kind, answer);
    if (complaint !== null) this.broken.push(complaint);
  }
}
