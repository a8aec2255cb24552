/** What is to be reached, with everything on two cores. */
import { HOLD_MS_MAX } from "@event-anchoring/testkit/overload";
import {
  DELAYED_P50,
  DELAYED_RATE_RATIO,
  GROWTH_COST_RATIO,
  HOSTILE_BODIES_NAME,
  IDLE_CPU,
  LONGEST_GAP,
  RECORD_CALLS_NAME,
  RECORD_P50,
  ROUND_TRIP_MS,
  SIMULATED_SECONDS,
} from "../figures/names.ts";
import { percentile } from "../figures/percentile.ts";
import { ratioOfBest } from "../figures/rows.ts";
import type { LoadRow, Report, Row } from "../figures/rows.ts";
import type { Table } from "../figures/table.ts";
import { number } from "./cells.ts";

export interface Goal {
  readonly what: string;
  readonly unit: string;
  /** A figure is good above these or below these; null: there is no floor. */
  readonly isBest: "high" | "low";
  readonly floor: number | null;
  readonly goal: number;
  /** Null where the rows for it were not run. */
  readonly measured: (report: Pick<Report, "rows" | "ratios">) => number | null;
}

const SINGLE_64 = "single writes, 64 clients, all nodes";
const USUAL_64 = "events with ids and references, 64 clients, all nodes";
const SIGNED_64 = "signed events with ids and references, 64 clients, all nodes";
const MS_PER_S = 1000;

function loadOf(rows: readonly Row[], scenario: string): LoadRow | null {
  const row = rows.find((each) => each.scenario === scenario);
  return row?.type === "load" ? row : null;
}

const rateOf =
  (scenario: string): Goal["measured"] =>
  ({ rows }) =>
    loadOf(rows, scenario)?.ratePerSecond ?? null;

const medianOf =
  (scenario: string): Goal["measured"] =>
  ({ rows }) =>
    loadOf(rows, scenario)?.p50Ms ?? null;

const figureOf =
  (measure: string): Goal["measured"] =>
  ({ rows }) => {
    const row = rows.find((each) => each.type === "figure" && each.measure === measure);
    return row?.type === "figure" ? row.value : null;
  };

const ofEtcd =
  (shape: string, what: "rate" | "p50"): Goal["measured"] =>
  ({ ratios }) =>
    ratios.find((ratio) => ratio.shape === shape)?.[what] ?? null;

function bestRate(rows: readonly Row[], has: (name: string) => boolean): number | null {
  const rates = rows.flatMap((row) => (row.type === "load" && has(row.scenario) ? [row.ratePerSecond] : []));
  return rates.length === 0 ? null : Math.max(...rates);
}

const isSharedBatch = (name: string): boolean => name.includes("with shared receipts");
const isPlainBatch = (name: string): boolean => name.startsWith("batches of") && !isSharedBatch(name);

const bestOf =
  (has: (name: string) => boolean): Goal["measured"] =>
  ({ rows }) => {
    const [best, puts] = [bestRate(rows, has), ratioOfBest(rows)?.putsPerSecond];
    return best === null || puts === undefined ? null : best / puts;
  };

/** The largest of any load. */
const largestMb =
  (kind: string): Goal["measured"] =>
  ({ rows }) => {
    const sizes = rows.flatMap((row) => (row.type === "load" ? [row.usage?.peakMb[kind] ?? 0] : []));
    const largest = Math.max(0, ...sizes);
    return largest === 0 ? null : largest;
  };

const loopUs: Goal["measured"] = ({ rows }) => {
  const counts = loadOf(rows, SINGLE_64)?.counts ?? null;
  return counts === null ? null : (counts.leaderLoopMs * 1000) / counts.answered;
};

const ofPlainRow: Goal["measured"] = ({ rows }) => {
  const [usual, plain] = [loadOf(rows, USUAL_64), loadOf(rows, SINGLE_64)];
  return usual === null || plain === null ? null : usual.ratePerSecond / plain.ratePerSecond;
};

const gapAt =
  (share: number): Goal["measured"] =>
  ({ rows }) => {
    const row = rows.find((each) => each.type === "times" && each.measure === LONGEST_GAP);
    if (row?.type !== "times") return null;
    return (
      percentile(
        row.ms.toSorted((a, b) => a - b),
        share,
      ) / MS_PER_S
    );
  };

const longestHold: Goal["measured"] = ({ rows }) => {
  const row = rows.find((each) => each.scenario === HOSTILE_BODIES_NAME);
  return row?.type === "times" ? Math.max(...row.ms) : null;
};

const high = { isBest: "high" } as const;
const low = { isBest: "low" } as const;

export const GOALS: readonly Goal[] = [
  {
    ...high,
    what: `${SINGLE_64} ÷ etcd's puts`,
    unit: "",
    floor: 0.85,
    goal: 1,
    measured: ofEtcd("one at a time, 64 clients, all nodes", "rate"),
  },
  {
    ...high,
    what: "the best batch shape ÷ etcd's best",
    unit: "",
    floor: 1.3,
    goal: 1.6,
    measured: bestOf(isPlainBatch),
  },
  {
    ...high,
    what: "the best batch shape",
    unit: "/s",
    floor: null,
    goal: 30_000,
    measured: ({ rows }) => bestRate(rows, isPlainBatch),
  },
  {
    ...high,
    what: "batches with shared receipts ÷ etcd's best",
    unit: "",
    floor: null,
    goal: 2,
    measured: bestOf(isSharedBatch),
  },
  {
    ...low,
    what: "single writes, 1 client, leader: p50 ÷ etcd's",
    unit: "",
    floor: 3.5,
    goal: 2.8,
    measured: ofEtcd("one at a time, 1 client, leader", "p50"),
  },
  {
    ...high,
    what: "latest (linearizable), 64 clients",
    unit: "/s",
    floor: 5000,
    goal: 7500,
    measured: rateOf("latest (linearizable), 64 clients, all nodes"),
  },
  {
    ...low,
    what: "latest (linearizable), 1 client: p50",
    unit: "ms",
    floor: null,
    goal: 1.2,
    measured: medianOf("latest (linearizable), 1 client, follower"),
  },
  {
    ...high,
    what: "claims, 64 clients",
    unit: "/s",
    floor: 1200,
    goal: 1500,
    measured: rateOf("claims, 64 clients, all nodes"),
  },
  {
    ...high,
    what: "grants, 64 clients",
    unit: "/s",
    floor: 1200,
    goal: 1500,
    measured: rateOf("grants, 64 clients, all nodes"),
  },
  {
    ...high,
    what: "events with ids and references ÷ single writes, 64 clients",
    unit: "",
    floor: 0.8,
    goal: 0.9,
    measured: ofPlainRow,
  },
  {
    ...high,
    what: "signed events with ids and references, 64 clients",
    unit: "/s",
    floor: 1000,
    goal: 1800,
    measured: rateOf(SIGNED_64),
  },
  { ...low, what: "api: largest resident set", unit: "MB", floor: 220, goal: 180, measured: largestMb("api") },
  {
    ...low,
    what: "control plane: largest resident set",
    unit: "MB",
    floor: 330,
    goal: 300,
    measured: largestMb("control_plane"),
  },
  { ...low, what: "idle cluster: processor time", unit: "ms/s", floor: 40, goal: 20, measured: figureOf(IDLE_CPU) },
  { ...low, what: "leader's event loop for one write, 64 clients", unit: "µs", floor: 50, goal: 35, measured: loopUs },
  {
    ...low,
    what: "leader killed: longest gap of a client, p95",
    unit: "s",
    floor: 0.5,
    goal: 0.5,
    measured: gapAt(0.95),
  },
  {
    ...low,
    what: "leader killed: longest gap of a client, p99",
    unit: "s",
    floor: null,
    goal: 0.5,
    measured: gapAt(0.99),
  },
  {
    ...low,
    what: "growth: cost of a write at the end ÷ at the beginning",
    unit: "",
    floor: 1.3,
    goal: 1.2,
    measured: figureOf(GROWTH_COST_RATIO),
  },
  {
    ...low,
    what: `links with ${ROUND_TRIP_MS} ms round trip: p50 of one client`,
    unit: "ms",
    floor: 2.5 * ROUND_TRIP_MS,
    goal: 2.2 * ROUND_TRIP_MS + 3,
    measured: figureOf(DELAYED_P50),
  },
  {
    ...high,
    what: `links with ${ROUND_TRIP_MS} ms round trip: 256 clients ÷ without`,
    unit: "",
    floor: 0.6,
    goal: 0.8,
    measured: figureOf(DELAYED_RATE_RATIO),
  },
  {
    ...high,
    what: SIMULATED_SECONDS,
    unit: "",
    floor: 200,
    goal: 600,
    measured: figureOf(SIMULATED_SECONDS),
  },
  {
    ...low,
    what: "a hostile body: how long it holds the loop",
    unit: "ms",
    floor: null,
    goal: HOLD_MS_MAX,
    measured: longestHold,
  },
  {
    ...low,
    what: "verify a batch of 1,000 events: p50",
    unit: "ms",
    floor: null,
    goal: 300,
    measured: medianOf("verify a batch of 1,000 events, 1 client, follower"),
  },
  {
    ...low,
    what: "verify a chain of 5 grants: p50",
    unit: "ms",
    floor: null,
    goal: 5,
    measured: medianOf("verify a chain of 5 grants, 1 client, follower"),
  },
  { ...low, what: `${RECORD_CALLS_NAME}: p50`, unit: "µs", floor: null, goal: 20, measured: figureOf(RECORD_P50) },
];

/** Each goal whose rows were run. */
export function goalsTable(report: Pick<Report, "rows" | "ratios">): Table {
  return {
    title: "Goals",
    columns: [
      { title: "goal", width: 62, isText: true },
      { title: "measured", width: 9 },
      { title: "floor", width: 9 },
      { title: "goal", width: 9 },
      { title: "unit", width: 5, isText: true },
      { title: "", width: 13, isText: true },
    ],
    rows: GOALS.flatMap((goal) => {
      const measured = goal.measured(report);
      return measured === null ? [] : [goalCells(goal, measured)];
    }),
  };
}

function goalCells(goal: Goal, measured: number): readonly string[] {
  const sign = goal.isBest === "high" ? "≥" : "≤";
  const shown = (bound: number | null): string => (bound === null ? "–" : `${sign} ${number(bound)}`);
  return [goal.what, number(measured), shown(goal.floor), shown(goal.goal), goal.unit, verdictOf(goal, measured)];
}

export function verdictOf({ isBest, floor, goal }: Goal, measured: number): string {
  const reaches = (bound: number): boolean => (isBest === "high" ? measured >= bound : measured <= bound);
  if (reaches(goal)) return "goal ✓";
  return floor !== null && reaches(floor) ? "floor ✓" : "✗";
}
