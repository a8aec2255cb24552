/** A report as tables: the one place that says which figures are shown. */
import { median } from "../figures/percentile.ts";
import { CLIENT } from "@event-anchoring/testkit/overload";
import { otherShareOf, ratioOfBest, serviceCpu } from "../figures/rows.ts";
import type { Counts, LoadRow, Report, Row, System, TimesRow } from "../figures/rows.ts";
import type { Column, Table } from "../figures/table.ts";
import { durationText, number } from "./cells.ts";
import { goalsTable } from "./goals.ts";

/** Kinds of process with a column of their own. */
const SERVICE_KINDS = ["api", "control_plane", "postgres"] as const;
/** If other programs use more than this share of the processors, figures mean little. */
const OTHER_SHARE_MAX = 0.05;

export const LOAD_COLUMNS: readonly Column[] = [
  { title: "load", width: 62, isText: true },
  { title: "per s", width: 7 },
  { title: "÷ etcd", width: 6 },
  { title: "p50 ms", width: 6 },
  { title: "÷ etcd", width: 6 },
  { title: "p99 ms", width: 6 },
  { title: "max ms", width: 6 },
  { title: "failed", width: 6 },
];

/** @param report whose ratios to etcd are shown beside the row */
export function loadCells(row: LoadRow, { ratios }: Pick<Report, "ratios">): readonly string[] {
  const failed = Object.entries(row.failures).map(([status, count]) => `${count}×${status}`);
  const ratio = row.system === "anchoring" ? ratios.find(({ shape }) => shape === row.shape) : undefined;
  return [
    row.scenario,
    `${row.leadIn.isSteady ? "" : "~"}${number(row.ratePerSecond)}`,
    ratio?.rate.toFixed(2) ?? "–",
    number(row.p50Ms),
    ratio?.p50?.toFixed(2) ?? "–",
    number(row.p99Ms),
    number(row.maxMs),
    failed.join(" ") || "0",
  ];
}

const COST_COLUMNS: readonly Column[] = [
  { title: "load", width: 62, isText: true },
  { title: "cpu µs each", width: 11 },
  { title: "api", width: 6 },
  { title: "control", width: 7 },
  { title: "Postgres", width: 8 },
  { title: "client", width: 6 },
  { title: "leader's loop µs", width: 16 },
  { title: "leader sent B", width: 13 },
  { title: "api MB", width: 6 },
  { title: "control MB", width: 10 },
  { title: "Postgres MB", width: 11 },
];

/** Not of servers on other machines. */
function isCostKnown({ system, usage }: LoadRow): boolean {
  return usage !== null && (system === "client" || serviceCpu(usage) > 0);
}

/** Processor time in microseconds for each: ms for 1,000 are the same number. */
function costCells({ scenario, system, usage, counts }: LoadRow): readonly string[] {
  const cpu = (kind: string): string => number(usage?.cpuMsPerThousand[kind] ?? Number.NaN);
  const memory = (kind: string): string => usage?.peakMb[kind]?.toFixed(0) ?? "–";
  return [
    scenario,
    usage === null || system === "client" ? "–" : number(serviceCpu(usage)),
    ...SERVICE_KINDS.map(cpu),
    cpu(CLIENT),
    counts === null ? "–" : number((counts.leaderLoopMs * 1000) / counts.answered),
    counts === null ? "–" : number(counts.leaderSentBytes / counts.answered),
    ...SERVICE_KINDS.map(memory),
  ];
}

const COUNT_COLUMNS: readonly Column[] = [
  { title: "load", width: 62, isText: true },
  { title: "of an", width: 6, isText: true },
  { title: "leaves", width: 6 },
  { title: "entries/s", width: 9 },
  { title: "frames", width: 6 },
  { title: "bytes", width: 6 },
  { title: "SQL", width: 5 },
  { title: "wake-ups", width: 8 },
  { title: "api", width: 6 },
  { title: "control", width: 7 },
  { title: "Postgres", width: 8 },
];

/** Counts for each entry of the log if the load writes, and for each answer if it reads. */
function countCells({ scenario, unit, seconds }: LoadRow, counts: Counts): readonly string[] {
  const isWrite = unit === "anchors";
  const each = isWrite ? counts.entries : counts.answered;
  const wakeUps = SERVICE_KINDS.map((kind) => (counts.wakeUps[kind] ?? 0) / each);
  return [
    scenario,
    isWrite ? "entry" : "answer",
    isWrite ? number(counts.leaves / each) : "–",
    isWrite ? number(counts.entries / seconds) : "–",
    number(counts.frames / each),
    number(counts.frameBytes / each),
    number(counts.transactions === null ? null : counts.transactions / each),
    number(wakeUps.reduce((sum, count) => sum + count, 0)),
    ...wakeUps.map(number),
  ];
}

const TIMES_COLUMNS: readonly Column[] = [
  { title: "what", width: 82, isText: true },
  { title: "median", width: 9 },
  { title: "longest", width: 9 },
  { title: "times", width: 5 },
];

function timesCells({ scenario, measure, ms }: TimesRow): readonly string[] {
  return [`${scenario}: ${measure}`, durationText(median(ms)), durationText(Math.max(...ms)), String(ms.length)];
}

const LOAD_TITLES: Readonly<Record<System, string>> = {
  anchoring: "Anchors and answers",
  etcd: "etcd, three members, beside it",
  client: "In the client",
};

/** All tables of a report that have rows. */
export function tablesOf(report: Report): readonly Table[] {
  const { rows } = report;
  const loads = rows.flatMap((row) => (row.type === "load" ? [row] : []));
  const byLoad = (Object.keys(LOAD_TITLES) as System[]).map((system) => ({
    title: LOAD_TITLES[system],
    columns: LOAD_COLUMNS,
    rows: loads.flatMap((row) => (row.system === system ? [loadCells(row, report)] : [])),
  }));
  const times = rows.flatMap((row) => (row.type === "times" ? [timesCells(row)] : []));
  return [
    goalsTable(report),
    ...byLoad,
    {
      title: "What one anchor or answer costs: processor time, the leader, and the largest resident set meanwhile",
      columns: COST_COLUMNS,
      rows: loads.flatMap((row) => (isCostKnown(row) ? [costCells(row)] : [])),
    },
    {
      title: "Counts, all nodes together",
      columns: COUNT_COLUMNS,
      rows: loads.flatMap((row) => (row.counts === null ? [] : [countCells(row, row.counts)])),
    },
    { title: "Once, or a few times", columns: TIMES_COLUMNS, rows: times },
    figuresTable(rows),
    bestTable(rows),
  ].filter((table) => table.rows.length > 0);
}

function figuresTable(rows: readonly Row[]): Table {
  return {
    title: "Other figures",
    columns: [
      { title: "what", width: 82, isText: true },
      { title: "value", width: 9 },
      { title: "unit", width: 8, isText: true },
    ],
    rows: rows.flatMap((row) =>
      row.type === "figure" ? [[`${row.scenario}: ${row.measure}`, number(row.value), row.unit]] : [],
    ),
  };
}

function bestTable(rows: readonly Row[]): Table {
  const best = ratioOfBest(rows);
  return {
    title: "Beside etcd: the best of each, whatever the shape",
    columns: [
      { title: "anchors/s", width: 9 },
      { title: "puts/s", width: 9 },
      { title: "ratio", width: 6 },
    ],
    rows: best === null ? [] : [[number(best.anchorsPerSecond), number(best.putsPerSecond), best.rate.toFixed(2)]],
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
