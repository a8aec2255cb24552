import { setTimeout as delay } from "node:timers/promises";
import { LoadGenerator } from "./load-generator.ts";
import type { GeneratedLoad, Stock } from "./load-generator.ts";
import { percentile } from "../figures/percentile.ts";
import { forgetPeaks, readCpu, readPeaksMb } from "@event-anchoring/testkit/overload";
import type { CpuReading, ProcessGroup } from "@event-anchoring/testkit/overload";
import type { LoadRow, Usage } from "../figures/rows.ts";
import { countsBetween } from "./cluster-counts.ts";
import type { CountsReading } from "./cluster-counts.ts";
import { isSteady } from "./steadiness.ts";
import type { Stretch } from "./steadiness.ts";

export interface Timing {
  /** How long the lead-in may take; 0: none. */
  readonly leadInMs: number;
  readonly measureMs: number;
}

/** Progress that can be shown to a waiting user. */
export type Sight =
  | { readonly phase: "preparing"; readonly made: number }
  | { readonly phase: "lead-in" | "measuring"; readonly ratePerSecond: number };

export interface MeasuredLoad extends GeneratedLoad {
  /** The processes whose usage is reported; this one among them. */
  readonly groups: readonly ProcessGroup[];
  readonly timing: Timing;
  readonly onSight: (sight: Sight) => void;
  /** What the servers have counted; null where they do not tell. */
  readonly readCounts: () => Promise<CountsReading | null>;
  /** Between the lead-in and what is measured, while the load goes on. */
  readonly beforeMeasure?: () => Promise<void>;
}

export type LoadFigures = Pick<
  LoadRow,
  "leadIn" | "seconds" | "requests" | "ratePerSecond" | "p50Ms" | "p99Ms" | "maxMs" | "failures" | "usage" | "counts"
>;

const STRETCH_MS = 1000;
/** Signed in advance for a lead-in, per second and over all servers. */
const STOCK_PER_SECOND = 3000;
/** How much more than the lead-in's rate asks for is made in advance. */
const STOCK_MARGIN = 1.5;

/**
 * Load in two parts: a lead-in, until rate and processor time are steady, and then what is measured, without a break.
 * Counted are the answers that come within the measured time; a request that is under way at its beginning counts with
 * its whole latency.
 */
export async function measureLoad(load: MeasuredLoad): Promise<LoadFigures> {
  const { timing, workload, urls } = load;
  const { stock } = workload;
  const stockFor = (ms: number, perSecond: number): number => Math.ceil((ms / 1000) * (perSecond / urls.length));
  await fill(stock, stockFor(timing.leadInMs === 0 ? timing.measureMs : timing.leadInMs, STOCK_PER_SECOND), load);
  let generator = new LoadGenerator(load);
  try {
    const leadIn = await leadInOf(generator, load);
    const wanted = stockFor(timing.measureMs, leadIn.requestsPerSecond * STOCK_MARGIN);
    if (stock !== undefined && timing.leadInMs > 0 && stock.perServer < wanted) {
      await generator.stop();
      await fill(stock, wanted, load);
      generator = new LoadGenerator(load);
      await stretchOf(generator, load, STRETCH_MS);
    }
    await load.beforeMeasure?.();
    const { seconds, isSteady: wasSteady } = leadIn;
    return { leadIn: { seconds, isSteady: wasSteady }, ...(await figuresOf(generator, load)) };
  } finally {
    await generator.stop();
  }
}

async function fill(stock: Stock | undefined, perServer: number, { onSight }: MeasuredLoad): Promise<void> {
  await stock?.fill(perServer, (made) => onSight({ phase: "preparing", made }));
}

interface LeadIn {
  readonly seconds: number;
  readonly isSteady: boolean;
  readonly requestsPerSecond: number;
}

async function leadInOf(generator: LoadGenerator, load: MeasuredLoad): Promise<LeadIn> {
  const { leadInMs } = load.timing;
  const { unitsPerRequest } = load.workload;
  const startedAt = performance.now();
  const stretches: Stretch[] = [];
  const wasSteady = (): boolean => isSteady(stretches);
  while (!wasSteady() && performance.now() - startedAt < leadInMs) {
    const stretch = await stretchOf(generator, load, Math.min(STRETCH_MS, leadInMs));
    if (stretch === null) break;
    stretches.push(stretch);
    load.onSight({ phase: "lead-in", ratePerSecond: stretch.ratePerSecond });
  }
  const newest = stretches.at(-1)?.ratePerSecond ?? STOCK_PER_SECOND;
  return {
    seconds: (performance.now() - startedAt) / 1000,
    isSteady: wasSteady(),
    requestsPerSecond: newest / unitsPerRequest,
  };
}

/** One stretch of the lead-in, forgotten afterwards; null when the clients have ended. */
async function stretchOf(generator: LoadGenerator, load: MeasuredLoad, ms: number): Promise<Stretch | null> {
  generator.take();
  const before = readCpu(load.groups);
  const startedAt = performance.now();
  if (!(await goesOnFor(generator, ms))) return null;
  const requests = generator.take().latenciesMs.length;
  const units = requests * load.workload.unitsPerRequest;
  const seconds = (performance.now() - startedAt) / 1000;
  const used = cpuBetween(before, readCpu(load.groups));
  const total = used === null ? null : Object.values(used).reduce((sum, each) => sum + each, 0);
  return { requests, ratePerSecond: units / seconds, cpuMsEach: total === null || units === 0 ? null : total / units };
}

/** @returns false as soon as no client is left */
async function goesOnFor(generator: LoadGenerator, ms: number): Promise<boolean> {
  const stop = new AbortController();
  const isOver = delay(ms, true, { signal: stop.signal }).catch(() => false);
  const goesOn = await Promise.race([isOver, generator.ended.then(() => false)]);
  stop.abort();
  return goesOn;
}

async function figuresOf(generator: LoadGenerator, load: MeasuredLoad): Promise<Omit<LoadFigures, "leadIn">> {
  const { workload, groups, timing, onSight } = load;
  const countsBefore = await load.readCounts();
  const answeredBefore = generator.answeredInAll;
  forgetPeaks(groups);
  generator.take();
  const before = readCpu(groups);
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;
  let goesOn = true;
  while (goesOn && elapsedMs() < timing.measureMs) {
    goesOn = await goesOnFor(generator, Math.min(STRETCH_MS, Math.ceil(timing.measureMs - elapsedMs())));
    onSight({
      phase: "measuring",
      ratePerSecond: (generator.answered * workload.unitsPerRequest * 1000) / elapsedMs(),
    });
  }
  const seconds = elapsedMs() / 1000;
  const { latenciesMs, failures } = generator.take();
  const units = latenciesMs.length * workload.unitsPerRequest;
  const usage = usageBetween(before, readCpu(groups), units, readPeaksMb(groups));
  const answered = (generator.answeredInAll - answeredBefore) * workload.unitsPerRequest;
  const counts = countsBetween(countsBefore, await load.readCounts(), answered);
  return { seconds, ratePerSecond: units / seconds, failures, usage, counts, ...latencyFigures(latenciesMs) };
}

/** NaN where there is no value. */
export function latencyFigures(
  latenciesMs: readonly number[],
): Pick<LoadRow, "requests" | "p50Ms" | "p99Ms" | "maxMs"> {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (p: number): number => (sorted.length === 0 ? Number.NaN : percentile(sorted, p));
  return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

function cpuBetween(before: CpuReading | null, after: CpuReading | null): Readonly<Record<string, number>> | null {
  if (before === null || after === null) return null;
  return Object.fromEntries(Object.entries(after.ms).map(([kind, ms]) => [kind, ms - (before.ms[kind] ?? 0)]));
}

/** Null where the system does not tell, or a process was started anew meanwhile. */
export function usageBetween(
  before: CpuReading | null,
  after: CpuReading | null,
  units: number,
  peakMb: Usage["peakMb"] | null,
): Usage | null {
  const used = cpuBetween(before, after);
  if (used === null || before === null || after === null || peakMb === null || units === 0) return null;
  const all = Object.values(used).reduce((sum, ms) => sum + ms, 0);
  const machine = after.machineMs - before.machineMs;
  const there = (after.atMs - before.atMs) * after.cores;
  return {
    cpuMsPerThousand: Object.fromEntries(Object.entries(used).map(([kind, ms]) => [kind, (ms * 1000) / units])),
    peakMb,
    otherShare: Math.max(0, (machine - all) / there),
  };
}
