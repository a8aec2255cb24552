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
  readonly shape?: string;
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
  /** It stops and starts nodes ("own"), looks at their processes, or does what clients do. */
  readonly needs: "own" | "processes" | "clients";
  /** Takes minutes: run only when selected by name. */
  readonly isOptIn: boolean;
  readonly run: (cluster: MeasuredCluster, stage: Stage) => Promise<readonly Row[]>;
}

/** Something that begins with a new cluster, and ends it; or needs none. */
export interface ApartScenario {
  readonly kind: "apart";
  readonly name: string;
  readonly isOptIn: boolean;
  readonly run: (stage: ApartStage) => Promise<readonly Row[]>;
}

export interface Stage {
  readonly progress: Progress;
  readonly measureMs: number;
  /** At most so long before each row. */
  readonly leadInMs: number;
  /** Once for each cluster. */
  readonly warmUpMs: number;
  /** Anchors of a growth. */
  readonly anchors: number;
}

export interface ApartStage extends Stage {
  readonly signal: AbortSignal | null;
  readonly warmUp: (cluster: MeasuredCluster) => Promise<void>;
  /** @param name in place of the scenario's own */
  readonly measure: (name: string, scenario: LoadScenario, cluster: MeasuredCluster) => Promise<LoadRow>;
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

export type Scenario = LoadScenario | ClusterScenario | ApartScenario | EtcdScenario;
