import { SERVICE_VERSION } from "@event-anchoring/dev-cluster";
import type { Terminal } from "@event-anchoring/dev-cluster";
import { ALL_SCENARIOS } from "../scenarios/all-scenarios.ts";
import { againstCheckout } from "./against.ts";
import { BENCH_HELP, chosen, isOptIn, parseBenchOptions } from "./bench-options.ts";
import type { BenchOptions } from "./bench-options.ts";
import { etcdVersion } from "../etcd/etcd-cluster.ts";
import { commitHere, loadPerCore, thisMachine } from "../figures/machine.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { progressOn } from "../report/progress.ts";
import type { Progress } from "../report/progress.ts";
import { tablesOf, warningsOf } from "../report/report-tables.ts";
import { hasFailed, ratiosOf } from "../figures/rows.ts";
import type { Report } from "../figures/rows.ts";
import { Runner } from "./runner.ts";
import { withCluster } from "../load/with-cluster.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import { textTable } from "../figures/table.ts";

const BUSY_ALREADY = 0.25;

/**
 * The command behind `npm run bench`.
 * @param signal ends the run after the measurement under way; the results by then are reported
 * @returns the exit code: 1 if a request or a scenario failed, 2 for invalid arguments
 * @throws when a sampled receipt does not verify
 */
export async function benchCommand(
  args: readonly string[],
  stdout: Terminal,
  stderr: Terminal,
  signal: AbortSignal | null = null,
): Promise<number> {
  let options: BenchOptions | "help" | "version";
  let scenarios: readonly Scenario[];
  try {
    options = parseBenchOptions(args);
    scenarios = typeof options === "string" ? [] : chosen(ALL_SCENARIOS, options.only);
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  if (typeof options === "string") {
    stdout.write(options === "help" ? BENCH_HELP : `npm run bench, event anchoring ${SERVICE_VERSION}\n`);
    return 0;
  }
  if (options.isList) {
    const listed = options.only.length === 0 ? ALL_SCENARIOS : scenarios;
    for (const each of listed) stdout.write(`${each.name}${isOptIn(each) ? "  (only when asked for)" : ""}\n`);
    return 0;
  }
  const progress = progressOn(options.isJson ? stderr : stdout);
  if (loadPerCore() > BUSY_ALREADY) {
    progress.reporter.notice("this machine is busy already; figures will be low, and each says how busy it was");
  }
  if (options.against !== null) {
    const order = { ...options, folder: options.against };
    const comparison = await againstCheckout(order, scenarios, progress, signal);
    if (options.isJson) stdout.write(`${JSON.stringify(comparison, null, 2)}\n`);
    return comparison.rows.length === 0 ? 1 : 0;
  }
  const report = await measure(options, scenarios, progress, signal);
  show(report, progress);
  if (options.isJson) stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return report.failed.length > 0 || report.rows.some(hasFailed) ? 1 : 0;
}

async function measure(
  options: BenchOptions,
  scenarios: readonly Scenario[],
  progress: Progress,
  signal: AbortSignal | null,
): Promise<Report> {
  const measuredAt = new Date().toISOString();
  const etcd = etcdVersion();
  const runner = new Runner({ ...options, progress }, signal);
  const here = scenarios.flatMap((each) => (each.kind === "load" || each.kind === "cluster" ? [each] : []));
  const there = scenarios.flatMap((each) => (each.kind === "etcd" ? [each] : []));
  const apart = scenarios.flatMap((each) => (each.kind === "apart" ? [each] : []));
  let isRemote = false;
  if (here.length > 0) {
    const use = (cluster: MeasuredCluster): Promise<void> => {
      isRemote = cluster.isRemote;
      return runner.onCluster(cluster, here);
    };
    await withCluster(options.cluster, { progress, use, signal });
  }
  const leaveOut = (left: readonly Scenario[], why: string): void => {
    if (left.length > 0) progress.reporter.notice(`${why}: ${left.map(({ name }) => name).join(", ")}`);
  };
  if (isRemote) leaveOut(there, "not beside a remote cluster");
  else if (etcd === null) leaveOut(there, "no etcd on the PATH");
  else if (there.length > 0 && !runner.isInterrupted) await runner.onEtcd(there);
  if (options.cluster === null) await runner.apart(apart);
  else leaveOut(apart, "not with --cluster, which they do not use");
  const { rows } = runner;
  return {
    format: 1,
    measuredAt,
    commit: commitHere(),
    machine: thisMachine(etcd),
    secondsEach: options.measureMs / 1000,
    rows,
    failed: runner.failed,
    ratios: ratiosOf(rows),
    receiptsVerified: runner.verifySamples(),
  };
}

function show(report: Report, progress: Progress): void {
  for (const table of tablesOf(report)) progress.line(`\n${textTable(table)}`);
  progress.line(`\n${report.receiptsVerified} receipts of sampled answers verified offline`);
  for (const warning of warningsOf(report)) progress.reporter.notice(warning);
}
