import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import type { ClusterFileNode } from "@event-anchoring/dev-cluster";

/** Processes of one kind, whose usage is reported together. */
export interface ProcessGroup {
  /** Such as `api`. */
  readonly kind: string;
  readonly pids: readonly number[];
  /** Whether what they have started belongs to them: the backends of Postgres. */
  readonly hasChildren: boolean;
}

/** The kind of the process that makes the load: the benchmark itself. */
export const CLIENT = "client";

/** What the machine has spent up to a moment, in milliseconds of processor time. */
export interface CpuReading {
  /** By kind, all processes of it. */
  readonly ms: Readonly<Record<string, number>>;
  /** What of it the kernel has spent for them. */
  readonly kernelMs: Readonly<Record<string, number>>;
  /** Time of the whole machine: everything that was not idle, with what its host took. */
  readonly machineMs: number;
  readonly cores: number;
  readonly atMs: number;
}

/** USER_HZ, which Linux fixes at 100 for every program. */
const MS_PER_TICK = 10;
/** Fields of /proc/<pid>/stat, counted from the third, which follows the parenthesised name. */
const UTIME = 11;
const STIME = 12;
const CUTIME = 13;
const CSTIME = 14;

/** The processes of a cluster and this one; those that are down, or on another machine, are left out. */
export function clusterGroups(nodes: readonly ClusterFileNode[]): readonly ProcessGroup[] {
  const of = (name: keyof ClusterFileNode["pids"]): readonly number[] =>
    nodes.flatMap(({ pids }) => (pids[name] === null ? [] : [pids[name]]));
  return [
    { kind: "api", pids: of("api"), hasChildren: false },
    { kind: "control_plane", pids: of("control_plane"), hasChildren: false },
    { kind: "postgres", pids: of("postgres"), hasChildren: true },
    ownGroup(),
  ];
}

export function ownGroup(): ProcessGroup {
  return { kind: CLIENT, pids: [process.pid], hasChildren: false };
}

/** Null where there is no /proc, or one of the processes is not there: the benchmark then does without. */
export function readCpu(groups: readonly ProcessGroup[]): CpuReading | null {
  if (process.platform !== "linux") return null;
  const ms: Record<string, number> = {};
  const kernelMs: Record<string, number> = {};
  for (const { kind, pids, hasChildren } of groups) {
    const each = pids.map((pid) => spentBy(pid, hasChildren));
    if (each.includes(null)) return null;
    const sum = (of: (spent: Spent) => number): number =>
      each.reduce((all, one) => all + (one === null ? 0 : of(one)), 0);
    kernelMs[kind] = sum((spent) => spent.kernelMs);
    ms[kind] = sum((spent) => spent.ownMs) + kernelMs[kind];
  }
  return { ms, kernelMs, machineMs: machineMs(), cores: cpus().length, atMs: performance.now() };
}

/** Processor time in a program's own code, and in the kernel for it. */
interface Spent {
  readonly ownMs: number;
  readonly kernelMs: number;
}

/** Time of a process; with children also of those that live and of those that have ended. */
function spentBy(pid: number, hasChildren: boolean): Spent | null {
  const own = statFields(pid);
  if (own === null) return null;
  const living = hasChildren ? childrenOf(pid).map((child) => statFields(child)) : [];
  const ticks = (place: number, ofEnded: number): number =>
    Number(own[place]) +
    (hasChildren ? Number(own[ofEnded]) : 0) +
    living.reduce((sum, fields) => sum + Number(fields?.[place] ?? 0), 0);
  return { ownMs: ticks(UTIME, CUTIME) * MS_PER_TICK, kernelMs: ticks(STIME, CSTIME) * MS_PER_TICK };
}

/**
 * What its threads have started (proc_pid_task_children(5), which takes CONFIG_PROC_CHILDREN). A search through all of
 * /proc would hold this process for 20 ms each time, and answers that it times would wait.
 */
function childrenOf(pid: number): readonly number[] {
  // Without it, what Postgres takes would be told as that of its first process alone.
  if (process.platform === "linux" && !existsSync(`/proc/${process.pid}/task/${process.pid}/children`)) {
    throw new Error("this kernel does not tell what a process has started: it lacks CONFIG_PROC_CHILDREN");
  }
  return threadsOf(pid).flatMap((thread) => {
    const children = readOfProcess(pid, `task/${thread}/children`) ?? "";
    return children.split(" ").flatMap((child) => (child === "" ? [] : [Number(child)]));
  });
}

/** Idle and waiting for a disk are the fourth and fifth of the columns; guests, the last two, are counted already. */
function machineMs(): number {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  const columns = line.trim().split(/\s+/u).slice(1).map(Number);
  return columns.slice(0, 8).reduce((sum, ticks, at) => (at === 3 || at === 4 ? sum : sum + ticks), 0) * MS_PER_TICK;
}

/** The largest resident set of any one process of each kind since `forgetPeaks`, in MB (10^6 bytes). */
export function readPeaksMb(groups: readonly ProcessGroup[]): Readonly<Record<string, number>> | null {
  if (process.platform !== "linux") return null;
  return Object.fromEntries(
    groups.map((group) => [group.kind, Math.max(0, ...processesOf(group).map((pid) => peakKb(pid) * 1.024e-3))]),
  );
}

/** Lets the peaks begin anew. Where the system forbids it, they count from the start of each process. */
export function forgetPeaks(groups: readonly ProcessGroup[]): void {
  for (const pid of groups.flatMap(processesOf)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, "5");
    } catch {
      // Not ours, ended meanwhile, or no Linux: the peak since its start is what can be told.
    }
  }
}

/** How often each thread went to sleep and was woken again, by kind and thread. */
export type WakeUps = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** Null where the system does not tell. */
export function readWakeUps(groups: readonly ProcessGroup[]): WakeUps | null {
  if (process.platform !== "linux") return null;
  return Object.fromEntries(groups.map((group) => [group.kind, new Map(processesOf(group).flatMap(wakeUpsOf))]));
}

/** By kind; those of a thread that has ended in between are not known. */
export function wakeUpsBetween(before: WakeUps, after: WakeUps): Readonly<Record<string, number>> {
  const sums = Object.entries(after).map(([kind, threads]) => {
    const each = [...threads].map(([thread, count]) => count - (before[kind]?.get(thread) ?? 0));
    return [kind, each.reduce((sum, count) => sum + count, 0)] as const;
  });
  return Object.fromEntries(sums);
}

function wakeUpsOf(pid: number): readonly (readonly [string, number])[] {
  return threadsOf(pid).map((thread) => {
    const status = readOfProcess(pid, `task/${thread}/status`) ?? "";
    return [`${pid}/${thread}`, Number(/^voluntary_ctxt_switches:\s*(\d+)/mu.exec(status)?.[1] ?? 0)];
  });
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // It ended between the listing and the reading.
    return [];
  }
}

/** Processor time of a process's main thread, which runs a Node process's event loop; null where nobody tells. */
export function readMainThreadMs(pid: number): number | null {
  const [nanoseconds] = readOfProcess(pid, `task/${pid}/schedstat`)?.split(" ") ?? [];
  return nanoseconds === undefined ? null : Number(nanoseconds) / 1e6;
}

/** The processes of a group that there are now. */
export function processesOf({ pids, hasChildren }: ProcessGroup): readonly number[] {
  return hasChildren ? pids.flatMap((pid) => [pid, ...childrenOf(pid)]) : pids;
}

function peakKb(pid: number): number {
  return Number(/^VmHWM:\s*(\d+) kB/mu.exec(readOfProcess(pid, "status") ?? "")?.[1] ?? 0);
}

function statFields(pid: number): readonly string[] | null {
  const stat = readOfProcess(pid, "stat");
  return stat === null ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Null when the process has ended. */
function readOfProcess(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    // The process ended between the listing and the reading.
    return null;
  }
}
