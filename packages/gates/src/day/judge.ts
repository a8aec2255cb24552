/** Whether a day has left memory, disk and latency as they were. Pure: the same slices give the same verdicts. */
import { Seeded } from "@event-anchoring/simulator";

/** What was read in some seconds of the day. */
export interface Slice {
  /** What answered requests took, by kind, in milliseconds. */
  readonly latencies: Readonly<Record<string, readonly number[]>>;
  /** Bytes, or bytes for each anchor, by what they are. */
  readonly sizes: Readonly<Record<string, number>>;
  /** What the nodes took of the processors, in milliseconds, by what took it. NaN: not known, as while it is down. */
  readonly processorMs: Readonly<Record<string, number>>;
}

/** The beginning and the end of a day, or what was read of a young and an old cluster at the same time. */
export interface DayParts {
  readonly first: readonly Slice[];
  readonly last: readonly Slice[];
}

/**
 * `holds`: at most the limit, also by the upper bound. `broken`: above it, also by the lower bound. `undecided`: the
 * noise leaves it open, or there were too few samples.
 */
export type RatioVerdict = "holds" | "broken" | "undecided";

/** The end ÷ the beginning, or the old cluster ÷ the young one. */
export interface Ratio {
  readonly group: "memory and disk" | "processor time" | "p50" | "p99";
  readonly name: string;
  /** Bytes or milliseconds. */
  readonly first: number;
  readonly last: number;
  /** NaN: there is none. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: RatioVerdict;
  /** Why it is undecided; else null. */
  readonly reason: string | null;
  /** What the figure is the sum of, the largest growth first: it tells where to look, and is not judged. */
  readonly parts: readonly Part[];
}

/** A part of a figure, at the beginning and at the end. */
export interface Part extends Read {
  readonly name: string;
}

export const RATIO_MAX = 1.1;
/** With fewer slices of a part, how they differ among themselves is not known. */
const SLICES_MIN = 6;
const SAMPLES_MIN = { p50: 60, p99: 500 } as const;
const QUANTILES = { p50: 0.5, p99: 0.99 } as const;
const GROUPS = ["p50", "p99"] as const;
/** The geometric mean of the p50s of all kinds: seven times as many requests tell more than those of one kind. */
export const ALL_KINDS = "all kinds together";
/** A day has to decide these. */
const WANTED: readonly Ratio["group"][] = ["memory and disk", "processor time", "p50"];
const RESAMPLES = 200;
/** The bounds leave out so much at each end. */
const TAIL = 0.01;

/**
 * @param space the beginning and the end: memory and disk are compared in these
 * @param time a young and an old cluster at the same time: processor time and latency are compared in these
 * @param steps by size: growth by less than so much is how it moves anyhow, and no growth. Default: 0
 * @param momentary sizes that follow what is asked in the same minute: they are compared as time is
 */
export function judge(
  space: DayParts,
  time: DayParts,
  steps: Readonly<Record<string, number>> = {},
  momentary: readonly string[] = [],
): readonly Ratio[] {
  const sizes = namesOf(space, ({ sizes: held }) => held);
  const together = alignedOf(time);
  const others = pairedResamples(together);
  const kinds = namesOf(time, ({ latencies }) => latencies).map((kind) => latencyOf(kind, together, others));
  return [
    ...sizes.map((name) => sizeRatio(name, momentary.includes(name) ? together : space, steps[name] ?? 0)),
    processorRatio(together),
    allKindsRatio(kinds),
    ...kinds.flatMap((kind) => latencyRatios(kind)),
  ];
}

/**
 * Whether a day has judged enough to count: memory, disk, processor time and the p50s together are decided. A kind of
 * its own may be left open, and is a failure if it is above the limit.
 */
export function isEnoughDecided(ratios: readonly Ratio[]): boolean {
  const isWanted = ({ group, name }: Ratio): boolean =>
    WANTED.includes(group) && (group !== "p50" || name === ALL_KINDS);
  const wanted = ratios.filter(isWanted);
  const isComplete = WANTED.every((each) => wanted.some(({ group }) => group === each));
  return isComplete && wanted.every(({ verdict }) => verdict !== "undecided");
}

function namesOf({ first, last }: DayParts, of: (slice: Slice) => object): readonly string[] {
  return [...new Set([...first, ...last].flatMap((slice) => Object.keys(of(slice))))].sort();
}

function sizeRatio(name: string, parts: DayParts, step: number): Ratio {
  const read = (slices: readonly Slice[]): readonly Slice[] => slices.filter(({ sizes }) => sizes[name] !== undefined);
  const known = { first: read(parts.first), last: read(parts.last) };
  const middle = (slices: readonly Slice[]): number =>
    at(sorted(slices.map(({ sizes }) => sizes[name] ?? NaN)), QUANTILES.p50);
  const [first, last] = [middle(known.first), middle(known.last)];
  const figures = { group: "memory and disk", name, first, last, parts: [] } as const;
  if (isShort(known)) return undecided(figures, "too few slices");
  const ratio = last / first;
  if (last - first <= step) return { ...figures, ratio, low: ratio, high: ratio, verdict: "holds", reason: null };
  const others = resamples(known).map((other) => middle(other.last) / middle(other.first));
  return decided({ ...figures, ratio, ...boundsOf(others) }, true);
}

/** What nodes take of the processors for each answered request. */
function processorRatio(parts: DayParts): Ratio {
  const known = knownOf(parts);
  const { nodes, each } = processorOf(known);
  const figures = {
    group: "processor time",
    name: "for each request",
    ...nodes,
    parts: processorParts(known),
  } as const;
  if (isShort(known)) return undecided(figures, "too few slices of which the processor time is known");
  const least = Math.min(...[known.first, known.last].map((part) => sum(part, requestsOf)));
  if (least < SAMPLES_MIN.p50) return undecided(figures, `too few samples: ${least} of ${SAMPLES_MIN.p50}`);
  const bounds = boundsOf(pairedResamples(known).map((other) => growth(processorOf(other).nodes)));
  // Fewer requests share what nodes take without any.
  const isMoreInAll = growth(each) > 1 / RATIO_MAX;
  return decided({ ...figures, ratio: growth(nodes), ...bounds }, isMoreInAll);
}

/** The pairs of slices of which the processor time is known. */
function knownOf({ first, last }: DayParts): DayParts {
  const isKnown = (at: number): boolean =>
    [first[at], last[at]].every((slice) => slice !== undefined && !Number.isNaN(spentIn(slice)));
  return { first: first.filter((_, at) => isKnown(at)), last: last.filter((_, at) => isKnown(at)) };
}

/** Processor time for each request that was answered, and for each slice. */
function processorOf({ first, last }: DayParts): Readonly<Record<"nodes" | "each", Read>> {
  const read = (of: (part: readonly Slice[]) => number): Read => ({ first: of(first), last: of(last) });
  const nodesMs = (part: readonly Slice[]): number => sum(part, spentIn);
  return {
    nodes: read((part) => nodesMs(part) / sum(part, requestsOf)),
    each: read((part) => nodesMs(part) / part.length),
  };
}

/** Processor time of each kind of process for each request that was answered. */
function processorParts(parts: DayParts): readonly Part[] {
  const names = namesOf(parts, ({ processorMs }) => processorMs);
  const each = (slices: readonly Slice[], name: string): number =>
    sum(slices, ({ processorMs }) => processorMs[name] ?? NaN) / sum(slices, requestsOf);
  const told = names.map((name) => ({ name, first: each(parts.first, name), last: each(parts.last, name) }));
  return told.sort((left, right) => right.last - right.first - (left.last - left.first));
}

function spentIn({ processorMs }: Slice): number {
  return Object.values(processorMs).reduce((total, ms) => total + ms, 0);
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

type Quantiles = Readonly<Record<(typeof GROUPS)[number], Read>>;

/** What requests of a kind took. */
interface Latency {
  readonly kind: string;
  /** In the part that has fewer. */
  readonly samples: number;
  readonly own: Quantiles;
  /** As they might have been; none if there are too few slices. */
  readonly others: readonly Quantiles[];
}

function latencyOf(kind: string, parts: DayParts, others: readonly DayParts[]): Latency {
  const ordered = (part: readonly Slice[]): Float64Array =>
    sorted(([] as number[]).concat(...part.map(({ latencies }) => latencies[kind] ?? [])));
  const quantiles = ({ first, last }: DayParts): Quantiles => {
    const [before, after] = [ordered(first), ordered(last)];
    const read = (share: number): Read => ({ first: at(before, share), last: at(after, share) });
    return { p50: read(QUANTILES.p50), p99: read(QUANTILES.p99) };
  };
  const samples = Math.min(...[parts.first, parts.last].map((part) => ordered(part).length));
  return { kind, samples, own: quantiles(parts), others: others.map(quantiles) };
}

function allKindsRatio(kinds: readonly Latency[]): Ratio {
  const middle = (of: (latency: Latency) => number | undefined): number =>
    Math.exp(kinds.reduce((total, latency) => total + Math.log(of(latency) ?? NaN), 0) / kinds.length);
  const middles = (of: (latency: Latency) => Quantiles | undefined): Read => ({
    first: middle((latency) => of(latency)?.p50.first),
    last: middle((latency) => of(latency)?.p50.last),
  });
  const figures = { group: "p50", name: ALL_KINDS, ...middles(({ own }) => own), parts: [] } as const;
  const drawn = kinds[0]?.others.map((_, draw) => growth(middles(({ others }) => others[draw]))) ?? [];
  if (drawn.length === 0) return undecided(figures, "too few slices");
  const least = Math.min(...kinds.map(({ samples }) => samples));
  if (least < SAMPLES_MIN.p50) return undecided(figures, `too few samples of a kind: ${least} of ${SAMPLES_MIN.p50}`);
  return decided({ ...figures, ratio: growth(figures), ...boundsOf(drawn) }, true);
}

function latencyRatios({ kind, samples, own, others }: Latency): readonly Ratio[] {
  return GROUPS.map((group) => {
    const figures = { group, name: kind, ...own[group], parts: [] };
    if (others.length === 0) return undecided(figures, "too few slices");
    const wanted = SAMPLES_MIN[group];
    if (samples < wanted) return undecided(figures, `too few samples: ${samples} of ${wanted}`);
    const bounds = boundsOf(others.map((other) => growth(other[group])));
    return decided({ ...figures, ratio: growth(own[group]), ...bounds }, true);
  });
}

function growth({ first, last }: Read): number {
  return last / first;
}

type NamedGrowth = Pick<Ratio, "group" | "name" | "first" | "last" | "parts">;

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

/** As many slices of one as of the other, from their common beginning on: each pair is of the same seconds. */
function alignedOf({ first, last }: DayParts): DayParts {
  const length = Math.min(first.length, last.length);
  return { first: first.slice(0, length), last: last.slice(0, length) };
}

/** Parts as they might have been: their slices drawn anew, some of them twice and some not at all. */
function resamples({ first, last }: DayParts): readonly DayParts[] {
  if (isShort({ first, last })) return [];
  const dice = new Seeded(1, 17);
  const drawn = (slices: readonly Slice[]): readonly Slice[] => slices.map(() => dice.pick(slices));
  return Array.from({ length: RESAMPLES }, () => ({ first: drawn(first), last: drawn(last) }));
}

/** Pairs of slices drawn anew: what the machine did in the same seconds stays with both. */
function pairedResamples({ first, last }: DayParts): readonly DayParts[] {
  if (isShort({ first, last })) return [];
  const dice = new Seeded(1, 17);
  const pairs = first.flatMap((slice, at) => (last[at] === undefined ? [] : [{ first: slice, last: last[at] }]));
  return Array.from({ length: RESAMPLES }, () => {
    const drawn = pairs.map(() => dice.pick(pairs));
    return { first: drawn.map((pair) => pair.first), last: drawn.map((pair) => pair.last) };
  });
}

/** How far a ratio lies from what other slices like these would have given. */
function boundsOf(ratios: readonly number[]): Pick<Ratio, "low" | "high"> {
  const all = sorted(ratios);
  return { low: at(all, TAIL), high: at(all, 1 - TAIL) };
}

function sorted(values: readonly number[]): Float64Array {
  return new Float64Array(values).sort();
}

/** @returns NaN if there are no values */
function at(ordered: Float64Array, share: number): number {
  return ordered[Math.min(ordered.length - 1, Math.floor(share * ordered.length))] ?? NaN;
}
