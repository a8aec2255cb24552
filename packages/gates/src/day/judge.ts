/** Whether a day has left memory, disk and latency as they were. Pure: the same slices give the same verdicts. */
import { Seeded } from "@event-anchoring/simulator";

/** What was read in some seconds of the day. */
export interface Slice {
  /** What answered requests took, by kind, in milliseconds. */
  readonly latencies: Readonly<Record<string, readonly number[]>>;
  /** Milliseconds of a server that does the same all day. */
  readonly yardstick: readonly number[];
  /** Bytes, or bytes for each anchor, by what they are. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly processor: ProcessorTime;
}

/** Milliseconds. NaN: not known, such as while a process is down. */
export interface ProcessorTime {
  readonly nodes: number;
  /** What the server takes that the yardstick asks. */
  readonly yardstick: number;
}

/** Two like parts of one day, in which nothing else was done. */
export interface DayParts {
  readonly first: readonly Slice[];
  readonly last: readonly Slice[];
}

/**
 * `holds`: at most the limit, also by the upper bound. `broken`: above it, also by the lower bound. `undecided`: the
 * noise leaves it open, or there were too few samples.
 */
export type RatioVerdict = "holds" | "broken" | "undecided";

/** The end ÷ the beginning. */
export interface Ratio {
  readonly group: "memory and disk" | "processor time" | "p50" | "p99";
  readonly name: string;
  /** Bytes or milliseconds, as read: those of latency and processor are not yet divided by the yardstick's. */
  readonly first: number;
  readonly last: number;
  /** Latencies are divided by how much slower the yardstick became, processor time alike. NaN: there is none. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: RatioVerdict;
  /** Why it is undecided; else null. */
  readonly reason: string | null;
}

export const RATIO_MAX = 1.1;
/** With fewer slices of a part, how they differ among themselves is not known. */
const SLICES_MIN = 6;
const SAMPLES_MIN = { p50: 60, p99: 500 } as const;
const QUANTILES = { p50: 0.5, p99: 0.99 } as const;
const GROUPS = ["p50", "p99"] as const;
/** A day that leaves more of the p50s undecided says little of latency. A short one has too few requests for p99s. */
const P50_DECIDED_MIN = 0.5;
/** A slice in which the yardstick takes longer than so many times what it takes in the calmer ones is left out. */
const BUSY = 1.5;
const CALMER = 0.25;
const RESAMPLES = 200;
/** The bounds leave out so much at each end. */
const TAIL = 0.01;

/** @param steps by size: growth by less than so much is how it moves anyhow, and no growth. Default: 0 */
export function judge(parts: DayParts, steps: Readonly<Record<string, number>> = {}): readonly Ratio[] {
  const sizes = namesOf(parts, ({ sizes: held }) => held);
  const kinds = namesOf(parts, ({ latencies }) => latencies);
  const calm = calmOf(parts);
  return [
    ...sizes.map((name) => sizeRatio(name, parts, steps[name] ?? 0)),
    processorRatio(parts),
    ...kinds.flatMap((kind) => latencyRatios(kind, calm)),
  ];
}

/** Whether a day has judged enough to count: memory, disk and processor time are all decided, and half of the p50s. */
export function isEnoughDecided(ratios: readonly Ratio[]): boolean {
  const isDecided = ({ verdict }: Ratio): boolean => verdict !== "undecided";
  const middles = ratios.filter(({ group }) => group === "p50");
  const steady = ratios.filter(({ group }) => group !== "p50" && group !== "p99");
  const isSteadyDecided = steady.length > 0 && steady.every(isDecided);
  const isLatencyDecided = middles.length > 0 && middles.filter(isDecided).length >= P50_DECIDED_MIN * middles.length;
  return isSteadyDecided && isLatencyDecided;
}

function namesOf({ first, last }: DayParts, of: (slice: Slice) => object): readonly string[] {
  return [...new Set([...first, ...last].flatMap((slice) => Object.keys(of(slice))))].sort();
}

function sizeRatio(name: string, parts: DayParts, step: number): Ratio {
  const of = (slice: Slice): readonly number[] => (slice.sizes[name] === undefined ? [] : [slice.sizes[name]]);
  const middles = ({ first, last }: DayParts) => ({ first: middleOf(first, of), last: middleOf(last, of) });
  const { first, last } = middles(parts);
  const figures = { group: "memory and disk", name, first, last } as const;
  if (isShort(parts)) return undecided(figures, "too few slices");
  const ratio = last / first;
  if (last - first <= step) return { ...figures, ratio, low: ratio, high: ratio, verdict: "holds", reason: null };
  const others = resamples(parts).map(middles);
  return decided({ ...figures, ratio, ...boundsOf(others.map((other) => other.last / other.first)) }, true);
}

/**
 * What nodes take of the processors for each answered request. Latency is divided by a yardstick that slows down when
 * they take more: this one sees it. Busy slices count too, for the same reason.
 */
function processorRatio(parts: DayParts): Ratio {
  const known = { first: parts.first.filter(isProcessorKnown), last: parts.last.filter(isProcessorKnown) };
  const { nodes, yardstick, each } = processorOf(known);
  const figures = { group: "processor time", name: "for each request", ...nodes } as const;
  if (isShort(known)) return undecided(figures, "too few slices of which the processor time is known");
  const least = Math.min(...[known.first, known.last].map((part) => sum(part, requestsOf)));
  if (least < SAMPLES_MIN.p50) return undecided(figures, `too few samples: ${least} of ${SAMPLES_MIN.p50}`);
  const others = resamples(known).map(processorOf);
  const divided = others.map((other) => growth(other.nodes) / growth(other.yardstick));
  const isMoreAsRead = boundsOf(others.map((other) => growth(other.nodes))).low > RATIO_MAX;
  // Fewer requests, on a machine that does other things too, share what nodes take without any.
  const isMoreInAll = growth(each) > 1 / RATIO_MAX;
  const ratio = growth(nodes) / growth(yardstick);
  return decided({ ...figures, ratio, ...boundsOf(divided) }, isMoreAsRead && isMoreInAll);
}

function isProcessorKnown({ processor }: Slice): boolean {
  return !Number.isNaN(processor.nodes) && !Number.isNaN(processor.yardstick);
}

/** Processor time of nodes and yardstick for each request that they answered, and that of nodes for each slice. */
function processorOf({ first, last }: DayParts): Readonly<Record<"nodes" | "yardstick" | "each", Read>> {
  const read = (of: (part: readonly Slice[]) => number): Read => ({ first: of(first), last: of(last) });
  const nodesMs = (part: readonly Slice[]): number => sum(part, ({ processor }) => processor.nodes);
  const yardstickMs = (part: readonly Slice[]): number => sum(part, ({ processor }) => processor.yardstick);
  return {
    nodes: read((part) => nodesMs(part) / sum(part, requestsOf)),
    yardstick: read((part) => yardstickMs(part) / sum(part, ({ yardstick }) => yardstick.length)),
    each: read((part) => nodesMs(part) / part.length),
  };
}

function requestsOf({ latencies }: Slice): number {
  return Object.values(latencies).reduce((total, took) => total + took.length, 0);
}

function sum(slices: readonly Slice[], of: (slice: Slice) => number): number {
  return slices.reduce((total, slice) => total + of(slice), 0);
}

/** A figure of both parts, as read. */
interface Read {
  readonly first: number;
  readonly last: number;
}

function latencyRatios(kind: string, calm: DayParts): readonly Ratio[] {
  const of = ({ latencies }: Slice): readonly number[] => latencies[kind] ?? [];
  const own = quantilesOf(calm, of);
  const least = Math.min(...[calm.first, calm.last].map((part) => part.flatMap(of).length));
  const others = resamples(calm).map((parts) => ({ own: quantilesOf(parts, of), machine: yardstickOf(parts) }));
  const machine = yardstickOf(calm);
  return GROUPS.map((group) => {
    const figures = { group, name: kind, ...own[group] };
    if (isShort(calm)) return undecided(figures, "too few slices in which the machine was calm");
    const wanted = SAMPLES_MIN[group];
    if (least < wanted) return undecided(figures, `too few samples: ${least} of ${wanted}`);
    // How slow the machine is shows in the middle; the yardstick's own p99 is of a few requests.
    const divided = others.map((other) => growth(other.own[group]) / growth(other.machine.p50));
    const ratio = growth(own[group]) / growth(machine.p50);
    // The machine and the service need not slow down alike: all of these have to say that the service did.
    const isSlowerAsRead = boundsOf(others.map((other) => growth(other.own[group]))).low > RATIO_MAX;
    const isSlowerThanIts = growth(own[group]) / growth(machine[group]) > RATIO_MAX;
    return decided({ ...figures, ratio, ...boundsOf(divided) }, isSlowerAsRead && isSlowerThanIts);
  });
}

function growth({ first, last }: Read): number {
  return last / first;
}

function yardstickOf(parts: DayParts): Readonly<Record<(typeof GROUPS)[number], Read>> {
  return quantilesOf(parts, ({ yardstick }) => yardstick);
}

function quantilesOf(
  { first, last }: DayParts,
  of: (slice: Slice) => readonly number[],
): Readonly<Record<(typeof GROUPS)[number], Read>> {
  const [before, after] = [sorted(first.flatMap(of)), sorted(last.flatMap(of))];
  const read = (share: number): Read => ({ first: at(before, share), last: at(after, share) });
  return { p50: read(QUANTILES.p50), p99: read(QUANTILES.p99) };
}

type NamedGrowth = Pick<Ratio, "group" | "name" | "first" | "last">;

function isShort({ first, last }: DayParts): boolean {
  return Math.min(first.length, last.length) < SLICES_MIN;
}

function undecided(figures: NamedGrowth, reason: string): Ratio {
  return { ...figures, ratio: NaN, low: NaN, high: NaN, verdict: "undecided", reason };
}

function decided(told: Omit<Ratio, "verdict" | "reason">, mayBreak: boolean): Ratio {
  if (told.high <= RATIO_MAX) return { ...told, verdict: "holds", reason: null };
  if (told.low > RATIO_MAX && mayBreak) return { ...told, verdict: "broken", reason: null };
  return { ...told, verdict: "undecided", reason: "within the noise" };
}

/** The slices in which the yardstick took about as long as in the calmer quarter of both parts. */
function calmOf({ first, last }: DayParts): DayParts {
  const middle = ({ yardstick }: Slice): number => at(sorted(yardstick), QUANTILES.p50);
  const middles = [...first, ...last].map(middle).filter((each) => !Number.isNaN(each));
  const usual = at(sorted(middles), CALMER);
  const calm = (slices: readonly Slice[]): readonly Slice[] => slices.filter((slice) => middle(slice) <= BUSY * usual);
  return { first: calm(first), last: calm(last) };
}

/** DayParts as they might have been: their slices drawn anew, some of them twice and some not at all. */
function resamples({ first, last }: DayParts): readonly DayParts[] {
  if (isShort({ first, last })) return [];
  const dice = new Seeded(1, 17);
  const drawn = (slices: readonly Slice[]): readonly Slice[] => slices.map(() => dice.pick(slices));
  return Array.from({ length: RESAMPLES }, () => ({ first: drawn(first), last: drawn(last) }));
}

/** How far a ratio lies from what other slices like these would have given. */
function boundsOf(ratios: readonly number[]): Pick<Ratio, "low" | "high"> {
  const all = sorted(ratios);
  return { low: at(all, TAIL), high: at(all, 1 - TAIL) };
}

function middleOf(slices: readonly Slice[], of: (slice: Slice) => readonly number[]): number {
  return at(sorted(slices.flatMap(of)), QUANTILES.p50);
}

function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** @returns NaN if there are no values */
function at(ordered: Float64Array, share: number): number {
  return ordered[Math.min(ordered.length - 1, Math.floor(share * ordered.length))] ?? NaN;
}
