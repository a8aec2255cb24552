import { availableParallelism } from "node:os";
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
import { DaySlices, SLICE_MS } from "./day-slices.ts";
import { judge } from "./judge.ts";
import type { ProcessorTime, Ratio } from "./judge.ts";
import { TURNS, UPGRADE, dropGuests, firstKey, unplannedEnds, wordsOfNodes, wrongErasures } from "./turns.ts";
import type { DayAtWork, Turn } from "./turns.ts";
import { Yardstick } from "./yardstick.ts";

/** The least that can be set: the log reaches its bound in minutes, and a new node installs a snapshot. */
const LOG_ENTRIES_KEPT = 1000;
/** What a server does every few minutes or every GB, it does here as often as makes it even in a part of the day. */
const POSTGRES_SETTINGS = {
  max_wal_size: "64MB",
  min_wal_size: "32MB",
  checkpoint_timeout: "30s",
  autovacuum_naptime: "5s",
} as const;
/**
 * Answered requests after which processes and disks are as they will be: what runs often is compiled, and what a node
 * keeps a bounded number of, it then has that many of. Of an origin it keeps 4,096 leaves, of verdicts 20,480, and of
 * the pages of the state tree 4,369, which takes some ten thousand claims and grants. Three control planes held 670 to
 * 700 MB after 24,000 answers, 730 after 36,000, and 727 after 69,000. Two quiet cores give 320 to
 * 375 answers a second; a machine that does other things gives fewer.
 */
const WARM_ANSWERS_DEFAULT = 48_000;
/** A shorter day has no parts that say anything. */
const JUDGED_MIN_MS = 1_770_000;
/** With less, there are too few slices. */
const PART_MIN_MS = 50_000;
/** In a day of 24 hours, one in six. More would show how a cluster grows with each of its changes, not with time. */
const ROUNDS = 4;
/** Undisturbed, before what follows a turn. */
const PAUSE_MS = 10_000;
/** What a turn may take that has not had one yet. */
const TURN_MS = 45_000;
/** What clients get for their last answers on a machine that does other things too. */
const STOP_TIMEOUT_MS = 600_000;
const MINUTE_MS = 60_000;
const POLL_MS = 500;
const MB = 1e6;
/** Files that grow by whole segments, or by what the last vacuum has not given back, on three nodes. */
const STEPS: Readonly<Record<string, number>> = { [SIZES.wal]: 3 * 16.8 * MB, [SIZES.logTable]: 3 * MB };

export interface DayPlan {
  readonly seed: number;
  /** From the call to the end of the load. */
  readonly forMs: number;
  /** Whether the day is cut off. */
  readonly isOver: () => boolean;
  /** Another minute of it was survived. */
  readonly onMinute: () => void;
  readonly say: (line: string) => void;
  /** Answers after which the first part begins. Default: 48,000. */
  readonly warmAnswers?: number;
  /** Called when the clients have stopped, before the audit of what they were told. Default: nothing happens. */
  readonly beforeAudit?: (recorder: Recorder) => void;
}

/** The undisturbed beginning and end of a day. */
interface JudgedDay {
  readonly ratios: readonly Ratio[];
  /** What the nodes took of the machine's processors in both. */
  readonly share: number;
}

export interface DayResult {
  /** What should not have been, each a line. */
  readonly broken: readonly string[];
  /** Null: the day was cut off, or too short for this machine, or a turn failed. */
  readonly judged: JudgedDay | null;
  /** How often, by name. */
  readonly turns: Readonly<Record<string, number>>;
  readonly anchored: number;
  /** Answers, and the 503s with a reason and missing answers that clients have asked again after. */
  readonly answered: number;
  readonly askedAgain: number;
  readonly heads: number;
}

/** One day on a cluster of its own. */
export async function liveDay(plan: DayPlan): Promise<DayResult> {
  const endMs = performance.now() + plan.forMs;
  const setup = await startTestCluster({ logEntriesKept: LOG_ENTRIES_KEPT, postgresSettings: POSTGRES_SETTINGS });
  try {
    return await new Day(setup, plan, endMs).live();
  } finally {
    await setup.erase();
  }
}

class Day {
  readonly #setup: TestCluster;
  readonly #plan: DayPlan;
  readonly #endMs: number;
  readonly #recorder = new Recorder();
  readonly #broken: string[] = [];
  readonly #turns: Record<string, number> = {};
  readonly #tookMs = new Map<string, number>();
  #slices: DaySlices | null = null;
  #load: DayLoad | null = null;
  #loads = 0;
  #pace: Pace = "warmUp";
  #answered = 0;
  #askedAgain = 0;

  constructor(setup: TestCluster, plan: DayPlan, endMs: number) {
    this.#setup = setup;
    this.#plan = plan;
    this.#endMs = endMs;
  }

  async live(): Promise<DayResult> {
    const setup = this.#setup;
    const nodeIds = setup.cluster.file.nodes.map(({ id }) => id);
    const day: DayAtWork = {
      setup,
      recorder: this.#recorder,
      dice: new Seeded(this.#plan.seed, 51),
      nodeIds,
      key: await firstKey(setup),
      nextNode: nodeIds.length + 1,
      changeClients: () => this.#changeClients(day),
      erased: [],
    };
    const readings = await DayReadings.open(setup);
    const yardstick = await Yardstick.start(setup.cluster.root, (tookMs) => this.#slices?.measured(tookMs));
    const processor = (): ProcessorTime => ({ nodes: readings.processorMs(), yardstick: yardstick.processorMs() });
    const slices = new DaySlices(() => readings.sizes(), processor);
    this.#slices = slices;
    const follower = new LastingFollower(setup, setup.entry(nodeIds[0] ?? "").origin_fingerprint, 1);
    let judged: JudgedDay | null = null;
    try {
      judged = await this.#pass(day, slices, readings);
    } finally {
      await this.#stopClients();
      await slices.stop();
      await yardstick.stop();
      await readings.close();
    }
    const heads = await this.#followed(follower, nodeIds[0] ?? "");
    this.#plan.beforeAudit?.(this.#recorder);
    await this.#audit(day);
    const { anchored } = this.#recorder;
    const counts = { anchored: anchored.length, answered: this.#answered, askedAgain: this.#askedAgain, heads };
    return { broken: this.#broken, judged, turns: this.#turns, ...counts };
  }

  /** @returns null: it was cut off, or too short for this machine or for a round of turns, or a turn has failed */
  async #pass(day: DayAtWork, slices: DaySlices, readings: DayReadings): Promise<JudgedDay | null> {
    const startMs = performance.now();
    const minutes = setInterval(() => this.#plan.onMinute(), MINUTE_MS);
    try {
      // By half of the day the turns begin, warm or not.
      const isWarm = (await this.#warmUp(day, startMs + (this.#endMs - startMs) / 2)) && (await this.#leadIn(day));
      const warmMs = performance.now();
      const partMs = Math.max(this.#plan.forMs < JUDGED_MIN_MS ? 0 : PART_MIN_MS, (this.#endMs - warmMs) / 10);
      const lastMs = this.#endMs - partMs;
      const first = await this.#undisturbed(warmMs + partMs, slices, readings);
      const isWhole = await this.#takeTurns(day, lastMs - PAUSE_MS);
      await this.#until(Math.max(lastMs, performance.now() + PAUSE_MS));
      const last = await this.#undisturbed(this.#endMs, slices, readings);
      const isCutOff = performance.now() < this.#endMs - SLICE_MS;
      // A turn may have taken so long that there is no such end.
      const isThere = last.slices.length * SLICE_MS > partMs / 2;
      if (!isWarm || !isWhole || isCutOff || !isThere || this.#plan.forMs < JUDGED_MIN_MS) return null;
      const ratios = judge({ first: first.slices, last: last.slices }, STEPS);
      return { ratios, share: (first.share + last.share) / 2 };
    } finally {
      clearInterval(minutes);
    }
  }

  /** What there is to be read until then. */
  async #undisturbed(untilMs: number, slices: DaySlices, readings: DayReadings) {
    const [fromMs, before] = [performance.now(), readings.processorMs()];
    await this.#until(untilMs);
    const toMs = performance.now();
    const share = (readings.processorMs() - before) / ((toMs - fromMs) * availableParallelism());
    return { slices: slices.between(fromMs, toMs), share };
  }

  /**
   * Each turn once, in a day that is judged: a process keeps the memory, and a database the disk space, that a turn
   * took at its most. What is compared begins after that. @returns whether all were taken
   */
  async #leadIn(day: DayAtWork): Promise<boolean> {
    if (this.#plan.forMs < JUDGED_MIN_MS) return true;
    return (await this.#takeRound(day, TURNS, this.#endMs)) === "taken";
  }

  /** Without pauses, until enough is answered or that time has come. @returns whether it is enough */
  async #warmUp(day: DayAtWork, untilMs: number): Promise<boolean> {
    const { warmAnswers = WARM_ANSWERS_DEFAULT } = this.#plan;
    const enough = this.#answered + warmAnswers;
    await this.#setPace(day, "warmUp");
    await this.#until(untilMs, () => this.#answered >= enough);
    await this.#setPace(day, "day");
    return this.#answered >= enough;
  }

  /**
   * Rounds of all turns, at even distances. Those of the first half have restarts; then processes are warmed up again.
   * @returns whether they are warm, and one round is whole
   */
  async #takeTurns(day: DayAtWork, endMs: number): Promise<boolean> {
    const startMs = performance.now();
    const roundMs = (endMs - startMs) / ROUNDS;
    const halfMs = (startMs + endMs) / 2;
    let isWarm = false;
    for (let round = 0; round < ROUNDS; round++) {
      await this.#until(startMs + round * roundMs);
      const hasRestarts = performance.now() < halfMs;
      if (!hasRestarts && !isWarm) isWarm = await this.#warmUp(day, performance.now() + roundMs);
      const ended = await this.#takeRound(day, hasRestarts ? [UPGRADE, ...TURNS] : TURNS, endMs);
      if (ended !== "taken") return ended === "late" && isWarm && round > 0;
    }
    return isWarm;
  }

  /** @returns `late`: there is no time for the next one */
  async #takeRound(day: DayAtWork, turns: readonly Turn[], endMs: number): Promise<"taken" | "late" | "failed"> {
    for (const turn of turns) {
      const needsMs = this.#tookMs.get(turn.name) ?? TURN_MS;
      // A day without any turn is none, however short.
      const isLate = this.#tookMs.size > 0 && performance.now() + needsMs > endMs;
      if (this.#plan.isOver() || isLate) return "late";
      if (!(await this.#takeTurn(turn, day))) return "failed";
      await this.#until(performance.now() + PAUSE_MS);
    }
    return "taken";
  }

  async #takeTurn(turn: Turn, day: DayAtWork): Promise<boolean> {
    const startedMs = performance.now();
    try {
      await turn.run(day);
    } catch (error) {
      this.#broken.push(`${turn.name}: ${String(error)}`);
      for (const line of await wordsOfNodes(day)) this.#plan.say(`  ${line}`);
      return false;
    }
    const tookMs = performance.now() - startedMs;
    this.#tookMs.set(turn.name, tookMs);
    this.#turns[turn.name] = (this.#turns[turn.name] ?? 0) + 1;
    this.#plan.say(`  ${turn.name}: one in ${(tookMs / 1000).toFixed(0)} s`);
    return true;
  }

  async #until(timeMs: number, isEnough: () => boolean = () => false): Promise<void> {
    while (performance.now() < timeMs && !isEnough() && !this.#plan.isOver()) {
      await delay(Math.max(0, Math.min(POLL_MS, timeMs - performance.now())));
    }
  }

  async #setPace(day: DayAtWork, pace: Pace): Promise<void> {
    this.#pace = pace;
    await this.#changeClients(day);
  }

  async #changeClients({ key }: DayAtWork): Promise<void> {
    await this.#stopClients();
    this.#loads += 1;
    this.#load = DayLoad.start({
      setup: this.#setup,
      apiKey: key.apiKey,
      recorder: this.#recorder,
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
      this.#broken.push(`writers wait for more than ${STOP_TIMEOUT_MS} ms`);
      await load.abandon();
    } catch (error) {
      this.#broken.push(`the clients: ${String(error)}`);
    }
  }

  #onAnswer(kind: string, answer: LoadAnswer, tookMs: number): void {
    if (answer.status === 200 || answer.status === 201) {
      this.#answered += 1;
      this.#slices?.answered(kind, tookMs);
      return;
    }
    this.#askedAgain += 1;
    const complaint = complaintAbout(kind, answer);
    if (complaint !== null) this.#broken.push(complaint);
  }

  /** @returns how many heads the follower of an origin was shown: all that it was acknowledged, in one chain */
  async #followed(follower: LastingFollower, nodeId: string): Promise<number> {
    const { origin_fingerprint: origin } = this.#setup.entry(nodeId);
    const depths = this.#recorder.anchored.map((each) => (each.originFingerprint === origin ? each.depth : -1));
    const size = depths.reduce((most, depth) => Math.max(most, depth), -1) + 1;
    try {
      await until(`the feed shows ${size} leaves`, () => follower.size >= size, STOP_TIMEOUT_MS);
      await follower.stop();
      assertHeadsChained(follower.heads, null);
    } catch (error) {
      this.#broken.push(`the feed: ${String(error)}`);
    }
    return follower.heads.length;
  }

  async #audit(day: DayAtWork): Promise<void> {
    const { setup, nodeIds } = day;
    const ended = unplannedEnds(setup.notices, nodeIds);
    this.#broken.push(...ended, ...this.#recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`));
    try {
      await dropGuests(day);
      const { broken } = await audit(setup, this.#recorder, await servedChain(setup, nodeIds[0] ?? ""));
      this.#broken.push(...broken, ...(await wrongErasures(day)));
    } catch (error) {
      // What was broken before is told too.
      this.#broken.push(`the audit: ${String(error)}`);
    }
  }
}
