import { partyOf } from "@event-anchoring/testkit/records";
import { NO_GRANT, newGrantBody, register, signedInAdvance } from "../load/parties.ts";
import type { Registered } from "../load/parties.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt } from "./events.ts";

/** Claims between whom grants are given: every ordered pair of them is used once. */
const PARTIES = 400;

/** Every grant is between two parties that have none yet. */
export const GRANTS: LoadScenario = {
  kind: "load",
  name: `grants, ${clientsAt(64, "all nodes")}`,
  plan: async (cluster, { reporter }) => {
    const parties = await reporter.step(`registering ${PARTIES} parties`, () => register(cluster, PARTIES));
    const witness = partyOf("witness");
    const pairs = pairsOf(parties);
    const prepared = signedInAdvance(cluster.origins, (origin) => {
      const { value: pair } = pairs.next();
      if (pair === undefined) return null;
      const [grantor, grantee] = pair;
      const body = newGrantBody({ origin, grantor, grantee, parent: NO_GRANT, depth: 0 }, witness);
      return { path: "/v1/grant-anchors", body: JSON.stringify(body) };
    });
    return {
      workload: { ...prepared, unitsPerRequest: 1, isGood: ({ status }) => status === 201 },
      unit: "anchors",
      clients: 64,
      place: "all nodes",
      hasReceipts: true,
    };
  },
};

function* pairsOf(parties: readonly Registered[]): Generator<readonly [Registered, Registered], undefined> {
  for (let distance = 1; distance < parties.length; distance++) {
    for (const [at, grantor] of parties.entries()) {
      const grantee = parties[(at + distance) % parties.length];
      if (grantee !== undefined) yield [grantor, grantee];
    }
  }
}
