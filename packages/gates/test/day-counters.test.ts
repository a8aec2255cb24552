import { expect, test } from "@jest/globals";
import { Scrape } from "@event-anchoring/testkit/clients";
import { countersOf, grownApart } from "../src/day/day-counters.ts";
import type { CountedAnswers } from "../src/day/day-counters.ts";

/** Two nodes that have counted alike. */
function countersAt(saves: number, dials: number, seconds: number): ReturnType<typeof countersOf> {
  const text = [
    "# TYPE saves_total counter",
    `saves_total ${saves}`,
    `events_total{event="dialled",peer="n1"} ${dials}`,
    `events_total{event="dialled",peer="n2"} ${dials}`,
    `write_seconds_sum{peer="n1"} ${seconds}`,
    `write_seconds_bucket{le="1"} ${saves}`,
    `open_files ${saves}`,
  ].join("\n");
  return countersOf([new Scrape(text), new Scrape(text)]);
}

const BEFORE = countersAt(100, 7, 1);

test("counters are sums over nodes and peers; what may fall, and buckets, are none", () => {
  expect(Object.fromEntries(BEFORE)).toEqual({
    saves_total: 200,
    'events_total{event="dialled"}': 28,
    write_seconds_sum: 2,
  });
});

test("what an old cluster counts more or less of for each answer is told, what differs most first", () => {
  const young: CountedAnswers = { before: BEFORE, after: countersAt(1100, 17, 2), answers: 2000 };
  const old: CountedAnswers = { before: BEFORE, after: countersAt(850, 107, 1.5), answers: 1000 };
  expect(grownApart(young, old)).toEqual([
    { name: 'events_total{event="dialled"}', first: 20, last: 400 },
    { name: "saves_total", first: 1000, last: 1500 },
  ]);
});

test("what happened a few times, or is not known, is not told", () => {
  const young: CountedAnswers = { before: BEFORE, after: countersAt(109, 7, 1.01), answers: 1000 };
  const old: CountedAnswers = { before: BEFORE, after: countersAt(101, 9, 1.09), answers: 1000 };
  expect(grownApart(young, old)).toEqual([]);
  const grown: CountedAnswers = { before: BEFORE, after: countersAt(1000, 7, 1), answers: 1000 };
  expect(grownApart(young, grown)).toHaveLength(1);
  expect(grownApart(young, { ...grown, before: null })).toBeNull();
});
