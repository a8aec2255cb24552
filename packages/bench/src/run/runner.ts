import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { EtcdCluster } from "../etcd/etcd-cluster.ts";
import { measureLoad } from "../load/measure-load.ts";
import type { LoadFigures, MeasuredLoad, Sight } from "../load/measure-load.ts";
import { MeasuredCluster } from "../load/measured-cluster.ts";
import type { Progress } from "../report/progress.ts";
import { number, timesCells } from "../report/report-tables.ts";
import type { Failed, LoadRow, Row } from "../figures/rows.ts";
import type { ClusterScenario, EtcdScenario, LoadScenario, PlannedLoad, Stage } from "../scenarios/scenario.ts";
import { singleEvents } from "../scenarios/events.ts";

/** Until the hot paths of six new processes are compiled; before that a write costs twice the processor time. */
const WARM_UP_MS_MAX = 20_000;
const WARM_UP_CLIENTS = 64;

/** Runs scenarios one after another, and shows each row as it comes. */
export class Runner {
  readonly rows: Row[] = [];
  readonly failed: Failed[] = [];
  /** Some answers, as JSON text, whose receipts are to be verified. */
  readonly samples: string[] = [];
  readonly #stage: Stage;
  readonly #isInterrupted: () => boolean;

  constructor(stage: Stage, isInterrupted: () => boolean) {
    this.#stage = stage;
    this.#isInterrupted = isInterrupted;
  }

  async onCluster(cluster: MeasuredCluster, scenarios: readonly (LoadScenario | ClusterScenario)[]): Promise<void> {
    const { progress } = this.#stage;
    if (this.#stage.leadInMs > 0 && !this.#isInterrupted()) await this.#warmUp(cluster);
    for (const scenario of scenarios) {
      if (this.#isInterrupted()) return;
      if (scenario.kind === "cluster" && scenario.needsOwn && cluster.own === null) {
        progress.reporter.notice(`${scenario.name}: not with --cluster, it stops and starts nodes`);
        continue;
      }
      await this.#attempt(scenario.name, async () =>
        scenario.kind === "load" ? [await this.loadRow(scenario, cluster)] : scenario.run(cluster, this.#stage),
      );
    }
  }

  async onEtcd(scenarios: readonly EtcdScenario[]): Promise<void> {
    const { reporter } = this.#stage.progress;
    const etcd = await reporter.step("starting three members of etcd", () => EtcdCluster.start());
    try {
      for (const scenario of scenarios) {
        if (this.#isInterrupted()) return;
        await this.#attempt(scenario.name, async () => [await this.#etcdRow(scenario, etcd)]);
      }
    } finally {
      await reporter.step("stopping etcd", () => etcd.stop());
    }
  }

  async #warmUp(cluster: MeasuredCluster): Promise<void> {
    const leadInMs = Math.min(WARM_UP_MS_MAX, this.#stage.leadInMs * 2);
    const planned: PlannedLoad = {
      workload: singleEvents(cluster.origins),
      unit: "anchors",
      clients: WARM_UP_CLIENTS,
      place: "all nodes",
      hasReceipts: false,
    };
    await this.#figures("warming up", await onCluster(cluster, planned), { leadInMs, measureMs: 0 });
  }

  /** @param beforeMeasure between the lead-in and what is measured, while the load goes on */
  async loadRow(
    scenario: LoadScenario,
    cluster: MeasuredCluster,
    beforeMeasure: () => Promise<void> = async () => {},
  ): Promise<LoadRow> {
    const planned = await scenario.plan(cluster, this.#stage.progress);
    const { name } = scenario;
    const load = await onCluster(cluster, planned);
    const onSample = planned.hasReceipts ? { onSample: (answer: string) => void this.samples.push(answer) } : {};
    const figures = await this.#figures(name, { ...load, ...onSample, beforeMeasure }, this.#stage);
    const { clients, unit, workload, goals = [], shape = null } = planned;
    return {
      type: "load",
      system: "anchoring",
      scenario: name,
      clients,
      unit,
      unitsPerRequest: workload.unitsPerRequest,
      ...figures,
      goals: goals.map(({ text, isMet }) => ({ text, isMet: isMet(figures) })),
      shape,
    };
  }

  async #etcdRow({ name, plan }: EtcdScenario, etcd: EtcdCluster): Promise<LoadRow> {
    const { shape, workload, clients, urls } = await plan(etcd);
    const headers = { "content-type": "application/json" };
    const load = { workload, clients, urls, headers, groups: etcd.groups };
    const figures = await this.#figures(name, load, this.#stage);
    const { unitsPerRequest } = workload;
    return {
      type: "load",
      system: "etcd",
      scenario: name,
      clients,
      unit: "puts",
      unitsPerRequest,
      ...figures,
      goals: [],
      shape,
    };
  }

  async #figures(
    name: string,
    load: Omit<MeasuredLoad, "timing" | "onSight">,
    timing: Pick<Stage, "leadInMs" | "measureMs">,
  ): Promise<LoadFigures> {
    const { progress } = this.#stage;
    const rates: string[] = [];
    const leadIn = (): string => `lead-in ${rates.join(" ")} /s`;
    const onSight = (sight: Sight): void => {
      if (sight.phase === "lead-in") rates.push(number(sight.ratePerSecond));
      progress.state(
        sight.phase === "preparing"
          ? `${name}: ${sight.made.toLocaleString("en")} requests signed`
          : sight.phase === "lead-in"
            ? `${name}: ${leadIn()}`
            : `${name}: measuring, ${number(sight.ratePerSecond)} /s`,
      );
    };
    const figures = await measureLoad({ ...load, timing, onSight });
    const { ratePerSecond, p50Ms, p99Ms } = figures;
    const measured = `${number(ratePerSecond)} /s, p50 ${number(p50Ms)} ms, p99 ${number(p99Ms)} ms`;
    const parts = [...(rates.length === 0 ? [] : [leadIn()]), ...(timing.measureMs === 0 ? [] : [measured])];
    progress.line(`  ${name}: ${parts.join("; ")}`);
    return figures;
  }

  /** A failing scenario does not lose the figures of the others. */
  async #attempt(name: string, run: () => Promise<readonly Row[]>): Promise<void> {
    let rows: readonly Row[];
    try {
      rows = await run();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.failed.push({ scenario: name, reason });
      this.#stage.progress.reporter.notice(`${name}: ${reason}`);
      return;
    }
    for (const row of rows) {
      // A load on servers was reported when its time was over.
      if (row.type === "times") this.#stage.progress.line(`  ${timesCells(row).slice(0, 2).join(": ")} s`);
      else if (row.system === "client") this.#stage.progress.line(`  ${row.scenario}: ${number(row.ratePerSecond)} /s`);
      this.rows.push(row);
    }
  }
}

/** A planned load with its servers and the processes behind them, as they are now. */
async function onCluster(
  cluster: MeasuredCluster,
  { workload, clients, place }: PlannedLoad,
): Promise<Omit<MeasuredLoad, "timing" | "onSight">> {
  return { workload, clients, urls: await cluster.urlsAt(place), headers: cluster.headers, groups: cluster.groups };
}

export interface ClusterUse<Result> {
  /** Of a running cluster; null: start one. */
  readonly folder: string | null;
  readonly progress: Progress;
  /** Ends a start early. */
  readonly signal?: AbortSignal;
  readonly use: (cluster: MeasuredCluster) => Promise<Result>;
}

/** The running cluster of a folder, or one that is started for `use` and erased afterwards. */
export async function withCluster<Result>({ folder, progress, signal, use }: ClusterUse<Result>): Promise<Result> {
  if (folder !== null) return use(MeasuredCluster.running(folder));
  const { reporter } = progress;
  const own = await EmbeddedCluster.start(
    { folder: mkdtempSync(join(tmpdir(), "anchoring-bench-")), reporter },
    signal,
  );
  try {
    return await use(MeasuredCluster.ofOwn(own));
  } finally {
    await reporter.step("stopping the cluster", () => own.erase());
  }
}
