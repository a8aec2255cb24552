import type { MeasuredCluster } from "../load/measured-cluster.ts";
import type { PlannedLoad } from "./scenario.ts";
import { eventBatches, singleEvents } from "./events.ts";
import { inTurn, latestOfEach } from "./reads.ts";

interface WarmUpLoad {
  readonly name: string;
  /** Share of the time for warming up, 0 to 1. */
  readonly share: number;
  readonly planned: PlannedLoad;
}

/** The three ways through a node that rows take: single writes, batches, reads. */
export async function warmUpLoads(cluster: MeasuredCluster): Promise<readonly WarmUpLoad[]> {
  const { origins } = cluster;
  const at = { unit: "anchors", place: "all nodes", hasReceipts: false } as const;
  return [
    { name: "single writes", share: 0.5, planned: { ...at, workload: singleEvents(origins), clients: 64 } },
    { name: "batches", share: 0.25, planned: { ...at, workload: eventBatches(origins, 500), clients: 4 } },
    {
      name: "reads",
      share: 0.25,
      planned: { ...at, workload: inTurn(await latestOfEach(cluster), '"tree_size":'), clients: 64 },
    },
  ];
}
