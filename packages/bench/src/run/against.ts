/**
 * Two builds beside each other: a cluster of each, both up for the whole run, and each load on one and then on the
 * other. What the machine does meanwhile hits both, so the ratio of a pair says more than two runs do.
 */
import { fileURLToPath } from "node:url";
import { median } from "../figures/percentile.ts";
import { serviceCpu } from "../figures/rows.ts";
import type { LoadRow } from "../figures/rows.ts";
import { textTable } from "../figures/table.ts";
import type { Table } from "../figures/table.ts";
import { number } from "../report/cells.ts";
import type { Progress } from "../report/progress.ts";
import type { LoadScenario, Scenario } from "../scenarios/scenario.ts";
import type { BenchOptions } from "./bench-options.ts";
import { CheckoutCluster } from "./checkout-cluster.ts";
import { Runner } from "./runner.ts";

const THIS_CHECKOUT = fileURLToPath(new URL("../../../..", import.meta.url));

export interface AgainstOrder extends Omit<BenchOptions, "cluster"> {
  /** The other checkout. */
  readonly folder: string;
}

/** One load on both. */
export interface ComparedLoad {
  readonly scenario: string;
  /** One of each for each round, in the order they were measured. */
  readonly here: readonly LoadRow[];
  readonly there: readonly LoadRow[];
}

export interface Comparison {
  readonly format: 1;
  readonly against: string;
  readonly rows: readonly ComparedLoad[];
}

export async function againstCheckout(
  order: AgainstOrder,
  scenarios: readonly Scenario[],
  progress: Progress,
  signal: AbortSignal | null,
): Promise<Comparison> {
  const { reporter } = progress;
  const loads = scenarios.flatMap((each) => (each.kind === "load" ? [each] : []));
  if (loads.length < scenarios.length)
    reporter.notice("only loads are compared; the rest of what was named is left out");
  const runner = new Runner({ ...order, progress }, signal);
  const here = await reporter.step("starting this checkout's cluster", () => CheckoutCluster.start(THIS_CHECKOUT));
  try {
    const there = await reporter.step(`starting that of ${order.folder}`, () => CheckoutCluster.start(order.folder));
    try {
      for (const { cluster } of [here, there]) await runner.warmUp(cluster);
      const rows: ComparedLoad[] = [];
      for (const load of loads) {
        if (runner.isInterrupted) break;
        rows.push(await compared(runner, load, { here, there, rounds: order.rounds }));
      }
      progress.line(`\n${textTable(comparisonTable(rows))}`);
      return { format: 1, against: order.folder, rows };
    } finally {
      await reporter.step("stopping the other cluster", () => there.erase());
    }
  } finally {
    await reporter.step("stopping this checkout's cluster", () => here.erase());
  }
}

interface Pair {
  readonly here: CheckoutCluster;
  readonly there: CheckoutCluster;
  readonly rounds: number;
}

/** Every other round begins with the other one: whoever is second finds a warmer or a busier machine. */
async function compared(runner: Runner, load: LoadScenario, { here, there, rounds }: Pair): Promise<ComparedLoad> {
  const measured = { here: [] as LoadRow[], there: [] as LoadRow[] };
  const sides = [
    { name: "here", cluster: here.cluster, rows: measured.here },
    { name: "there", cluster: there.cluster, rows: measured.there },
  ];
  for (let round = 0; round < rounds; round++) {
    for (const { name, cluster, rows } of round % 2 === 0 ? sides : sides.toReversed()) {
      rows.push(await runner.loadRow(`${load.name}, ${name}`, load, cluster));
    }
  }
  return { scenario: load.name, ...measured };
}

/** Ratios of this checkout to the other: the median of the rounds' ratios, and the smallest and largest of the rate. */
export function comparisonTable(rows: readonly ComparedLoad[]): Table {
  return {
    title: "This checkout ÷ the other: medians of the rounds' ratios",
    columns: [
      { title: "load", width: 62, isText: true },
      { title: "per s", width: 7 },
      { title: "other", width: 7 },
      { title: "ratio", width: 6 },
      { title: "from – to", width: 12 },
      { title: "p50", width: 6 },
      { title: "cpu", width: 6 },
      { title: "loop", width: 6 },
      { title: "frames", width: 6 },
      { title: "wake-ups", width: 8 },
    ],
    rows: rows.map((row) => {
      const rates = ratiosOf(row, ({ ratePerSecond }) => ratePerSecond);
      const ratio = (of: (row: LoadRow) => number): string => number(middle(ratiosOf(row, of)));
      return [
        row.scenario,
        number(middle(row.here.map(({ ratePerSecond }) => ratePerSecond))),
        number(middle(row.there.map(({ ratePerSecond }) => ratePerSecond))),
        number(middle(rates)),
        `${number(Math.min(...rates))} – ${number(Math.max(...rates))}`,
        ratio(({ p50Ms }) => p50Ms),
        ratio(({ usage }) => (usage === null ? Number.NaN : serviceCpu(usage))),
        ratio(({ counts }) => (counts === null ? Number.NaN : counts.leaderLoopMs / counts.answered)),
        ratio(({ counts }) => (counts === null ? Number.NaN : counts.frames / counts.answered)),
        ratio(wakeUpsEach),
      ];
    }),
  };
}

function wakeUpsEach({ counts }: LoadRow): number {
  if (counts === null) return Number.NaN;
  const { client: _, ...ofService } = counts.wakeUps;
  return Object.values(ofService).reduce((sum, count) => sum + count, 0) / counts.answered;
}

function ratiosOf({ here, there }: ComparedLoad, of: (row: LoadRow) => number): readonly number[] {
  return here.flatMap((row, round) => {
    const other = there[round];
    return other === undefined ? [] : [of(row) / of(other)];
  });
}

function middle(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : median(values);
}
