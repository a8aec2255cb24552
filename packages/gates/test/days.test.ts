import { describe, expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import { complaintAbout } from "../src/day/day-load.ts";
import { isEnoughDecided, judge } from "../src/day/judge.ts";
import type { Ratio, Slice } from "../src/day/judge.ts";
import type { DayResult } from "../src/day/live-day.ts";
import { unplannedEnds } from "../src/day/turns.ts";
import { accountOf } from "../src/gates/days.ts";

// What a day is judged by, on series that were made up: what was planted is found, and nothing else.

const SLICES = 12;
const DAYS = 8;
const MB = 1e6;

interface Series {
  readonly memory: number;
  /** Milliseconds of half of the requests; one in twenty takes six times as long. */
  readonly event: number;
  readonly yardstick: number;
  readonly events: number;
  /** Milliseconds of processor time of a slice without any request, and for each request of nodes and yardstick. */
  readonly idle: number;
  readonly each: number;
  readonly yardstickEach: number;
}

const USUAL: Series = {
  memory: 300 * MB,
  event: 12,
  yardstick: 2,
  events: 60,
  idle: 400,
  each: 30,
  yardstickEach: 1.5,
};
const YARDSTICKS = 50;
const PROCESSOR = "processor time for each request";

/** A part of a day that is like that, but for noise. */
function part(seed: number, over: Partial<Series> = {}, slices = SLICES): readonly Slice[] {
  const dice = new Seeded(seed);
  const { memory, event, yardstick, events, idle, each, yardstickEach } = { ...USUAL, ...over };
  const took = (usual: number): number => usual * dice.between(0.7, 1.6) * (dice.chance(0.05) ? 6 : 1);
  return Array.from({ length: slices }, () => ({
    latencies: { event: Array.from({ length: events }, () => took(event)) },
    yardstick: Array.from({ length: YARDSTICKS }, () => took(yardstick)),
    sizes: { memory: memory * dice.between(0.99, 1.01) },
    processor: {
      nodes: (idle + each * events) * dice.between(0.95, 1.05),
      yardstick: yardstickEach * YARDSTICKS * dice.between(0.98, 1.02),
    },
  }));
}

function verdicts(ratios: readonly Ratio[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ratios.map(({ group, name, verdict }) => [`${group} ${name}`, verdict]));
}

/** How often each verdict was given, over many days alike. */
function often(over: Partial<Series>, name: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let seed = 1; seed <= DAYS; seed++) {
    const verdict = verdicts(judge({ first: part(seed), last: part(seed + 100, over) }))[name] ?? "none";
    counts[verdict] = (counts[verdict] ?? 0) + 1;
  }
  return counts;
}

describe("a day that ends as it began", () => {
  test("is never found to be above the limit, whatever the noise", () => {
    for (const name of ["memory and disk memory", PROCESSOR]) expect(often({}, name)).toEqual({ holds: DAYS });
    for (const name of ["p50 event", "p99 event"]) expect(often({}, name)["broken"]).toBeUndefined();
    expect(often({}, "p50 event")["holds"]).toBeGreaterThan(DAYS / 2);
  });

  test("is not slower because its machine was, as long as the yardstick says so", () => {
    const busy = { event: 15, yardstick: 2.5 };
    for (const name of ["p50 event", "p99 event"]) expect(often(busy, name)["broken"]).toBeUndefined();
  });

  test("takes no more of the processors because each of their cycles does less, as the yardstick says", () => {
    expect(often({ each: 36, idle: 480, yardstickEach: 1.8 }, PROCESSOR)).toEqual({ holds: DAYS });
  });

  test("takes no more of them because fewer requests share what it takes without any", () => {
    expect(often({ events: 20 }, PROCESSOR)["broken"]).toBeUndefined();
  });

  test("is not slower because the yardstick was quicker", () => {
    expect(often({ yardstick: 1.6 }, "p50 event")["broken"]).toBeUndefined();
  });

  test("holds with an eighth of the slices on a machine that did something else", () => {
    const disturbed = part(3).map((slice, at) =>
      at < 2 ? (part(9, { event: 400, yardstick: 60 })[0] ?? slice) : slice,
    );
    expect(verdicts(judge({ first: part(1), last: disturbed }))).toMatchObject({ "p50 event": "holds" });
  });
});

describe("a day in which something grew", () => {
  test.each([
    ["memory by a fifth", { memory: 360 * MB }, "memory and disk memory"],
    ["memory by an eighth", { memory: 338 * MB }, "memory and disk memory"],
    ["processor time by a fifth", { each: 37 }, PROCESSOR],
    ["processor time by a half, with a yardstick that waits for it", { each: 48, event: 24, yardstick: 6 }, PROCESSOR],
    ["latency by a third", { event: 16 }, "p50 event"],
    ["latency to the threefold", { event: 36 }, "p99 event"],
  ])("is found: %s", (_what, over, name) => {
    expect(often(over, name)).toEqual({ broken: DAYS });
  });

  test("is found though the machine became slower too", () => {
    expect(often({ event: 30, yardstick: 2.6 }, "p50 event")).toEqual({ broken: DAYS });
  });

  test("holds below the limit, and within a step that is named", () => {
    expect(often({ memory: 321 * MB }, "memory and disk memory")).toEqual({ holds: DAYS });
    const grown = { first: part(1), last: part(2, { memory: 360 * MB }) };
    expect(verdicts(judge(grown, { memory: 70 * MB }))["memory and disk memory"]).toBe("holds");
    expect(verdicts(judge(grown, { memory: 50 * MB }))["memory and disk memory"]).toBe("broken");
  });
});

describe("a day that says too little", () => {
  test("is undecided: few slices, few requests, or a machine that was busy all the time", () => {
    const reasons = (first: readonly Slice[], last: readonly Slice[]): readonly (string | null)[] =>
      judge({ first, last }).map(({ verdict, reason }) => (verdict === "undecided" ? reason : verdict));
    expect(reasons(part(1), part(2, {}, 5))).toEqual([
      "too few slices",
      "too few slices of which the processor time is known",
      "too few slices in which the machine was calm",
      "too few slices in which the machine was calm",
    ]);
    expect(reasons(part(1, { events: 10 }), part(2, { events: 4 }))).toEqual([
      "holds",
      "too few samples: 48 of 60",
      "too few samples: 48 of 60",
      "too few samples: 48 of 500",
    ]);
    const unknown = part(2).map((slice) => ({ ...slice, processor: { nodes: NaN, yardstick: 1 } }));
    expect(reasons(part(1), unknown)[1]).toBe("too few slices of which the processor time is known");
    const busy = part(2, { event: 300, yardstick: 60 });
    expect(reasons(part(1), busy).slice(2)).toEqual([
      "too few slices in which the machine was calm",
      "too few slices in which the machine was calm",
    ]);
  });

  test("has memory judged all the same", () => {
    const leaking = part(2, { event: 300, yardstick: 60, memory: 400 * MB });
    expect(verdicts(judge({ first: part(1), last: leaking }))["memory and disk memory"]).toBe("broken");
  });
});

describe("minutes of a day", () => {
  const day: DayResult = {
    broken: [],
    judged: { ratios: judge({ first: part(1), last: part(2) }), share: 0.4 },
    turns: {},
    anchored: 1000,
    answered: 2000,
    askedAgain: 0,
    heads: 10,
  };
  const judgedAs = (last: readonly Slice[]): DayResult => ({
    ...day,
    judged: { ratios: judge({ first: part(1), last }), share: 0.4 },
  });

  test("count if the day was judged and nothing was wrong", () => {
    expect(accountOf(day, 10)).toMatchObject({
      count: 10,
      failures: [],
      figures: { "minutes judged": 10, "ratios that hold": 4, "ratios undecided": 0, "ratios broken": 0 },
    });
  });

  test("do not count if it was not judged", () => {
    const account = accountOf({ ...day, judged: null }, 10);
    expect(account).toMatchObject({ count: 0, failures: [], figures: { "minutes not judged": 10 } });
    expect(account.figures).not.toHaveProperty("minutes judged");
  });

  test("do not count if too much of it is undecided: latency on a busy machine, or memory", () => {
    const busy = accountOf(judgedAs(part(2, { event: 300, yardstick: 60 })), 10);
    expect(busy).toMatchObject({ count: 0, failures: [] });
    expect(busy.figures).toMatchObject({ "minutes not judged": 10, "ratios that hold": 2, "ratios undecided": 2 });
    const unread = accountOf(judgedAs(part(2).map((slice, at) => (at < 8 ? { ...slice, sizes: {} } : slice))), 10);
    expect(unread).toMatchObject({ count: 0, failures: [], figures: { "minutes not judged": 10 } });
  });

  test("do not count if something was wrong: a turn that failed, or a ratio above the limit", () => {
    const turn = { ...day, judged: null, broken: ["erasures: Error: not so after 600000 ms"] };
    expect(accountOf(turn, 20)).toMatchObject({ count: 0, failures: turn.broken });
    const grown = accountOf(judgedAs(part(2, { memory: 400 * MB })), 10);
    expect(grown.failures).toHaveLength(1);
    expect(grown).toMatchObject({ count: 0, figures: { "minutes of days with a failure": 10, "ratios broken": 1 } });
  });

  test("are judged enough if memory, disk and processor are decided, and half of the p50s", () => {
    const ratio = (group: Ratio["group"], verdict: Ratio["verdict"]): Ratio => {
      return { group, name: "", first: 1, last: 1, ratio: 1, low: 1, high: 1, verdict, reason: null };
    };
    const steady = [ratio("memory and disk", "holds"), ratio("processor time", "holds")];
    const [held, open] = [ratio("p50", "holds"), ratio("p50", "undecided")];
    expect(isEnoughDecided([...steady, held, open, ratio("p99", "undecided")])).toBe(true);
    expect(isEnoughDecided([...steady, held, open, open])).toBe(false);
    expect(isEnoughDecided(steady)).toBe(false);
    expect(isEnoughDecided([ratio("memory and disk", "holds"), ratio("processor time", "undecided"), held])).toBe(
      false,
    );
    expect(isEnoughDecided([ratio("memory and disk", "undecided"), ratio("processor time", "holds"), held])).toBe(
      false,
    );
  });
});

describe("an answer", () => {
  test.each([
    [201, "{}", null],
    [0, "ECONNREFUSED", null],
    [503, '{"code":"no_leader"}', null],
    [503, "no", "event: answered 503: no"],
    [500, '{"code":"internal_error"}', 'event: answered 500: {"code":"internal_error"}'],
    [504, '{"code":"timeout"}', 'event: answered 504: {"code":"timeout"}'],
  ])("of %i %s is judged", (status, text, complaint) => {
    expect(complaintAbout("event", { status, text })).toBe(complaint);
  });
});

test("a process that ended by itself is told, and a node that was retired is none", () => {
  const retired = "control_plane: fenced, not started again: retired: trust-root version 4 says that it is retired";
  const ended = ["n4 api: ended with SIGSEGV; next start in 250 ms", "n2 postgres: ended with code 1", `n1 ${retired}`];
  expect(unplannedEnds([`n4 ${retired}`, ...ended], ["n1", "n2", "n3"])).toEqual(ended);
});
