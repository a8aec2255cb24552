import { until } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

/** Kills the leader's api and control-plane processes as a crash would, and waits until others run in their place. */
export async function killLeader(setup: TestCluster): Promise<void> {
  const leader = await setup.leader();
  for (const pid of [leader.pids.control_plane, leader.pids.api]) {
    if (pid === null) throw new Error(`${leader.id} has a process that does not run`);
    process.kill(pid, "SIGKILL");
  }
  await until("cluster.json names other processes", () => {
    const { pids } = setup.entry(leader.id);
    return pids.api !== null && pids.control_plane !== null && pids.control_plane !== leader.pids.control_plane;
  });
}
