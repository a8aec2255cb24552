import { readFileSync } from "node:fs";
import { until } from "../until.ts";
import type { FaultyCluster } from "./faulty-cluster.ts";
import type { Forgotten, ForgetfulDisks } from "./forgetful-disks.ts";
import { processTree, signalAll } from "./process-tree.ts";

const END_TIMEOUT_MS = 30_000;

interface PowerCut {
  /** Nodes that lose power at once. */
  readonly nodeIds: readonly string[];
  /** Asked for each unsynced page: whether it has reached the disk all the same. */
  readonly isKept: () => boolean;
}

/** The power of some nodes fails: their processes end, and their disks forget. They are down when it resolves. */
export async function cutPower(
  faulty: FaultyCluster,
  disks: ForgetfulDisks,
  { nodeIds, isKept }: PowerCut,
): Promise<readonly Forgotten[]> {
  const { cluster } = faulty;
  const running = nodeIds.flatMap((id) => Object.values(faulty.entry(id).pids)).filter((pid) => pid !== null);
  // What stands still makes no more children.
  signalAll(running, "SIGSTOP");
  const all = running.flatMap((pid) => processTree(pid));
  signalAll(all, "SIGKILL");
  // In the same turn: the supervisor has not heard of an end, and starts nothing again.
  await Promise.all(
    nodeIds.map(async (id) => {
      await Promise.all([cluster.node(id).killProcesses(), cluster.node(id).killPostgres()]);
    }),
  );
  await until("all processes have ended", () => all.every(isEnded), END_TIMEOUT_MS);
  return nodeIds.map((id) => disks.forget(id, isKept));
}

/** Also if nobody has asked for its exit code yet. */
function isEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return true;
    throw error;
  }
}
