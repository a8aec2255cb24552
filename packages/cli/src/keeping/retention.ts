/** Which of many backups are kept: how many of the newest, and one for each of so many days, weeks and months. */

export interface Retention {
  readonly last: number;
  readonly daily: number;
  readonly weekly: number;
  readonly monthly: number;
}

const DAY_MS = 86_400_000;
/** Unix time begins on a Thursday; weeks begin on Mondays. */
const MONDAY_OFFSET_DAYS = 3;

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
const weekOf = (ms: number): number => Math.floor((dayOf(ms) + MONDAY_OFFSET_DAYS) / 7);
const monthOf = (ms: number): number => {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
};

/**
 * Days, weeks (from Monday) and months are those of UTC. Each keeps its newest backup; those without one do not count,
 * so that a pause takes nothing away.
 * @param times when backups were taken, Unix milliseconds, in any order
 * @returns those to keep
 */
export function keptTimes(times: readonly number[], { last, daily, weekly, monthly }: Retention): ReadonlySet<number> {
  const newestFirst = times.toSorted((a, b) => b - a);
  const kept = new Set(newestFirst.slice(0, last));
  for (const [periodOf, count] of [
    [dayOf, daily],
    [weekOf, weekly],
    [monthOf, monthly],
  ] as const) {
    const seen = new Set<number>();
    for (const time of newestFirst) {
      if (seen.size >= count) break;
      if (!seen.has(periodOf(time))) kept.add(time);
      seen.add(periodOf(time));
    }
  }
  return kept;
}
