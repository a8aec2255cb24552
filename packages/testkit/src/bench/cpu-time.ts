import { readFileSync, readdirSync } from "node:fs";
import type { ClusterFileNode } from "@event-anchoring/dev-cluster";

/** Processor time of the cluster's processes, in milliseconds since they began, over all nodes. */
export interface CpuTime {
  readonly api: number;
  readonly control_plane: number;
  /** The servers with all their backends. */
  readonly postgres: number;
  /** This process, which makes the load. */
  readonly client: number;
}

/** USER_HZ, which Linux fixes at 100 for every program. */
const MS_PER_TICK = 10;
const PPID = 1;
const UTIME = 11;
const STIME = 12;

/** Null where there is no /proc: the benchmark then does without. */
export function cpuTime(nodes: readonly ClusterFileNode[]): CpuTime | null {
  if (process.platform !== "linux") return null;
  const processes = new Map<number, { readonly parent: number; readonly ms: number }>();
  for (const name of readdirSync("/proc")) {
    const fields = /^\d+$/u.test(name) ? statFields(Number(name)) : null;
    if (fields === null) continue;
    const ms = (Number(fields[UTIME]) + Number(fields[STIME])) * MS_PER_TICK;
    processes.set(Number(name), { parent: Number(fields[PPID]), ms });
  }
  const own = (pid: number | null): number => processes.get(pid ?? -1)?.ms ?? 0;
  const withChildren = (pid: number | null): number =>
    [...processes.values()].reduce((sum, { parent, ms }) => (parent === pid ? sum + ms : sum), own(pid));
  const total = (of: (node: ClusterFileNode) => number): number => nodes.reduce((sum, node) => sum + of(node), 0);
  const { user, system } = process.cpuUsage();
  return {
    api: total(({ pids }) => own(pids.api)),
    control_plane: total(({ pids }) => own(pids.control_plane)),
    postgres: total(({ pids }) => withChildren(pids.postgres)),
    client: (user + system) / 1000,
  };
}

/** What was used between two readings, in microseconds for each of `count` anchors. */
export function cpuPerAnchor(before: CpuTime | null, after: CpuTime | null, count: number): CpuTime | null {
  if (before === null || after === null || count === 0) return null;
  const each = (name: keyof CpuTime): number => Math.round(((after[name] - before[name]) * 1000) / count);
  return {
    api: each("api"),
    control_plane: each("control_plane"),
    postgres: each("postgres"),
    client: each("client"),
  };
}

/** Fields of /proc/<pid>/stat from the third on; null when the process has ended meanwhile. */
function statFields(pid: number): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // The process ended between the listing and the reading.
    return null;
  }
}
