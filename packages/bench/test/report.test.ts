import { describe, expect, test } from "@jest/globals";
import { ALL_SCENARIOS } from "../src/scenarios/all-scenarios.ts";
import { chosen, isOptIn, parseBenchOptions } from "../src/run/bench-options.ts";
import { benchCommand } from "../src/run/bench.ts";
import { mergedReport, parseReport, reportAsMarkdown, withFigures } from "../src/report/figures-document.ts";
import { number } from "../src/report/cells.ts";
import { GOALS, goalsTable, verdictOf } from "../src/report/goals.ts";
import { LOAD_COLUMNS, loadCells, tablesOf, warningsOf } from "../src/report/report-tables.ts";
import { hasFailed, ratioOfBest, ratiosOf } from "../src/figures/rows.ts";
import type { LoadRow, Report, Row } from "../src/figures/rows.ts";
import { markdownTable, textLine, textTable } from "../src/figures/table.ts";

function row(fields: Partial<LoadRow>): LoadRow {
  return {
    type: "load",
    system: "anchoring",
    scenario: "single writes",
    clients: 64,
    unit: "anchors",
    unitsPerRequest: 1,
    leadIn: { seconds: 4, isSteady: true },
    seconds: 8,
    requests: 8000,
    ratePerSecond: 1000,
    p50Ms: 20.5,
    p99Ms: 60,
    maxMs: 101.5,
    failures: {},
    usage: {
      cpuMsPerThousand: { api: 200, control_plane: 300, postgres: 100, client: 40 },
      peakMb: { api: 150, control_plane: 320 },
      otherShare: 0.01,
    },
    counts: {
      answered: 8000,
      entries: 500,
      leaves: 8100,
      frames: 6000,
      frameBytes: 4_000_000,
      leaderSentBytes: 1_600_000,
      leaderLoopMs: 800,
      transactions: 3000,
      wakeUps: { api: 5000, control_plane: 15_000, postgres: 10_000, client: 900 },
    },
    shape: "one at a time",
    ...fields,
  };
}

const PUTS = row({
  system: "etcd",
  scenario: "etcd puts",
  unit: "puts",
  ratePerSecond: 2000,
  p50Ms: 10,
  counts: null,
});
const TIMES: Row = { type: "times", scenario: "leader kill", measure: "gap", ms: [900, 300, 500] };

const FIGURE: Row = { type: "figure", scenario: "idle cluster", measure: "what it takes", value: 12.5, unit: "ms/s" };

function report(rows: readonly Row[]): Report {
  return {
    format: 1,
    measuredAt: "2030-01-02T03:04:05.000Z",
    commit: "1a2b3c4",
    machine: { cores: 2, model: "A CPU", memoryMb: 4000, node: "v20", platform: "Linux 6", etcd: "etcd Version: 3.4" },
    secondsEach: 8,
    rows,
    failed: [],
    ratios: ratiosOf(rows),
    receiptsVerified: 1234,
  };
}

describe("a row", () => {
  const ratios = ratiosOf([row({}), PUTS]);

  test("is written beside its ratios to etcd", () => {
    const cells = loadCells(row({ failures: { "503": 2, "0": 1 } }), { ratios });
    expect(cells).toEqual(["single writes", "1,000", "0.50", "20.5", "2.05", "60.0", "102", "1×0 2×503"]);
    expect(cells).toHaveLength(LOAD_COLUMNS.length);
  });

  test("says when it was not steady, and what nobody could tell", () => {
    const cells = loadCells(row({ leadIn: { seconds: 10, isSteady: false }, p50Ms: Number.NaN }), { ratios: [] });
    expect(cells.slice(1, 5)).toEqual(["~1,000", "–", "–", "–"]);
  });

  test("has failed with any bad answer, and with no good one", () => {
    expect([row({}), row({ failures: { "503": 1 } }), row({ requests: 0 }), TIMES].map(hasFailed)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test("figures keep three digits", () => {
    const written = [0, 0.01234, 1.234, 12.34, 99.96, 123.4, 12_345.6, Number.NaN, Infinity, null].map(number);
    expect(written).toEqual(["0.00", "0.012", "1.23", "12.3", "100.0", "123", "12,346", "–", "–", "–"]);
  });
});

describe("ratios", () => {
  test("are of rows with one shape, one of each system", () => {
    const alone = row({ shape: "five at a time" });
    expect(ratiosOf([row({}), alone, row({ shape: null }), PUTS])).toEqual([
      { shape: "one at a time", anchorsPerSecond: 1000, putsPerSecond: 2000, rate: 0.5, p50: 2.05 },
    ]);
    expect(ratiosOf([row({}), alone])).toEqual([]);
    expect(ratiosOf([PUTS])).toEqual([]);
  });

  test("of the best leave out what is no anchor and no put", () => {
    const rows = [row({}), row({ ratePerSecond: 6000 }), row({ unit: "requests", ratePerSecond: 9e9 }), PUTS, TIMES];
    expect(ratioOfBest(rows)?.rate).toBe(3);
    expect(ratioOfBest(rows)?.p50).toBeNull();
    expect(ratioOfBest([row({})])).toBeNull();
    expect(ratioOfBest([PUTS])).toBeNull();
  });
});

describe("a report", () => {
  const rows = [row({}), PUTS, TIMES, FIGURE];
  const markdown = reportAsMarkdown(report(rows));

  test("has a table for each kind of row, memory with its goals, and ratios", () => {
    expect(tablesOf(report(rows)).map((table) => [table.title.split(":")[0], table.rows.length])).toEqual([
      ["Goals", 2],
      ["Anchors and answers", 1],
      ["etcd, three members, beside it", 1],
      ["What one anchor or answer costs", 2],
      ["Counts, all nodes together", 1],
      ["Once, or a few times", 1],
      ["Other figures", 1],
      ["Beside etcd", 1],
    ]);
    expect(markdown).toContain("| single writes | 1,000 | 0.50 | 20.5 | 2.05 | 60.0 | 102 | 0 |");
    // 600 µs of the service, 800 ms of the leader's loop for 8,000 answers.
    expect(markdown).toContain("| single writes | 600 | 200 | 300 | 100 | 40.0 | 100 | 200 | 150 | 320 | – |");
    expect(markdown).toContain(
      "| single writes | entry | 16.2 | 62.5 | 12.0 | 8,000 | 6.00 | 60.0 | 10.0 | 30.0 | 20.0 |",
    );
    expect(markdown).toContain("| leader kill: gap | 0.50 s | 0.90 s | 3 |");
    expect(markdown).toContain("| idle cluster: what it takes | 12.5 | ms/s |");
    expect(markdown).toContain("| 1,000 | 2,000 | 0.50 |");
  });

  test("says where, when and with what it was measured, and that receipts were verified", () => {
    const [first] = markdown.split("\n");
    expect(first).toBe(
      "2030-01-02, commit 1a2b3c4; 2 vCPU, 4 GB, Node v20, etcd Version: 3.4; 8 s each; " +
        "1,234 receipts of sampled answers verified offline.",
    );
  });

  test("begins with a warning when the machine had other work, or a load was not steady", () => {
    const usage = { cpuMsPerThousand: {}, peakMb: {}, otherShare: 0.42 };
    const rows = [row({ usage, leadIn: { seconds: 10, isSteady: false } }), TIMES];
    expect(warningsOf(report(rows))).toHaveLength(2);
    expect(reportAsMarkdown(report(rows)).split("\n")[0]).toBe(
      "> **Other programs used up to 42 % of the processors: not figures to compare with.**",
    );
    const failed = [{ scenario: "leader kill", reason: "nobody leads" }];
    expect(warningsOf({ rows: [], failed })).toEqual(["leader kill failed: nobody leads"]);
    expect(warningsOf(report([row({})]))).toEqual([]);
  });

  test("survives its JSON, in which what is no number is null", () => {
    const before = report([row({ requests: 0, p50Ms: Number.NaN })]);
    const after = parseReport(JSON.stringify(before));
    expect(reportAsMarkdown(after)).toBe(reportAsMarkdown(before));
  });

  test("may be made of several runs", () => {
    const [one, other] = [report([row({}), PUTS]), report([TIMES])];
    const merged = mergedReport([one, other]);
    expect([merged.rows.length, merged.ratios.length, merged.receiptsVerified]).toEqual([3, 1, 2468]);
    expect(() => mergedReport([])).toThrow("no report");
  });

  test.each([
    "",
    "[]",
    "7",
    "null",
    "{}",
    '{"format":2}',
    '{"format":1,"rows":[]}',
    '{"format":1,"rows":[],"ratios":[]}',
  ])("is not made of %j", (text) => {
    expect(() => parseReport(text)).toThrow();
  });
});

describe("a goal", () => {
  const single = row({
    scenario: "single writes, 64 clients, all nodes",
    shape: "one at a time, 64 clients, all nodes",
  });
  const puts = row({ ...PUTS, shape: single.shape });

  test("is held against the rows that were run, and no other", () => {
    const rows = [single, puts, row({ ...single, scenario: "batches of 500", ratePerSecond: 3300, shape: null })];
    expect(goalsTable(report(rows)).rows).toEqual([
      ["single writes, 64 clients, all nodes ÷ etcd's puts", "0.50", "≥ 0.85", "≥ 1.00", "", "✗"],
      ["the best batch shape ÷ etcd's best", "1.65", "≥ 1.30", "≥ 1.60", "", "goal ✓"],
      ["the best batch shape", "3,300", "–", "≥ 30,000", "/s", "✗"],
      ["api: largest resident set", "150", "≤ 220", "≤ 180", "MB", "goal ✓"],
      ["control plane: largest resident set", "320", "≤ 330", "≤ 300", "MB", "floor ✓"],
      ["leader's event loop for one write, 64 clients", "100", "≤ 50.0", "≤ 35.0", "µs", "✗"],
    ]);
    expect(goalsTable(report([])).rows).toEqual([]);
  });

  test("of 20 kills is the longest gap at p99, the second at p95", () => {
    const ms = Array.from({ length: 20 }, (_, kill) => 100 * (kill + 1));
    const scenario = "leader kill -9 under 8 clients that retry";
    const table = goalsTable(report([{ type: "times", scenario, measure: "longest gap of any client", ms }]));
    expect(table.rows.map((cells) => cells[1])).toEqual(["1.90", "2.00"]);
  });

  test("of record() is its median", () => {
    const scenario = "record() of 512 bytes, TypeScript";
    const figure = (measure: string, value: number): Row => ({ type: "figure", scenario, measure, value, unit: "µs" });
    const rows = [figure("p50 until it returns", 20.4), figure("p99 until it returns", 19)];
    expect(goalsTable(report(rows)).rows).toEqual([[`${scenario}: p50`, "20.4", "–", "≤ 20.0", "µs", "✗"]]);
  });

  test("is met, or its floor is, or neither", () => {
    const [goal] = GOALS;
    if (goal === undefined) throw new Error("there are goals");
    expect([1, 0.9, 0.84].map((measured) => verdictOf(goal, measured))).toEqual(["goal ✓", "floor ✓", "✗"]);
    const lowest = { ...goal, isBest: "low", floor: 2, goal: 1 } as const;
    expect([1, 1.5, 2.1].map((measured) => verdictOf(lowest, measured))).toEqual(["goal ✓", "floor ✓", "✗"]);
    expect(verdictOf({ ...lowest, floor: null }, 1.5)).toBe("✗");
  });

  test("names rows that exist", () => {
    const names = ALL_SCENARIOS.map(({ name }) => name);
    const named = GOALS.map(({ what }) => what.split(" ÷ ")[0]?.split(":")[0] ?? "");
    for (const name of [
      "single writes, 64 clients, all nodes",
      "latest (linearizable), 64 clients",
      "claims, 64 clients",
      "record() of 512 bytes, TypeScript",
    ]) {
      expect(named).toContain(name);
      expect(names.some((each) => each.startsWith(name))).toBe(true);
    }
  });
});

describe("a table", () => {
  const table = {
    title: "Sizes",
    columns: [
      { title: "what", width: 6, isText: true },
      { title: "mm", width: 5 },
    ],
    rows: [["a|b", "7"], ["longer than it", "123456"], ["none"]],
  };

  test("is printed in columns", () => {
    expect(textTable(table).split("\n")).toEqual([
      "Sizes",
      "what       mm",
      "a|b         7",
      "longer than it  123456",
      "none",
    ]);
    expect(textLine(table.columns, [])).toBe("");
  });

  test("is printed as Markdown", () => {
    expect(markdownTable(table).split("\n")).toEqual([
      "**Sizes**",
      "",
      "| what | mm |",
      "|---|---:|",
      "| a\\|b | 7 |",
      "| longer than it | 123456 |",
      "| none |  |",
    ]);
  });
});

describe("the figures of a document", () => {
  const [begin, end] = ["<!-- figures: written by packages/bench/bin/table.js -->", "<!-- end of figures -->"];

  test("are replaced, and nothing else is", () => {
    const once = withFigures(`# A\n${begin}\nold\n${end}\nrest\n`, "new");
    expect(once).toBe(`# A\n${begin}\n\nnew\n\n${end}\nrest\n`);
    expect(withFigures(once, "new")).toBe(once);
  });

  test.each(["", begin, end, `${end} ${begin}`])("have no place in %j", (document) => {
    expect(() => withFigures(document, "new")).toThrow("no place for figures");
  });
});

describe("the options", () => {
  test("have defaults, and name what is wanted", () => {
    expect(parseBenchOptions([])).toEqual({
      cluster: null,
      against: null,
      rounds: 3,
      measureMs: 10_000,
      leadInMs: 10_000,
      warmUpMs: 60_000,
      anchors: 10_000_000,
      only: [],
      isList: false,
      isJson: false,
    });
    expect(parseBenchOptions(["--seconds", "0.5", "--lead-in", "0", "--only", "a", "--only", ""])).toMatchObject({
      measureMs: 500,
      leadInMs: 0,
      only: ["a"],
    });
    expect(parseBenchOptions(["--help"])).toBe("help");
  });

  test.each([
    ["--seconds", "0"],
    ["--seconds", "x"],
    ["--seconds", ""],
    ["--lead-in", "-1"],
    ["--lead-in", "4000"],
    ["--warm-up", "-1"],
    ["--rounds", "0"],
    ["--anchors", "1.5"],
    ["--cluster", "a", "--against", "b"],
    ["--no"],
    ["bare"],
  ])("refuse %s %s", (...args) => {
    expect(() => parseBenchOptions(args)).toThrow();
  });

  test("choose by name; what takes minutes is asked for by name", () => {
    const names = (only: readonly string[]): string[] => chosen(ALL_SCENARIOS, only).map(({ name }) => name);
    expect(names(["batches of 500"])).toHaveLength(5);
    expect(names([])).not.toContain("restart and catch-up with 100,000 anchors");
    expect(names(["catch-up", "claims"])).toEqual([
      "claims, 64 clients, all nodes",
      "restart and catch-up with 100,000 anchors",
      "catch-up from a snapshot after 100,000 anchors",
    ]);
    expect(() => names(["no such thing"])).toThrow("--list names them");
    expect(new Set(names([""])).size).toBe(ALL_SCENARIOS.length);
    expect(ALL_SCENARIOS.filter(isOptIn)).toHaveLength(4);
  });

  test("can be asked about without a cluster", async () => {
    const written: string[] = [];
    const terminal = { isTTY: false, write: (text: string): void => void written.push(text) };
    expect(await benchCommand(["--list"], terminal, terminal)).toBe(0);
    expect(written).toHaveLength(ALL_SCENARIOS.length);
    expect(await benchCommand(["--help"], terminal, terminal)).toBe(0);
    expect(await benchCommand(["--only", "no such thing"], terminal, terminal)).toBe(2);
    expect(await benchCommand(["--what"], terminal, terminal)).toBe(2);
  });
});
