import { RATIO_MAX, isEnoughDecided } from "../day/judge.ts";
import type { Part, Ratio } from "../day/judge.ts";
import { liveDay } from "../day/live-day.ts";
import type { DayResult, JudgedDay } from "../day/live-day.ts";
import type { Figures, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

const GROUPS = ["memory and disk", "processor time", "p50", "p99"] as const;
const JUDGED = "minutes judged";
const SHARE = "processors that the nodes took, in %";
const SHOWN = 5;

/** The worst ratio of a group, in percent, times the minutes of the day; and these minutes. */
function namesOf(group: Ratio["group"]): { readonly worst: string; readonly minutes: string } {
  const compared = group === "memory and disk" ? "in the end, in % of the beginning" : "in % of a young cluster's";
  return { worst: `${group} ${compared}, the worst`, minutes: `minutes with ${group} judged` };
}

/** A batch is one day of one cluster, with a second one beside it in the end. */
export const DAYS: Gate = {
  name: "days",
  counts:
    "minutes of days of ordinary load that were judged and had no failure, with restarts, rotations, members, " +
    "backups, restores and erasures",
  fails:
    `memory, disk, processor time or latency that grows to above ${RATIO_MAX}, a lost record, ` +
    "an unplanned 5xx or end",
  toReach: 1440,
  firstStop: 120,
  sources: [
    ...SERVICE_SOURCES,
    "packages/cli/src",
    "packages/provision/src",
    "packages/sdk-typescript/src",
    "packages/verdicts/src",
  ],
  means: Object.fromEntries([
    [SHARE, JUDGED],
    ...GROUPS.map(namesOf).map(({ worst, minutes }) => [worst, minutes] as const),
  ]),
  missing: () => (process.platform === "linux" ? null : "memory is what /proc says"),
  run: async ({ from: seed, forMs, isOver, note, fail, say }) => {
    let minutes = 0;
    const result = await liveDay({ seed, forMs, isOver, onMinute: () => (minutes += 1), say });
    const { count, figures, failures, verdict } = accountOf(result, minutes);
    note(count, seed, figures);
    for (const line of linesOf(result.judged?.ratios ?? [])) say(line);
    if (result.judged !== null) say(`  ${countedOf(result.judged)}`);
    say(`  ${verdict}`);
    for (const what of failures) fail({ seed: `${seed}`, what });
  },
};

/** What a day adds to the gate. */
interface Account {
  /** Minutes that count: all of them, or none. */
  readonly count: number;
  readonly figures: Figures;
  readonly failures: readonly string[];
  /** For the person who watches. */
  readonly verdict: string;
}

/** A day is known in the end alone: until then it may still not be judged, or fail. */
export function accountOf(result: DayResult, minutes: number): Account {
  const { judged } = result;
  const failures = failuresOf(result);
  const isJudged = judged !== null && isEnoughDecided(judged.ratios);
  const figures = figuresOf(result, isJudged ? minutes : 0);
  if (failures.length > 0) {
    const verdict = `${minutes} minutes do not count: the day has a failure`;
    return { count: 0, figures: { ...figures, "minutes of days with a failure": minutes }, failures, verdict };
  }
  if (isJudged) return { count: minutes, figures, failures, verdict: `${minutes} minutes count` };
  const why = judged === null ? "the day was cut off, or too short for this machine" : "too many ratios are undecided";
  const verdict = `${minutes} minutes do not count: ${why}`;
  return { count: 0, figures: { ...figures, "minutes not judged": minutes }, failures, verdict };
}

/** @param minutes those that were judged */
function figuresOf({ judged, turns, anchored, answered, askedAgain, heads }: DayResult, minutes: number): Figures {
  const ratios = judged?.ratios ?? [];
  const verdicts = (wanted: Ratio["verdict"]): number => ratios.filter(({ verdict }) => verdict === wanted).length;
  const share =
    judged === null || Number.isNaN(judged.share) ? {} : { [JUDGED]: minutes, [SHARE]: 100 * judged.share * minutes };
  const worst = Object.fromEntries(GROUPS.flatMap((group) => Object.entries(worstOf(ratios, group, minutes))));
  return {
    ...turns,
    "acknowledged and audited": anchored,
    "requests answered": answered,
    "asked again after a 503 with a reason, or no answer": askedAgain,
    "heads followed": heads,
    ...(minutes === 0 ? {} : { ...share, ...worst }),
    "ratios that hold": verdicts("holds"),
    "ratios undecided": verdicts("undecided"),
    "ratios broken": verdicts("broken"),
  };
}

/** The worst ratio that could be told. A mean over minutes: batches add up what each has, times its minutes. */
function worstOf(ratios: readonly Ratio[], wanted: Ratio["group"], minutes: number): Figures {
  const told = ratios.filter(({ group, ratio }) => group === wanted && !Number.isNaN(ratio));
  if (told.length === 0) return {};
  const names = namesOf(wanted);
  return { [names.worst]: 100 * minutes * Math.max(...told.map(({ ratio }) => ratio)), [names.minutes]: minutes };
}

function linesOf(ratios: readonly Ratio[]): readonly string[] {
  return ratios.map(({ group, name, first, last, ratio, low, high, verdict, reason, parts }) => {
    const grown = Number.isNaN(ratio) ? "" : `, ${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
    const why = reason === null ? "" : `, ${reason}`;
    const told = parts.length === 0 ? "" : ` (${toldOf(parts)})`;
    return `  ${group}, ${name}: ${figure(first)} to ${figure(last)}${grown}: ${verdict}${why}${told}`;
  });
}

function toldOf(parts: readonly Part[]): string {
  return parts.map(({ name, first, last }) => `${name} ${figure(first)} to ${figure(last)}`).join(", ");
}

function countedOf({ counters }: JudgedDay): string {
  if (counters === null) return "what the nodes counted is not known";
  return `counted for 1,000 answers, young to old: ${counters.length === 0 ? "alike" : toldOf(counters)}`;
}

function failuresOf({ broken, judged }: DayResult): readonly string[] {
  const more = broken.length > SHOWN ? [`and ${broken.length - SHOWN} more`] : [];
  return [...(judged === null ? [] : brokenRatios(judged)), ...broken.slice(0, SHOWN), ...more];
}

/** The first one of time is told with what the nodes counted meanwhile. */
function brokenRatios(judged: JudgedDay): readonly string[] {
  const above = judged.ratios.filter(({ verdict }) => verdict === "broken");
  const firstOfTime = above.findIndex(({ group }) => group !== "memory and disk");
  return linesOf(above).map((line, at) => `${line.trim()}${at === firstOfTime ? `; ${countedOf(judged)}` : ""}`);
}

function figure(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}
