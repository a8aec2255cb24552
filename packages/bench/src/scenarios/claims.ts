import { partyOf } from "@event-anchoring/testkit/records";
import { newClaimBody, newParty, signedInAdvance } from "../load/parties.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt } from "./events.ts";

/** Every claim has a fresh entity and a fresh subject key. */
export const CLAIMS: LoadScenario = {
  kind: "load",
  name: `claims, ${clientsAt(64, "all nodes")}`,
  plan: async ({ origins }) => {
    const issuer = partyOf("issuer");
    const prepared = signedInAdvance(origins, (origin) => ({
      path: "/v1/claim-anchors",
      body: JSON.stringify(newClaimBody(origin, newParty(), issuer)),
    }));
    return {
      workload: { ...prepared, unitsPerRequest: 1, isGood: ({ status }) => status === 201 },
      unit: "anchors",
      clients: 64,
      place: "all nodes",
      hasReceipts: true,
    };
  },
};
