/** The results of a benchmark, as `--json` prints them. Times are in milliseconds unless a name says otherwise. */
import { CLIENT } from "@event-anchoring/testkit/overload";

export type Unit = "anchors" | "puts" | "requests" | "receipts";

/** What was measured: this service, etcd beside it, or the offline verification of a client. */
export type System = "anchoring" | "etcd" | "client";

export interface Usage {
  /** Processor time for 1,000 of what was done, by kind of process, summed over all processes of the kind. */
  readonly cpuMsPerThousand: Readonly<Record<string, number>>;
  /** The largest resident set of one process of each kind, in MB (10^6 bytes). */
  readonly peakMb: Readonly<Record<string, number>>;
  /** Share of the machine's processors that other programs used meanwhile: above 0.05 the row means little. */
  readonly otherShare: number;
}

/**
 * What the cluster did during a load, all nodes together unless a name says otherwise. Counts depend on the machine far
 * less than times do.
 */
export interface Counts {
  /** Good answers meanwhile, in units. */
  readonly answered: number;
  /** Entries of the log, on the leader: commands of clients, and what the leader adds by itself. */
  readonly entries: number;
  /** Leaves decided on the leader. */
  readonly leaves: number;
  /** Frames between nodes, and their bytes. */
  readonly frames: number;
  readonly frameBytes: number;
  /** The part of these bytes that the leader sent. */
  readonly leaderSentBytes: number;
  /** Processor time of the main thread of the leader's control plane: its event loop. */
  readonly leaderLoopMs: number;
  /** Transactions of the databases, of which nearly all are one statement; null where they cannot be asked. */
  readonly transactions: number | null;
  /** How often threads of each kind of process were woken. */
  readonly wakeUps: Readonly<Record<string, number>>;
}

/** Load of one kind for a while. */
export interface LoadRow {
  readonly type: "load";
  readonly system: System;
  readonly scenario: string;
  readonly clients: number;
  readonly unit: Unit;
  readonly unitsPerRequest: number;
  /** The unmeasured lead-in, until the rate was steady. */
  readonly leadIn: { readonly seconds: number; readonly isSteady: boolean };
  readonly seconds: number;
  /** Good answers within `seconds`. */
  readonly requests: number;
  /** In units. */
  readonly ratePerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers other than the expected one, by status; `0` = no answer. */
  readonly failures: Readonly<Record<string, number>>;
  /** Null where the system does not tell. */
  readonly usage: Usage | null;
  /** Null for other systems, for processes on other machines, and where a node was started anew meanwhile. */
  readonly counts: Counts | null;
  /** Rows of two systems with the same shape are compared. Null: nothing to compare with. */
  readonly shape: string | null;
}

/** Something that takes its time, done once or several times. */
export interface TimesRow {
  readonly type: "times";
  readonly scenario: string;
  readonly measure: string;
  readonly ms: readonly number[];
}

/** A figure of another kind. */
export interface FigureRow {
  readonly type: "figure";
  readonly scenario: string;
  readonly measure: string;
  readonly value: number;
  /** As in `bytes`; empty for a ratio. */
  readonly unit: string;
}

export type Row = LoadRow | TimesRow | FigureRow;

/** A scenario that failed. */
export interface Failed {
  readonly scenario: string;
  readonly reason: string;
}

/** The same shape of load, on both systems. */
export interface Ratio {
  readonly shape: string;
  readonly anchorsPerSecond: number;
  readonly putsPerSecond: number;
  /** Ratio of the rates: above 1 the anchors are ahead. */
  readonly rate: number;
  /** Ratio of the medians: below 1 the anchors are ahead. null if the shapes differ. */
  readonly p50: number | null;
}

export interface Machine {
  readonly cores: number;
  readonly model: string;
  readonly memoryMb: number;
  readonly node: string;
  readonly platform: string;
  /** The first line of `etcd --version`; null where there is none. */
  readonly etcd: string | null;
}

export interface Report {
  readonly format: 1;
  /** RFC 3339. */
  readonly measuredAt: string;
  /** The commit of this checkout, with `+` if files were changed; null if unknown. */
  readonly commit: string | null;
  readonly machine: Machine;
  readonly secondsEach: number;
  readonly rows: readonly Row[];
  readonly failed: readonly Failed[];
  readonly ratios: readonly Ratio[];
  /** How many receipts were verified offline: every one in the sampled answers. */
  readonly receiptsVerified: number;
}

/** Every pair of rows with one shape, in the order of the anchors' rows. */
export function ratiosOf(rows: readonly Row[]): readonly Ratio[] {
  const loads = rows.flatMap((row) => (row.type === "load" && row.shape !== null ? [row] : []));
  return loads.flatMap((anchors) => {
    const puts = loads.find(({ system, shape }) => system === "etcd" && shape === anchors.shape);
    if (anchors.system !== "anchoring" || puts === undefined || anchors.shape === null) return [];
    return [ratioOf(anchors.shape, anchors, puts)];
  });
}

/** The best rate of each, whatever the shape: batches here, puts or transactions there. Null unless both were run. */
export function ratioOfBest(rows: readonly Row[]): Ratio | null {
  const best = (system: System, unit: Unit): LoadRow | null => {
    const loads = rows.flatMap((row) =>
      row.type === "load" && row.system === system && row.unit === unit ? [row] : [],
    );
    return loads.toSorted((a, b) => b.ratePerSecond - a.ratePerSecond)[0] ?? null;
  };
  const anchors = best("anchoring", "anchors");
  const puts = best("etcd", "puts");
  if (anchors === null || puts === null) return null;
  return { ...ratioOf("the best of each, whatever the shape", anchors, puts), p50: null };
}

function ratioOf(shape: string, anchors: LoadRow, puts: LoadRow): Ratio {
  return {
    shape,
    anchorsPerSecond: anchors.ratePerSecond,
    putsPerSecond: puts.ratePerSecond,
    rate: anchors.ratePerSecond / puts.ratePerSecond,
    p50: anchors.p50Ms / puts.p50Ms,
  };
}

/** The largest share of the processors that others used in any row; 0 if unknown. */
export function otherShareOf(rows: readonly Row[]): number {
  return Math.max(0, ...rows.map((row) => (row.type === "load" ? (row.usage?.otherShare ?? 0) : 0)));
}

export function hasFailed(row: Row): boolean {
  return row.type === "load" && (row.requests === 0 || Object.keys(row.failures).length > 0);
}

/** Processor time of the servers alone: all kinds but the one that makes the load. */
export function serviceCpu({ cpuMsPerThousand }: Usage): number {
  return Object.entries(cpuMsPerThousand).reduce((sum, [kind, ms]) => (kind === CLIENT ? sum : sum + ms), 0);
}
