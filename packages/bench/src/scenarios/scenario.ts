import type { EtcdCluster } from "../etcd/etcd-cluster.ts";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster, Place } from "../load/measured-cluster.ts";
import type { Progress } from "../report/progress.ts";
import type { LoadRow, Row, Unit } from "../figures/rows.ts";

/** A load on the cluster, as the runner is to make it. */
export interface PlannedLoad {
  readonly workload: Workload;
  readonly unit: Unit;
  readonly clients: number;
  readonly place: Place;
  /** Answers hold receipts; some are kept and verified in the end. */
  readonly hasReceipts: boolean;
  readonly goals?: readonly LoadGoal[];
  readonly shape?: string;
}

/** The target, with everything on two cores. */
export interface LoadGoal {
  readonly text: string;
  readonly isMet: (figures: Pick<LoadRow, "ratePerSecond" | "p50Ms">) => boolean;
}

export function rateAtLeast(perSecond: number): LoadGoal {
  return {
    text: `≥ ${perSecond.toLocaleString("en")}/s`,
    isMet: ({ ratePerSecond }) => ratePerSecond >= perSecond,
  };
}

export function medianAtMost(ms: number): LoadGoal {
  return { text: `p50 ≤ ${ms} ms`, isMet: ({ p50Ms }) => p50Ms <= ms };
}

/** A load on the cluster. What it needs there (parties, a chain …) is made by `plan`. */
export interface LoadScenario {
  readonly kind: "load";
  readonly name: string;
  readonly plan: (cluster: MeasuredCluster, progress: Progress) => Promise<PlannedLoad>;
}

/** Anything else about the cluster. */
export interface ClusterScenario {
  readonly kind: "cluster";
  readonly name: string;
  /** Stops and starts nodes: not for a cluster that another process supervises. */
  readonly needsOwn: boolean;
  /** Takes minutes: run only when selected by name. */
  readonly isOptIn: boolean;
  readonly run: (cluster: MeasuredCluster, stage: Stage) => Promise<readonly Row[]>;
}

export interface Stage {
  readonly progress: Progress;
  readonly measureMs: number;
  readonly leadInMs: number;
}

/** A load on three members of etcd. */
export interface EtcdScenario {
  readonly kind: "etcd";
  readonly name: string;
  readonly plan: (etcd: EtcdCluster) => Promise<EtcdLoad>;
}

export interface EtcdLoad {
  readonly workload: Workload;
  readonly clients: number;
  readonly urls: readonly string[];
  readonly shape: string;
}

export type Scenario = LoadScenario | ClusterScenario | EtcdScenario;
