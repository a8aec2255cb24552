/** Events as most clients send them: with an id of their own, and with references to who acts under which grant. */
import { randomBytes, randomUUID } from "node:crypto";
import { hexToBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { eventBody, signEvent } from "@event-anchoring/testkit/records";
import type { JsonBody } from "@event-anchoring/testkit/records";
import { registerAgents, signedInAdvance } from "../load/parties.ts";
import type { Agent } from "../load/parties.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt, eventBatches, singleEvents } from "./events.ts";

/** Enough that entries refer to several claims and grants. */
const AGENTS = 16;
const CLIENTS = 64;
const BATCH = 500;
const BATCH_CLIENTS = 4;
const NO_REFERENCE = new Uint8Array(32);

function anyOf(agents: readonly Agent[]): Agent {
  const agent = agents[Math.floor(Math.random() * agents.length)];
  if (agent === undefined) throw new Error("nobody acts");
  return agent;
}

/** The fields of an unsigned event, as JSON. */
function fieldsOf({ claimId, grantId }: Agent): string {
  const hash = randomBytes(32).toString("hex");
  const references = `"iris_ref":"${claimId}","grant_ref":"${grantId}","event_data_hash":"${hash}"`;
  return `"event_hash":"${hash}","client_event_id":"${randomUUID()}","semantic_anchor":{${references}}`;
}

function signedBody(origin: string, { party, claim, grantId }: Agent): JsonBody {
  const originFingerprint = toOriginFingerprint(hexToBytes(origin, 32));
  const eventHash = randomBytes(32);
  const semanticAnchor: SemanticAnchor = {
    irisRef: claim,
    scrollRef: NO_REFERENCE,
    grantRef: hexToBytes(grantId, 32),
    bondRef: NO_REFERENCE,
    yieldRef: NO_REFERENCE,
    eventDataHash: eventHash,
  };
  const content = { originFingerprint, eventHash, semanticAnchor };
  return eventBody({ ...content, clientEventId: randomUUID(), actor: signEvent(content, party) });
}

const USUAL_SINGLE: LoadScenario = {
  kind: "load",
  name: `events with ids and references, ${clientsAt(CLIENTS, "all nodes")}`,
  plan: async (cluster, { reporter }) => {
    const agents = await reporter.step(`registering ${AGENTS} agents`, () => registerAgents(cluster, AGENTS));
    const workload = singleEvents(cluster.origins, () => fieldsOf(anyOf(agents)));
    return { workload, unit: "anchors", clients: CLIENTS, place: "all nodes", hasReceipts: true };
  },
};

const USUAL_BATCHES: LoadScenario = {
  kind: "load",
  name: `batches of ${BATCH} with ids and references, ${clientsAt(BATCH_CLIENTS, "all nodes")}`,
  plan: async (cluster, { reporter }) => {
    const agents = await reporter.step(`registering ${AGENTS} agents`, () => registerAgents(cluster, AGENTS));
    const workload = eventBatches(cluster.origins, BATCH, { make: () => fieldsOf(anyOf(agents)) });
    return { workload, unit: "anchors", clients: BATCH_CLIENTS, place: "all nodes", hasReceipts: true };
  },
};

const SIGNED: LoadScenario = {
  kind: "load",
  name: `signed events with ids and references, ${clientsAt(CLIENTS, "all nodes")}`,
  plan: async (cluster, { reporter }) => {
    const agents = await reporter.step(`registering ${AGENTS} agents`, () => registerAgents(cluster, AGENTS));
    const prepared = signedInAdvance(cluster.origins, (origin) => ({
      path: "/v1/event-anchors",
      body: JSON.stringify(signedBody(origin, anyOf(agents))),
    }));
    const workload = {
      ...prepared,
      unitsPerRequest: 1,
      isGood: ({ status }: { readonly status: number }) => status === 201,
    };
    return { workload, unit: "anchors", clients: CLIENTS, place: "all nodes", hasReceipts: true };
  },
};

export const USUAL_EVENT_SCENARIOS: readonly LoadScenario[] = [USUAL_SINGLE, USUAL_BATCHES, SIGNED];
