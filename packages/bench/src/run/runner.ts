import { EtcdCluster } from "../etcd/etcd-cluster.ts";
import { trustRootsOf } from "@event-anchoring/testkit/cluster";
import { measureLoad } from "../load/measure-load.ts";
import type { LoadFigures, MeasuredLoad, Sight, Timing } from "../load/measure-load.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { verifySamples } from "../load/verify-samples.ts";
import { number, rowText } from "../report/cells.ts";
import type { Failed, LoadRow, Row } from "../figures/rows.ts";
import type {
  ApartScenario,
  ClusterScenario,
  EtcdScenario,
  LoadScenario,
  PlannedLoad,
  Stage,
} from "../scenarios/scenario.ts";
import { ETCD_WARM_UP } from "../scenarios/etcd-puts.ts";
import { warmUpLoads } from "../scenarios/warm-up.ts";

type OnCluster = LoadScenario | ClusterScenario;

interface Sampled {
  readonly trustRoot: MeasuredCluster["trustRoot"];
  readonly answers: string[];
}

/** Runs scenarios one after another, and shows each row as it comes. */
export class Runner {
  readonly rows: Row[] = [];
  readonly failed: Failed[] = [];
  /** Some answers of each cluster, as JSON text, whose receipts are to be verified. */
  readonly #samples = new Map<string, Sampled>();
  readonly #stage: Stage;
  readonly #signal: AbortSignal | null;

  constructor(stage: Stage, signal: AbortSignal | null) {
    this.#stage = stage;
    this.#signal = signal;
  }

  get isInterrupted(): boolean {
    return this.#signal?.aborted === true;
  }

  async onCluster(cluster: MeasuredCluster, scenarios: readonly OnCluster[]): Promise<void> {
    await this.warmUp(cluster);
    for (const scenario of scenarios) {
      if (this.isInterrupted) return;
      const missing = whatIsMissing(scenario, cluster, this.rows);
      if (missing !== null) {
        this.#stage.progress.reporter.notice(`${scenario.name}: ${missing}`);
        continue;
      }
      await this.#attempt(scenario.name, async () =>
        scenario.kind === "load"
          ? [await this.loadRow(nameOn(cluster, scenario), scenario, cluster)]
          : scenario.run(cluster, this.#stage),
      );
    }
  }

  /** What begins with a cluster of its own, or needs none. */
  async apart(scenarios: readonly ApartScenario[]): Promise<void> {
    const stage = {
      ...this.#stage,
      signal: this.#signal,
      warmUp: (cluster: MeasuredCluster) => this.warmUp(cluster),
      measure: (name: string, scenario: LoadScenario, cluster: MeasuredCluster) =>
        this.loadRow(name, scenario, cluster),
    };
    for (const scenario of scenarios) {
      if (this.isInterrupted) return;
      await this.#attempt(scenario.name, () => scenario.run(stage));
    }
  }

  async onEtcd(scenarios: readonly EtcdScenario[]): Promise<void> {
    const { reporter } = this.#stage.progress;
    const etcd = await reporter.step("starting three members of etcd", () => EtcdCluster.start());
    try {
      if (this.#stage.warmUpMs > 0) await this.#etcdRow(ETCD_WARM_UP, etcd, this.#warmUpTiming(1));
      for (const scenario of scenarios) {
        if (this.isInterrupted) return;
        await this.#attempt(scenario.name, async () => [await this.#etcdRow(scenario, etcd, this.#stage)]);
      }
    } finally {
      await reporter.step("stopping etcd", () => etcd.stop());
    }
  }

  /** Loads of each kind in turn, unmeasured: V8 takes about a minute to compile what is used often. */
  async warmUp(cluster: MeasuredCluster): Promise<void> {
    if (this.#stage.warmUpMs === 0) return;
    const loads = await warmUpLoads(cluster);
    for (const { name, share, planned } of loads) {
      if (this.isInterrupted) return;
      await this.#figures(`warming up, ${name}`, await onCluster(cluster, planned), this.#warmUpTiming(share));
    }
  }

  /** @param beforeMeasure between the lead-in and what is measured, while the load goes on */
  async loadRow(
    name: string,
    scenario: LoadScenario,
    cluster: MeasuredCluster,
    beforeMeasure: () => Promise<void> = async () => {},
  ): Promise<LoadRow> {
    const planned = await scenario.plan(cluster, this.#stage.progress);
    const load = await onCluster(cluster, planned);
    const { answers } = this.#samplesOf(cluster);
    const onSample = planned.hasReceipts ? { onSample: (answer: string) => void answers.push(answer) } : {};
    const figures = await this.#figures(name, { ...load, ...onSample, beforeMeasure }, this.#stage);
    const { clients, unit, workload, shape = null } = planned;
    const { unitsPerRequest } = workload;
    return { type: "load", system: "anchoring", scenario: name, clients, unit, unitsPerRequest, ...figures, shape };
  }

  /** @returns how many receipts of all samples verify offline. @throws for one that does not */
  verifySamples(): number {
    return [...this.#samples.values()].reduce(
      (sum, { trustRoot, answers }) => sum + verifySamples(answers, trustRootsOf(trustRoot)),
      0,
    );
  }

  #samplesOf({ trustRoot }: MeasuredCluster): Sampled {
    const sampled = this.#samples.get(trustRoot.root_thk) ?? { trustRoot, answers: [] };
    this.#samples.set(trustRoot.root_thk, sampled);
    return sampled;
  }

  #warmUpTiming(share: number): Timing {
    return { leadInMs: 0, measureMs: this.#stage.warmUpMs * share };
  }

  async #etcdRow({ name, plan }: EtcdScenario, etcd: EtcdCluster, timing: Timing): Promise<LoadRow> {
    const { shape, workload, clients, urls } = await plan(etcd);
    const headers = { "content-type": "application/json" };
    const load = { workload, clients, urls, headers, groups: etcd.groups, readCounts: async () => null };
    const figures = await this.#figures(name, load, timing);
    const { unitsPerRequest } = workload;
    return { type: "load", system: "etcd", scenario: name, clients, unit: "puts", unitsPerRequest, ...figures, shape };
  }

  async #figures(name: string, load: Omit<MeasuredLoad, "timing" | "onSight">, timing: Timing): Promise<LoadFigures> {
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
    progress.line(`  ${name}: ${[...(rates.length === 0 ? [] : [leadIn()]), measured].join("; ")}`);
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
      if (row.type !== "load" || row.system === "client") this.#stage.progress.line(`  ${rowText(row)}`);
      this.rows.push(row);
    }
  }
}

/** Why a scenario is left out on this cluster; null: it is not. */
function whatIsMissing(scenario: OnCluster, cluster: MeasuredCluster, rows: readonly Row[]): string | null {
  if (scenario.kind === "load") {
    const isMeasured = rows.some((row) => row.scenario === nameOn(cluster, scenario));
    return isMeasured ? "measured already, by the gateway" : null;
  }
  if (scenario.needs === "own" && cluster.own === null) return "not with --cluster: it stops and starts nodes";
  if (scenario.needs === "processes" && cluster.isRemote) return "not on other machines: it needs the processes";
  return null;
}

const PLACE = /, (?:leader|follower|all nodes)$/u;

/** A load on a remote cluster goes through its gateway, which chooses the node. */
function nameOn(cluster: MeasuredCluster, { name }: LoadScenario): string {
  return cluster.isRemote ? name.replace(PLACE, ", gateway") : name;
}

/** A planned load with its servers and the processes behind them, as they are now. */
async function onCluster(
  cluster: MeasuredCluster,
  { workload, clients, place }: PlannedLoad,
): Promise<Omit<MeasuredLoad, "timing" | "onSight">> {
  return {
    workload,
    clients,
    urls: await cluster.urlsAt(place),
    headers: cluster.headers,
    groups: cluster.groups,
    readCounts: () => cluster.readCounts(),
  };
}
