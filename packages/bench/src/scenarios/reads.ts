/** Linearizable reads, and what the service verifies and traces when it is asked. */
import { randomBytes } from "node:crypto";
import { bytesToHex, hexToBytes, toAnchorId } from "@event-anchoring/protocol";
import { partyOf } from "@event-anchoring/testkit/records";
import type { HttpRequest } from "@event-anchoring/testkit/clients";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster, Place } from "../load/measured-cluster.ts";
import { NO_GRANT, newGrantBody, preparing, register, withFirstNode, withNode } from "../load/parties.ts";
import type { LoadScenario } from "./scenario.ts";
import { clientsAt } from "./events.ts";

/** Grants of the chain that is verified and traced. */
const CHAIN_LINKS = 5;
/** As many as one batch may have. */
const EVENTS = 1000;

/** Requests in turn, whose answers all have status 200 and say `expected`. */
export function inTurn(requests: readonly HttpRequest[], expected: string): Workload {
  let turn = 0;
  return {
    unitsPerRequest: 1,
    next: () => requests[turn++ % requests.length] ?? null,
    isGood: ({ status, body }) => status === 200 && body.includes(expected),
  };
}

interface Question {
  readonly name: string;
  readonly clients: number;
  readonly place: Place;
  readonly hasReceipts?: boolean;
  readonly expected: string;
  readonly ask: (cluster: MeasuredCluster) => Promise<readonly HttpRequest[]>;
}

function question({ name, clients, place, hasReceipts = false, expected, ask }: Question): LoadScenario {
  return {
    kind: "load",
    name: `${name}, ${clientsAt(clients, place)}`,
    plan: async (cluster, { reporter }) => {
      const requests = await reporter.step(`what is asked for: ${name}`, () => ask(cluster));
      return { workload: inTurn(requests, expected), unit: "requests", clients, place, hasReceipts };
    },
  };
}

/** Requests of every origin in turn, at whatever node: each answer waits for a read index from a quorum. */
export async function latestOfEach(cluster: MeasuredCluster): Promise<readonly HttpRequest[]> {
  // An origin without an anchor has no latest one.
  for (const [apiUrl, origins] of cluster.origins) {
    await withNode(cluster, apiUrl, 1, async (client) => {
      for (const origin_fingerprint of origins) {
        await preparing(() => client.createEvent({ origin_fingerprint, event_hash: randomHash() }));
      }
    });
  }
  return [...cluster.origins.values()].flat().map((origin) => ({
    path: `/v1/event-anchors/latest?origin_fingerprint=${origin}`,
    body: null,
  }));
}

async function verifyOne(cluster: MeasuredCluster): Promise<readonly HttpRequest[]> {
  const ids = await someEvents(cluster);
  return ids.map((id) => ({ path: "/v1/event-anchors:verify", body: JSON.stringify({ anchor_id: id }) }));
}

async function verifyMany(cluster: MeasuredCluster): Promise<readonly HttpRequest[]> {
  const anchors = (await someEvents(cluster)).map((id) => ({ anchor_id: id }));
  return [{ path: "/v1/event-anchors:batchVerify", body: JSON.stringify({ anchors }) }];
}

async function verifyChain(cluster: MeasuredCluster): Promise<readonly HttpRequest[]> {
  const { grant } = await chainOf(cluster);
  return [{ path: "/v1/grant-anchors:verify", body: JSON.stringify({ anchor_id: grant }) }];
}

async function traceUnderChain(cluster: MeasuredCluster): Promise<readonly HttpRequest[]> {
  const { event } = await chainOf(cluster);
  return [{ path: `/v1/event-anchors/${event}/trace`, body: null }];
}

/** Anchors a batch. @returns the ids of its events */
async function someEvents(cluster: MeasuredCluster): Promise<readonly string[]> {
  const events = Array.from({ length: EVENTS }, () => ({ event_hash: randomHash() }));
  return withFirstNode(cluster, 1, async (client, origin) => {
    const { results } = await preparing(() => client.createEvents({ origin_fingerprint: origin, events }));
    return results.map(({ anchor }) => anchor?.anchor_id ?? "");
  });
}

/** Delegates along a chain. @returns the last grant, and an event under it */
async function chainOf(cluster: MeasuredCluster): Promise<{ readonly grant: string; readonly event: string }> {
  const parties = await register(cluster, CHAIN_LINKS + 1);
  const witness = partyOf("witness");
  return withFirstNode(cluster, 1, async (client, origin) => {
    let parent = NO_GRANT;
    for (const [link, grantor] of parties.entries()) {
      const grantee = parties[link + 1];
      if (grantee === undefined) break;
      const body = newGrantBody({ origin, grantor, grantee, parent, depth: CHAIN_LINKS - link }, witness);
      const { anchor } = await preparing(() => client.createGrant(body));
      parent = toAnchorId(hexToBytes(anchor.anchor_id, 32));
    }
    const grant = bytesToHex(parent);
    const agent = parties.at(-1)?.claim ?? NO_GRANT;
    const semanticAnchor = { iris_ref: bytesToHex(agent), grant_ref: grant };
    const event = { origin_fingerprint: origin, event_hash: randomHash(), semantic_anchor: semanticAnchor };
    const { anchor } = await preparing(() => client.createEvent(event));
    return { grant, event: anchor.anchor_id };
  });
}

function randomHash(): string {
  return randomBytes(32).toString("hex");
}

const LATEST = { name: "latest (linearizable)", expected: '"tree_size":', ask: latestOfEach, hasReceipts: true };
const VERIFY = { name: "verify an event", expected: '"valid":true', ask: verifyOne, hasReceipts: true };

export const LATEST_64 = question({ ...LATEST, clients: 64, place: "all nodes" });

export const READ_SCENARIOS: readonly LoadScenario[] = [
  question({ ...LATEST, clients: 1, place: "follower" }),
  LATEST_64,
  question({ ...VERIFY, clients: 1, place: "follower" }),
  question({ ...VERIFY, clients: 64, place: "all nodes" }),
  question({
    name: "verify a batch of 1,000 events",
    clients: 1,
    place: "follower",
    expected: `"valid":${EVENTS}`,
    ask: verifyMany,
  }),
  question({
    name: `verify a chain of ${CHAIN_LINKS} grants`,
    clients: 1,
    place: "follower",
    expected: '"valid":true',
    ask: verifyChain,
  }),
  question({
    name: `trace under a chain of ${CHAIN_LINKS} grants`,
    clients: 1,
    place: "follower",
    expected: '"authorised_at_action":true',
    ask: traceUnderChain,
  }),
];
