import type { ProcessName } from "@event-anchoring/dev-cluster";
import { until } from "../until.ts";
import type { FaultyCluster } from "./faulty-cluster.ts";
import { never } from "./nemesis.ts";
import type { Nemesis, Roles } from "./nemesis.ts";
import { processTree, signalAll } from "./process-tree.ts";

const NODE_PROCESSES: readonly ProcessName[] = ["control_plane", "api", "postgres"];

function pidOf(cluster: FaultyCluster, nodeId: string, process: ProcessName): number {
  const pid = cluster.entry(nodeId).pids[process];
  if (pid === null) throw new Error(`${process} of ${nodeId} does not run`);
  return pid;
}

/** Waits until the supervisor has replaced a process that has ended. */
export async function replaced(
  cluster: FaultyCluster,
  nodeId: string,
  process: ProcessName,
  pid: number,
): Promise<void> {
  await until(`${process} of ${nodeId} is started again`, () => {
    const now = cluster.entry(nodeId).pids[process];
    return now !== null && now !== pid;
  });
}

function killed(name: string, who: (roles: Roles) => string, processes: readonly ProcessName[]): Nemesis {
  return {
    name,
    missing: never,
    inject: async (cluster, roles) => {
      const nodeId = who(roles);
      const pids = processes.map((process) => [process, pidOf(cluster, nodeId, process)] as const);
      signalAll(
        pids.map(([, pid]) => pid),
        "SIGKILL",
      );
      return async () => {
        for (const [process, pid] of pids) await replaced(cluster, nodeId, process, pid);
      };
    },
  };
}

/** SIGSTOP to a process and all of its children, SIGCONT in the end: what was open stays open, and nothing answers. */
function paused(name: string, who: (roles: Roles) => string, processes: readonly ProcessName[]): Nemesis {
  return {
    name,
    missing: () => (process.platform === "linux" ? null : "the children of a process are read from /proc"),
    inject: async (cluster, roles) => {
      const nodeId = who(roles);
      const pids = processes.flatMap((process) => processTree(pidOf(cluster, nodeId, process)));
      signalAll(pids, "SIGSTOP");
      return async () => signalAll(pids, "SIGCONT");
    },
  };
}

const leader = ({ leader: id }: Roles): string => id;
const follower = ({ followers: [id] }: Roles): string => id;

/** All power lost: no process of any node is left, and all come back. */
const powerCut: Nemesis = {
  name: "every process of every node is killed",
  missing: never,
  inject: async ({ cluster }) => {
    const nodes = cluster.file.nodes.map(({ id }) => cluster.node(id));
    await Promise.all(nodes.flatMap((node) => [node.killProcesses(), node.killPostgres()]));
    return async () => {
      await Promise.all(nodes.map((node) => node.startPostgres()));
      for (const node of nodes) node.startProcesses();
    };
  },
};

/** Processes that end at once, and processes that stand still for a while. */
export const PROCESS_NEMESES: readonly Nemesis[] = [
  killed("the leader's control plane is killed", leader, ["control_plane"]),
  killed("a follower's control plane is killed", follower, ["control_plane"]),
  killed("the leader's api process is killed", leader, ["api"]),
  killed("all processes of the leader are killed", leader, NODE_PROCESSES),
  killed("all processes of a follower are killed", follower, NODE_PROCESSES),
  paused("the leader's control plane stands still", leader, ["control_plane"]),
  paused("a follower's control plane stands still", follower, ["control_plane"]),
  paused("the leader's api process stands still", leader, ["api"]),
  paused("the leader's Postgres stands still", leader, ["postgres"]),
  paused("a follower's Postgres stands still", follower, ["postgres"]),
  paused("all processes of the leader stand still", leader, NODE_PROCESSES),
  powerCut,
];
