import { describe, expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import { complaintAbout } from "../src/day/day-load.ts";
import { ALL_KINDS, isEnoughDecided, judge } from "../src/day/judge.ts";
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
  readonly events: number;
  /** Milliseconds of processor time of a slice without any request, and for each request. */
  readonly idle: number;
  readonly each: number;
  /** How much slower the machine is than it could be, slice by slice. */
  readonly machine: (slice: number) => number;
}

const USUAL: Series = { memory: 300 * MB, event: 12, events: 60, idle: 400, each: 30, machine: () => 1 };
const PROCESSOR = "processor time for each request";

/** A part of a day that is like that, but for noise. */
function part(seed: number, over: Partial<Series> = {}, slices = SLICES): readonly Slice[] {
  const dice = new Seeded(seed);
  const { memory, event, events, idle, each, machine } = { ...USUAL, ...over };
  return Array.from({ length: slices }, (_, at) => {
    const took = (usual: number): number => machine(at) * usual * dice.between(0.7, 1.6) * (dice.chance(0.05) ? 6 : 1);
    return {
      latencies: { event: Array.from({ length: events }, () => took(event)) },
      sizes: { memory: memory * dice.between(0.99, 1.01) },
      processorMs: { nodes: machine(at) * (idle + each * events) * dice.between(0.95, 1.05) },
    };
  });
}

const DAY: DayResult = {
  broken: [],
  judged: null,
  turns: {},
  anchored: 1000,
  answered: 2000,
  askedAgain: 0,
  heads: 10,
};

/** The ratios if space and time have the same series. */
function judged(
  first: readonly Slice[],
  last: readonly Slice[],
  steps: Readonly<Record<string, number>> = {},
): readonly Ratio[] {
  return judge({ first, last }, { first, last }, steps);
}

function verdicts(ratios: readonly Ratio[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ratios.map(({ group, name, verdict }) => [`${group} ${name}`, verdict]));
}

/** How often each verdict was given, over many days alike. */
function often(
  over: Partial<Series>,
  name: string,
  machine: Series["machine"] = USUAL.machine,
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let seed = 1; seed <= DAYS; seed++) {
    const ratios = judged(part(seed, { machine }), part(seed + 100, { ...over, machine }));
    const verdict = verdicts(ratios)[name] ?? "none";
    counts[verdict] = (counts[verdict] ?? 0) + 1;
  }
  return counts;
}

/** It does something else for a while, and becomes slower and slower. */
const UNSTEADY: Series["machine"] = (slice) => (slice < 2 ? 8 : 1 + slice / 8);

describe("a day that ends as it began", () => {
  test("is never found to be above the limit, whatever the noise", () => {
    for (const name of ["memory and disk memory", PROCESSOR]) expect(often({}, name)).toEqual({ holds: DAYS });
    for (const name of ["p50 event", "p99 event"]) expect(often({}, name)["broken"]).toBeUndefined();
    expect(often({}, "p50 event")["holds"]).toBeGreaterThan(DAYS / 2);
  });

  test("takes no more because its machine does less: the young cluster has the same", () => {
    expect(often({}, PROCESSOR, UNSTEADY)).toEqual({ holds: DAYS });
    for (const name of ["p50 event", "p99 event"]) expect(often({}, name, UNSTEADY)["broken"]).toBeUndefined();
    expect(often({}, "p50 event", UNSTEADY)["holds"]).toBeGreaterThan(DAYS / 2);
  });

  test("takes no more of the processors because fewer requests share what it takes without any", () => {
    expect(often({ events: 20 }, PROCESSOR)["broken"]).toBeUndefined();
  });

  test("is compared over the seconds that both have", () => {
    const longer = [...part(2), ...part(3, { event: 400 }, 4)];
    expect(verdicts(judged(part(1), longer))).toMatchObject({ "p50 event": "holds" });
  });
});

describe("a day in which something grew", () => {
  test.each([
    ["memory by a fifth", { memory: 360 * MB }, "memory and disk memory"],
    ["memory by an eighth", { memory: 338 * MB }, "memory and disk memory"],
    ["processor time by a fifth", { each: 37 }, PROCESSOR],
    ["latency by a third", { event: 16 }, "p50 event"],
    ["latency by a third, together", { event: 16 }, `p50 ${ALL_KINDS}`],
    ["latency to the threefold", { event: 36 }, "p99 event"],
  ])("is found: %s", (_what, over, name) => {
    expect(often(over, name)).toEqual({ broken: DAYS });
  });

  test("is found without a young cluster, and counts nothing", () => {
    const space = { first: part(1), last: part(2, { memory: 360 * MB }) };
    const ratios = judge(space, { first: [], last: [] });
    expect(verdicts(ratios)).toMatchObject({ "memory and disk memory": "broken", [PROCESSOR]: "undecided" });
    const { count, failures } = accountOf({ ...DAY, judged: { ratios, share: 1, counters: null } }, 60);
    expect([count, failures]).toEqual([0, [expect.stringContaining("memory and disk, memory")]]);
    const alike = judge({ first: part(1), last: part(2) }, { first: [], last: [] });
    expect(accountOf({ ...DAY, judged: { ratios: alike, share: 1, counters: null } }, 60)).toMatchObject({
      count: 0,
      failures: [],
    });
  });

  test("is found though the machine became slower too", () => {
    expect(often({ event: 18 }, "p50 event", UNSTEADY)).toEqual({ broken: DAYS });
    expect(often({ each: 40 }, PROCESSOR, UNSTEADY)).toEqual({ broken: DAYS });
  });

  test("holds below the limit, and within a step that is named", () => {
    expect(often({ memory: 321 * MB }, "memory and disk memory")).toEqual({ holds: DAYS });
    const [first, last] = [part(1), part(2, { memory: 360 * MB })];
    expect(verdicts(judged(first, last, { memory: 70 * MB }))["memory and disk memory"]).toBe("holds");
    expect(verdicts(judged(first, last, { memory: 50 * MB }))["memory and disk memory"]).toBe("broken");
  });

  test("is found in processor time of all processes together, and told with what grew most", () => {
    const ofBoth = (api: number, postgres: number): readonly Slice[] =>
      part(1).map((slice) => ({ ...slice, processorMs: { api: 60 * api, Postgres: 60 * postgres } }));
    const counters = [{ name: "dials", first: 12, last: 240 }];
    const day = { ...DAY, judged: { ratios: judged(ofBoth(10, 20), ofBoth(11, 28)), share: 0.4, counters } };
    expect(accountOf(day, 10).failures).toEqual([
      "processor time, for each request: 30 to 39, 1.300 (1.300 to 1.300): broken (Postgres 20 to 28, api 10 to 11); " +
        "counted for 1,000 answers, young to old: dials 12 to 240",
    ]);
    const unknown = { ...day, judged: { ...day.judged, counters: null } };
    expect(accountOf(unknown, 10).failures).toEqual([expect.stringMatching(/; what the nodes counted is not known$/)]);
  });

  test("is found in memory from the beginning to the end, and in time from the young cluster to the old", () => {
    const space = { first: part(1), last: part(2, { memory: 400 * MB, event: 36 }) };
    const time = { first: part(3, { memory: 500 * MB }), last: part(4) };
    const found = verdicts(judge(space, time));
    expect(found).toMatchObject({ "memory and disk memory": "broken", "p50 event": "holds", [PROCESSOR]: "holds" });
  });
});

test("a size that follows what is asked in the same minute is compared as time is", () => {
  const [space, time] = [
    { first: part(1), last: part(2, { memory: 400 * MB }) },
    { first: part(3, { memory: 400 * MB }), last: part(4, { memory: 400 * MB }) },
  ];
  expect(verdicts(judge(space, time, {}, ["memory"]))).toMatchObject({ "memory and disk memory": "holds" });
  expect(verdicts(judge(time, space, {}, ["memory"]))).toMatchObject({ "memory and disk memory": "broken" });
});

describe("latency of all kinds together", () => {
  const KINDS = ["claim", "grant", "event", "batch", "latest", "verify", "revocation"];
  /** Slices with requests of seven kinds, alike but for noise. */
  const ofKinds = (seed: number, over: Partial<Series> = {}): readonly Slice[] => {
    const each = KINDS.map((kind, at) => ({ kind, slices: part(seed * KINDS.length + at, { events: 12, ...over }) }));
    return part(seed).map((slice, at) => {
      const latencies = each.map(({ kind, slices }) => [kind, slices[at]?.latencies["event"] ?? []]);
      return { ...slice, latencies: Object.fromEntries(latencies) };
    });
  };
  const verdictsOf = (last: readonly Slice[]): readonly Ratio["verdict"][] => {
    const middles = judged(ofKinds(1), last).filter(({ group }) => group === "p50");
    const isTogether = ({ name }: Ratio): boolean => name === ALL_KINDS;
    const ordered = [...middles.filter(isTogether), ...middles.filter((ratio) => !isTogether(ratio))];
    return ordered.map(({ verdict }) => verdict);
  };

  test("is decided where most kinds are not, having too few requests each", () => {
    const [together, ...middles] = verdictsOf(ofKinds(2));
    expect(together).toBe("holds");
    expect(middles.filter((verdict) => verdict === "undecided").length).toBeGreaterThan(KINDS.length / 2);
    expect(verdictsOf(ofKinds(2, { event: 15.5 }))[0]).toBe("broken");
  });

  test("is the geometric mean of the p50s", () => {
    const slices = (first: number, other: number): readonly Slice[] =>
      part(1).map((slice) => ({ ...slice, latencies: { claim: Array(6).fill(first), grant: Array(6).fill(other) } }));
    const ratio = judged(slices(10, 40), slices(20, 20)).find(({ name }) => name === ALL_KINDS);
    expect(ratio?.first).toBeCloseTo(20);
    expect(ratio?.last).toBeCloseTo(20);
    expect(ratio).toMatchObject({ group: "p50", verdict: "holds" });
  });
});

describe("a day that says too little", () => {
  const reasons = (first: readonly Slice[], last: readonly Slice[]): readonly (string | null)[] =>
    judged(first, last).map(({ verdict, reason }) => (verdict === "undecided" ? reason : verdict));

  test("is undecided: few slices, few requests, or processor time that is not known", () => {
    expect(reasons(part(1), part(2, {}, 5))).toEqual([
      "too few slices",
      "too few slices of which the processor time is known",
      "too few slices",
      "too few slices",
      "too few slices",
    ]);
    expect(reasons(part(1, { events: 10 }), part(2, { events: 4 }))).toEqual([
      "holds",
      "too few samples: 48 of 60",
      "too few samples of a kind: 48 of 60",
      "too few samples: 48 of 60",
      "too few samples: 48 of 500",
    ]);
    const unknown = part(2).map((slice, at) => (at < 8 ? { ...slice, processorMs: { nodes: NaN } } : slice));
    expect(reasons(part(1), unknown)[1]).toBe("too few slices of which the processor time is known");
  });

  test("has memory judged all the same", () => {
    const leaking = part(2, { events: 4, memory: 400 * MB });
    expect(verdicts(judged(part(1), leaking))["memory and disk memory"]).toBe("broken");
  });
});

describe("minutes of a day", () => {
  const busy = { events: 200 };
  const day: DayResult = { ...DAY, judged: { ratios: judged(part(1, busy), part(2, busy)), share: 0.4, counters: [] } };
  const judgedAs = (last: readonly Slice[]): DayResult => ({
    ...day,
    judged: { ratios: judged(part(1, busy), last), share: 0.4, counters: [] },
  });

  test("count if the day was judged and nothing was wrong", () => {
    expect(accountOf(day, 10)).toMatchObject({
      count: 10,
      failures: [],
      figures: { "minutes judged": 10, "ratios that hold": 5, "ratios undecided": 0, "ratios broken": 0 },
    });
  });

  test("do not count if it was not judged", () => {
    const account = accountOf({ ...day, judged: null }, 10);
    expect(account).toMatchObject({ count: 0, failures: [], figures: { "minutes not judged": 10 } });
    expect(account.figures).not.toHaveProperty("minutes judged");
  });

  test("do not count if too much of it is undecided: latency of few requests, or memory", () => {
    const idle = accountOf(judgedAs(part(2, { events: 4 })), 10);
    expect(idle).toMatchObject({ count: 0, failures: [] });
    expect(idle.figures).toMatchObject({ "minutes not judged": 10, "ratios that hold": 1, "ratios undecided": 4 });
    const unread = accountOf(
      judgedAs(part(2, busy).map((slice, at) => (at < 8 ? { ...slice, sizes: {} } : slice))),
      10,
    );
    expect(unread).toMatchObject({ count: 0, failures: [], figures: { "minutes not judged": 10 } });
  });

  test("do not count if something was wrong: a turn that failed, or a ratio above the limit", () => {
    const turn = { ...day, judged: null, broken: ["erasures: Error: not so after 600000 ms"] };
    expect(accountOf(turn, 20)).toMatchObject({ count: 0, failures: turn.broken });
    const grown = accountOf(judgedAs(part(2, { ...busy, memory: 400 * MB })), 10);
    expect(grown.failures).toHaveLength(1);
    expect(grown).toMatchObject({ count: 0, figures: { "minutes of days with a failure": 10, "ratios broken": 1 } });
  });

  test("are judged enough if memory, disk, processor time and the p50s together are decided", () => {
    const ratio = (group: Ratio["group"], verdict: Ratio["verdict"], name = ""): Ratio => {
      return { group, name, first: 1, last: 1, ratio: 1, low: 1, high: 1, verdict, reason: null, parts: [] };
    };
    const whole = [
      ratio("memory and disk", "holds"),
      ratio("processor time", "holds"),
      ratio("p50", "holds", ALL_KINDS),
    ];
    expect(isEnoughDecided([...whole, ratio("p50", "undecided"), ratio("p99", "undecided")])).toBe(true);
    for (const one of whole) {
      const open = { ...one, verdict: "undecided" } as const;
      expect(isEnoughDecided(whole.map((each) => (each === one ? open : each)))).toBe(false);
    }
    for (const one of whole) expect(isEnoughDecided(whole.filter((each) => each !== one))).toBe(false);
    expect(isEnoughDecided([])).toBe(false);
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
