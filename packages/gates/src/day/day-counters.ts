/** What the nodes of a cluster have counted, and what an old cluster's count more of than a young one's. Not judged. */
import type { Scrape } from "@event-anchoring/testkit/clients";
import type { Part } from "./judge.ts";

/** Sums over nodes, by series. */
export type Counters = ReadonlyMap<string, number>;

/** What a cluster has counted in a time in which it answered so much. */
export interface CountedAnswers {
  /** null: a node did not tell. */
  readonly before: Counters | null;
  readonly after: Counters | null;
  readonly answers: number;
}

const PER_ANSWERS = 1000;
/** What differs by less says nothing. */
const RATIO_MIN = 1.2;
/** In the cluster that has more of it: what happens more seldom, differs by chance. */
const EVENTS_MIN = 20;
const SECONDS_MIN = 0.2;
const TOLD_MAX = 12;

export function countersOf(scrapes: readonly Scrape[]): Counters {
  const sums = new Map<string, number>();
  for (const [series, value] of scrapes.flatMap((scrape) => [...scrape.counters()])) {
    sums.set(series, (sums.get(series) ?? 0) + value);
  }
  return sums;
}

/** What differs most, for each 1,000 answers: young, then old. null: a node did not tell what it has counted. */
export function grownApart(young: CountedAnswers, old: CountedAnswers): readonly Part[] | null {
  const [ofYoung, ofOld] = [growthOf(young), growthOf(old)];
  if (ofYoung === null || ofOld === null) return null;
  const names = [...new Set([...ofYoung.keys(), ...ofOld.keys()])].sort();
  const told = names.flatMap((name) => {
    const [first, last] = [ofYoung.get(name) ?? 0, ofOld.get(name) ?? 0];
    const least = /_seconds_(?:sum|total)/u.test(name) ? SECONDS_MIN : EVENTS_MIN;
    if (Math.max(first, last) < least) return [];
    return [{ name, first: (first / young.answers) * PER_ANSWERS, last: (last / old.answers) * PER_ANSWERS }];
  });
  const apart = (part: Part): number => Math.max(part.last / part.first, part.first / part.last);
  return told
    .filter((part) => apart(part) >= RATIO_MIN)
    .sort((left, right) => apart(right) - apart(left))
    .slice(0, TOLD_MAX);
}

function growthOf({ before, after }: CountedAnswers): Counters | null {
  if (before === null || after === null) return null;
  return new Map([...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)]));
}
