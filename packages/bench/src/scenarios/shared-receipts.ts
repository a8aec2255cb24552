import type { Place } from "../load/measured-cluster.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt, eventBatches } from "./events.ts";

/** One checkpoint for the whole answer, and for each item its leaf and its path. */
const FIELD = '"receipts":"shared",';

function shared(size: number, clients: number, place: Place): LoadScenario {
  return {
    kind: "load",
    name: `batches of ${size.toLocaleString("en")} with shared receipts, ${clientsAt(clients, place)}`,
    plan: async (cluster) => ({
      workload: eventBatches(cluster.origins, size, { fields: FIELD }),
      unit: "anchors",
      clients,
      place,
      hasReceipts: true,
    }),
  };
}

export const SHARED_RECEIPT_SCENARIOS: readonly LoadScenario[] = [
  shared(500, 4, "all nodes"),
  shared(1000, 8, "all nodes"),
];
