import { createBatchSchema } from "@event-anchoring/api-contract";
import type { Place } from "../load/measured-cluster.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt, eventBatches } from "./events.ts";

/** In the request of a batch: one checkpoint for the whole answer, and for each item its leaf and its path. */
const FIELD = '"receipts":"shared",';

/** The contract of this build may not know the field yet. */
function missing(): string | null {
  const zeros = "0".repeat(64);
  const body: unknown = JSON.parse(`{"origin_fingerprint":"${zeros}",${FIELD}"events":[{"event_hash":"${zeros}"}]}`);
  return createBatchSchema.safeParse(body).success ? null : 'this build does not know "receipts": "shared" in a batch';
}

function shared(size: number, clients: number, place: Place): LoadScenario {
  return {
    kind: "load",
    name: `batches of ${size.toLocaleString("en")} with shared receipts, ${clientsAt(clients, place)}`,
    missing,
    plan: async (cluster) => ({
      workload: eventBatches(cluster.origins, size, { fields: FIELD }),
      unit: "anchors",
      clients,
      place,
      hasReceipts: false,
    }),
  };
}

export const SHARED_RECEIPT_SCENARIOS: readonly LoadScenario[] = [
  shared(500, 4, "all nodes"),
  shared(1000, 8, "all nodes"),
];
