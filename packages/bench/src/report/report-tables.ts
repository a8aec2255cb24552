/** A report as tables: the one place that says which figures are shown, and how they are written. */
import { serviceCpu } from "../load/measure-load.ts";
import { median } from "../figures/percentile.ts";
import { CLIENT } from "@event-anchoring/testkit";
import { otherShareOf, ratioOfBest } from "../figures/rows.ts";
import type { Goal, LoadRow, Report, Row, System, TimesRow } from "../figures/rows.ts";
import type { Column, Table } from "../figures/table.ts";

/** Kinds of process with a column of their own. */
const SERVICE_KINDS = ["api", "control_plane", "postgres"] as const;
const KIND_TITLES: Readonly<Record<string, string>> = {
  api: "api",
  control_plane: "control plane",
  postgres: "Postgres",
  etcd: "etcd",
  [CLIENT]: "client",
};
/** What one process of a kind may take under load, in MB. */
const MEMORY_GOALS_MB: Readonly<Record<string, number>> = { control_plane: 300, api: 200 };
/** If other programs use more than this share of the processors, figures mean little. */
const OTHER_SHARE_MAX = 0.05;

export const LOAD_COLUMNS: readonly Column[] = [
  { title: "load", width: 52, isText: true },
  { title: "per s", width: 7 },
  { title: "p50 ms", width: 6 },
  { title: "p99 ms", width: 6 },
  { title: "max ms", width: 6 },
  { title: "failed", width: 6 },
  { title: "cpu ms/1,000", width: 12 },
  { title: "api", width: 6 },
  { title: "control", width: 7 },
  { title: "Postgres", width: 8 },
  { title: "client", width: 6 },
  { title: "goal", width: 13, isText: true },
];

export function loadCells(row: LoadRow): readonly string[] {
  const { usage } = row;
  const cpu = (kind: string): string => number(usage?.cpuMsPerThousand[kind] ?? Number.NaN);
  const failed = Object.entries(row.failures).map(([status, count]) => `${count}×${status}`);
  return [
    row.scenario,
    `${row.leadIn.isSteady ? "" : "~"}${number(row.ratePerSecond)}`,
    number(row.p50Ms),
    number(row.p99Ms),
    number(row.maxMs),
    failed.join(" ") || "0",
    usage === null || row.system === "client" ? "–" : number(serviceCpu(usage)),
    ...SERVICE_KINDS.map(cpu),
    cpu(CLIENT),
    goalsText(row.goals),
  ];
}

const TIMES_COLUMNS: readonly Column[] = [
  { title: "what", width: 82, isText: true },
  { title: "median", width: 9 },
  { title: "longest", width: 9 },
  { title: "times", width: 5 },
  { title: "goal", width: 14, isText: true },
];

/** As in `78 ms`, `0.37 s`. */
function durationText(ms: number): string {
  return ms < 100 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

export function timesCells({ scenario, measure, ms, goals }: TimesRow): readonly string[] {
  return [
    `${scenario}: ${measure}`,
    durationText(median(ms)),
    durationText(Math.max(...ms)),
    String(ms.length),
    goalsText(goals),
  ];
}

const LOAD_TITLES: Readonly<Record<System, string>> = {
  anchoring: "Anchors and answers",
  etcd: "etcd, three members, beside it",
  client: "In the client",
};

/** All tables of a report that have rows. */
export function tablesOf(report: Report): readonly Table[] {
  const { rows } = report;
  const loads = (Object.keys(LOAD_TITLES) as System[]).map((system) => ({
    title: LOAD_TITLES[system],
    columns: LOAD_COLUMNS,
    rows: rows.flatMap((row) => (row.type === "load" && row.system === system ? [loadCells(row)] : [])),
  }));
  const times = rows.flatMap((row) => (row.type === "times" ? [timesCells(row)] : []));
  return [
    ...loads,
    { title: "Once, or a few times", columns: TIMES_COLUMNS, rows: times },
    memoryTable(rows),
    ratioTable(report),
  ].filter((table) => table.rows.length > 0);
}

/** For each kind of process, the row in which one of them was largest. */
function memoryTable(rows: readonly Row[]): Table {
  const largest = new Map<string, { readonly mb: number; readonly scenario: string }>();
  for (const row of rows) {
    if (row.type !== "load" || row.system === "client" || row.usage === null) continue;
    for (const [kind, mb] of Object.entries(row.usage.peakMb)) {
      if (mb > (largest.get(kind)?.mb ?? 0)) largest.set(kind, { mb, scenario: row.scenario });
    }
  }
  return {
    title: "Memory: the largest resident set of one process",
    columns: [
      { title: "process", width: 14, isText: true },
      { title: "MB", width: 6 },
      { title: "goal", width: 14, isText: true },
      { title: "in", width: 40, isText: true },
    ],
    rows: [...largest].map(([kind, { mb, scenario }]) => [
      KIND_TITLES[kind] ?? kind,
      mb.toFixed(0),
      goalsText(memoryGoals(kind, mb)),
      scenario,
    ]),
  };
}

function memoryGoals(kind: string, mb: number): readonly Goal[] {
  const goal = MEMORY_GOALS_MB[kind];
  return goal === undefined ? [] : [{ text: `≤ ${goal} MB`, isMet: mb <= goal }];
}

function ratioTable({ rows, ratios }: Report): Table {
  const best = ratioOfBest(rows);
  return {
    title: "Beside etcd: anchors to puts",
    columns: [
      { title: "shape", width: 52, isText: true },
      { title: "anchors/s", width: 9 },
      { title: "puts/s", width: 9 },
      { title: "ratio", width: 6 },
      { title: "ratio of p50", width: 12 },
    ],
    rows: [...ratios, ...(best === null ? [] : [best])].map((ratio) => [
      ratio.shape,
      number(ratio.anchorsPerSecond),
      number(ratio.putsPerSecond),
      ratio.rate.toFixed(2),
      ratio.p50?.toFixed(2) ?? "–",
    ]),
  };
}

/** What a reader must know before the figures; empty for a run that nothing disturbed. */
export function warningsOf({ rows, failed }: Pick<Report, "rows" | "failed">): readonly string[] {
  const share = otherShareOf(rows);
  const unsteady = rows.filter((row) => row.type === "load" && !row.leadIn.isSteady).length;
  return [
    ...(share > OTHER_SHARE_MAX
      ? [`Other programs used up to ${(share * 100).toFixed(0)} % of the processors: not figures to compare with.`]
      : []),
    ...(unsteady > 0 ? [`~: not steady when it was measured (${unsteady} of ${rows.length}).`] : []),
    ...failed.map(({ scenario, reason }) => `${scenario} failed: ${reason}`),
  ];
}

function goalsText(goals: readonly Goal[]): string {
  return goals.map(({ text, isMet }) => `${text} ${isMet ? "✓" : "✗"}`).join(", ");
}

/** Three figures that count, with separators; an en dash where there is no number. */
export function number(value: number | null): string {
  // JSON writes null for what is no number.
  if (value === null || !Number.isFinite(value)) return "–";
  if (value >= 100) return Math.round(value).toLocaleString("en");
  if (value >= 10) return value.toFixed(1);
  return value >= 1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}
