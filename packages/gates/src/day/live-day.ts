import { availableParallelism } from "node:os";
import type { Recorder } from "@event-anchoring/testkit/faults";
import { DayCluster, PAUSE_MS } from "./day-cluster.ts";
import { SIZES } from "./day-readings.ts";
import type { DayReadings } from "./day-readings.ts";
import { SLICE_MS } from "./day-slices.ts";
import type { TimedSlice } from "./day-slices.ts";
import { grownApart } from "./day-counters.ts";
import type { CountedAnswers } from "./day-counters.ts";
import { judge } from "./judge.ts";
import type { DayParts, Part, Ratio } from "./judge.ts";
import { TURNS, UPGRADE } from "./turns.ts";

/**
 * Answered requests after which processes and disks are as they will be: what runs often is compiled, and what a node
 * keeps a bounded number of, it then has that many of. Of an origin it keeps 4,096 leaves, of verdicts 20,480, and of
 * the pages of the state tree 4,369, which takes some ten thousand claims and grants. Without their young generation,
 * three control planes held 670 to 700 MB after 24,000 answers, 730 after 36,000, and 727 after 69,000. Two quiet cores
 * give 320 to 375 answers a second; a machine that does other things gives fewer.
 */
const WARM_ANSWERS_DEFAULT = 48_000;
/** A shorter day has no parts that say anything. */
const JUDGED_MIN_MS = 1_770_000;
/** With less, there are too few slices. */
const PART_MIN_MS = 50_000;
/** In a day of 24 hours, one in six. More would show how a cluster grows with each of its changes, not with time. */
const ROUNDS = 4;
/** A second cluster is warmed up beside a first one with clients: it may take so many times as long. */
const BESIDE = 1.5;
/** Parts for which both have clients: these ask half as often. */
const SHARED_PARTS = 3;
const MINUTE_MS = 60_000;
const MB = 1e6;
/** Files that grow by whole segments, or by what the last vacuum has not given back, on three nodes. */
const STEPS: Readonly<Record<string, number>> = { [SIZES.wal]: 3 * 16.8 * MB, [SIZES.logTable]: 3 * MB };
/** The log keeps a number of entries. These hold the more, the more is asked at once: a fifth, on a slow machine. */
const MOMENTARY = [SIZES.log] as const;
/** Without both at the same time, time is undecided. */
const NO_PARTS: DayParts = { first: [], last: [] };

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

export interface JudgedDay {
  readonly ratios: readonly Ratio[];
  /** What the nodes took of the machine's processors in the first part. */
  readonly share: number;
  /** What young and old nodes counted in the shared part, where it differs: it tells where to look. null: unknown. */
  readonly counters: readonly Part[] | null;
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

/** As many slices of both, in pairs of the same seconds. */
interface Together {
  readonly young: readonly TimedSlice[];
  readonly old: readonly TimedSlice[];
  readonly counters: readonly Part[] | null;
}

/** One day on a cluster of its own. */
export async function liveDay(plan: DayPlan): Promise<DayResult> {
  const endMs = performance.now() + plan.forMs;
  const old = await DayCluster.start(plan);
  try {
    return await new Day(old, plan, endMs).live();
  } finally {
    await old.erase();
  }
}

/**
 * Memory and disk after the turns are compared with those before them. Time is not: a machine that others use too is
 * another one an hour later. In the end a second cluster is brought to where the first one was when its day began, and
 * both have the same clients at the same time: what the old one takes is compared with what the young one takes.
 */
class Day {
  readonly #old: DayCluster;
  readonly #plan: DayPlan;
  readonly #endMs: number;
  readonly #isLong: boolean;
  readonly #warmAnswers: number;
  #minutes: NodeJS.Timeout | undefined = undefined;

  constructor(old: DayCluster, plan: DayPlan, endMs: number) {
    this.#old = old;
    this.#plan = plan;
    this.#endMs = endMs;
    this.#isLong = plan.forMs >= JUDGED_MIN_MS;
    this.#warmAnswers = plan.warmAnswers ?? WARM_ANSWERS_DEFAULT;
  }

  async live(): Promise<DayResult> {
    const old = this.#old;
    let judged: JudgedDay | null = null;
    try {
      judged = await this.#pass();
    } finally {
      await old.stop();
    }
    const heads = await old.followed();
    this.#plan.beforeAudit?.(old.recorder);
    await old.audit();
    const { broken, turns, answered, askedAgain, recorder } = old;
    return { broken, judged, turns, anchored: recorder.anchored.length, answered, askedAgain, heads };
  }

  /** @returns null: it was cut off or too short before its last part, for a round of turns too, or a turn has failed */
  async #pass(): Promise<JudgedDay | null> {
    const startMs = performance.now();
    this.#minutes = setInterval(() => this.#plan.onMinute(), MINUTE_MS);
    try {
      // By half of the day the turns begin, warm or not.
      const isWarm = await this.#begin(this.#old, startMs + (this.#endMs - startMs) / 2);
      const warmMs = performance.now();
      const isJudged = this.#isLong && isWarm;
      const partMs = isJudged ? Math.max(PART_MIN_MS, (this.#endMs - warmMs) / 10) : 0;
      const sharedMs = this.#endMs - SHARED_PARTS * partMs;
      const youngMs = isJudged ? sharedMs - BESIDE * (warmMs - startMs) : this.#endMs;
      const first = await this.#undisturbed(warmMs + partMs);
      const isWhole = await this.#takeTurns(youngMs - partMs - PAUSE_MS);
      if (!isJudged || !isWhole) {
        await this.#old.until(this.#endMs);
        return null;
      }
      await this.#old.until(youngMs - partMs);
      const last = await this.#undisturbed(youngMs);
      const both = await this.#besideYoung(sharedMs);
      // It may have taken so long to bring the young one there that there is no such end. What grew is broken even so.
      const isShared = both !== null && both.old.length * SLICE_MS > partMs;
      const space = { first: first.slices, last: last.slices };
      const time = isShared ? { first: both.young, last: both.old } : NO_PARTS;
      return { ratios: judge(space, time, STEPS, MOMENTARY), share: first.share, counters: both?.counters ?? null };
    } finally {
      clearInterval(this.#minutes);
    }
  }

  /**
   * Brings a cluster to where its day begins. In a day that is judged it has had each turn once: a process keeps the
   * memory, and a database the disk space, that a turn took at its most. @returns whether it is there
   */
  async #begin(cluster: DayCluster, untilMs: number): Promise<boolean> {
    if (!(await cluster.warmUp(this.#warmAnswers, untilMs))) return false;
    return !this.#isLong || (await cluster.takeRound(TURNS, this.#endMs)) === "taken";
  }

  /** Clients, and no turns, up to that time. It begins with a full collection. */
  async #undisturbed(untilMs: number): Promise<{ readonly slices: readonly TimedSlice[]; readonly share: number }> {
    const { readings, slices } = this.#old;
    await this.#old.collectGarbage();
    const [fromMs, before] = [performance.now(), spentMs(readings)];
    await this.#old.until(untilMs);
    const toMs = performance.now();
    this.#old.sayMemory();
    const share = (spentMs(readings) - before) / ((toMs - fromMs) * availableParallelism());
    return { slices: slices.between(fromMs, toMs), share };
  }

  /**
   * Both with clients: from that time on, or when the young cluster is there.
   * @returns slices of the same seconds; null: it did not get there, or the day was cut off
   */
  async #besideYoung(sharedMs: number): Promise<Together | null> {
    const { broken } = this.#old;
    let young: DayCluster | null = null;
    try {
      young = await DayCluster.start(this.#plan);
      const both = (await this.#begin(young, this.#endMs)) ? await this.#both(young, sharedMs) : null;
      clearInterval(this.#minutes);
      await young.stop();
      await young.followed();
      await young.audit();
      return both;
    } catch (error) {
      broken.push(`the young cluster: ${String(error)}`);
      return null;
    } finally {
      broken.push(...(young?.broken ?? []).map((line) => `the young cluster: ${line}`));
      await young?.erase();
    }
  }

  async #both(young: DayCluster, sharedMs: number): Promise<Together | null> {
    const old = this.#old;
    await old.until(sharedMs);
    await Promise.all([old.share(), young.share()]);
    // It drops compiled code too: both have to compile again.
    await Promise.all([old.collectGarbage(), young.collectGarbage()]);
    const fromMs = performance.now();
    const [countedByYoung, countedByOld] = await Promise.all([beginToCount(young), beginToCount(old)]);
    await old.until(this.#endMs);
    const toMs = performance.now();
    const counters = grownApart(await countedByYoung(), await countedByOld());
    for (const cluster of [old, young]) cluster.sayMemory();
    if (toMs < this.#endMs - SLICE_MS) return null;
    return { ...together(young.slices.between(fromMs, toMs), old.slices.between(fromMs, toMs)), counters };
  }

  /**
   * Rounds of all turns, at even distances. Those of the first half have restarts; then processes are warmed up again.
   * @returns whether they are warm, and one round is whole
   */
  async #takeTurns(endMs: number): Promise<boolean> {
    const old = this.#old;
    const startMs = performance.now();
    const roundMs = (endMs - startMs) / ROUNDS;
    const halfMs = (startMs + endMs) / 2;
    let isWarm = false;
    for (let round = 0; round < ROUNDS; round++) {
      await old.until(startMs + round * roundMs);
      const hasRestarts = performance.now() < halfMs;
      if (!hasRestarts && !isWarm) isWarm = await old.warmUp(this.#warmAnswers, endMs - roundMs);
      const ended = await old.takeRound(hasRestarts ? [UPGRADE, ...TURNS] : TURNS, endMs);
      old.sayMemory();
      if (ended !== "taken") return ended === "late" && isWarm && round > 0;
    }
    return isWarm;
  }
}

function spentMs(readings: DayReadings): number {
  return Object.values(readings.processorMs()).reduce((sum, ms) => sum + ms, 0);
}

/** @returns what tells what its nodes have counted since */
async function beginToCount(cluster: DayCluster): Promise<() => Promise<CountedAnswers>> {
  const [before, answered] = [await cluster.readings.counters(), cluster.answered];
  return async () => ({ before, after: await cluster.readings.counters(), answers: cluster.answered - answered });
}

function together(young: readonly TimedSlice[], old: readonly TimedSlice[]): Omit<Together, "counters"> {
  const tickOf = ({ endMs }: TimedSlice): number => Math.round(endMs / SLICE_MS);
  const ticks = (slices: readonly TimedSlice[]): ReadonlySet<number> => new Set(slices.map(tickOf));
  const [ofYoung, ofOld] = [ticks(young), ticks(old)];
  return {
    young: young.filter((slice) => ofOld.has(tickOf(slice))),
    old: old.filter((slice) => ofYoung.has(tickOf(slice))),
  };
}
