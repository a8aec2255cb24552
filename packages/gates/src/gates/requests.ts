import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { TestOperator, startTestCluster } from "@event-anchoring/testkit/cluster";
import { MixedLoad, Recorder } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";
import { OpenApiReader, knownValues } from "@event-anchoring/testkit/openapi";
import type { KnownValues } from "@event-anchoring/testkit/openapi";
import { drive } from "../requests/drive.ts";
import { heldSockets } from "../requests/held-sockets.ts";
import type { Door } from "../requests/raw-connection.ts";
import { RequestSource } from "../requests/request-source.ts";
import { CHECKOUT } from "./checkout.ts";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

/** Below what a node allows one address, with a gateway beside. */
const CONNECTIONS_PER_DOOR = 64;
/** After so many, sockets and processes are counted: a failure that is not one request's has these seeds. */
const ROUND = 50_000;
/** What an API key and the gateway allow: above it the answer would be 429. */
const RATE = 1_000_000;
/** Each of a writer's rounds writes every kind of record. */
const RECORDS = 30;
const CLOSED_TIMEOUT_MS = 30_000;

/** What strangers send. */
export const REQUESTS: Gate = {
  name: "requests",
  counts: "requests made from the OpenAPI document, and their mutated bytes, to nodes by both ways, and to the gateway",
  fails: "an unplanned 5xx, a request without an answer, a process that ended, a socket that is not let go",
  toReach: 1_500_000,
  firstStop: 300_000,
  sources: [...SERVICE_SOURCES, "deploy/gateway/haproxy.cfg"],
  missing: () => (process.platform === "linux" ? null : "sockets are counted by what /proc says"),
  run: async (batch) => {
    const setup = await startTestCluster();
    try {
      await requestsOfACluster(setup, batch);
    } finally {
      await setup.erase();
    }
  },
};

async function requestsOfACluster(setup: TestCluster, batch: Batch): Promise<void> {
  const reader = new OpenApiReader(JSON.parse(readFileSync(join(CHECKOUT, "docs/openapi.json"), "utf8")));
  const operator = await TestOperator.of(setup);
  const { apiKey } = await operator.createKey({
    label: "requests",
    scopes: ["read", "write", "revoke", "admin"],
    requestsPerSecond: RATE,
  });
  const known = await recordSome(setup);
  const source = new RequestSource({ reader, known, apiKey, host: "localhost" });
  const statusOf = statusesOf(reader);
  for (let from = batch.from; !batch.isOver();) {
    const before = processesOf(setup);
    const gateway = isGatewayThere ? await startGateway(setup) : null;
    const doors = [...nodeDoors(setup), ...(gateway === null ? [] : [gatewayDoor(gateway)])];
    const plan = { ...batch, doors, connectionsPerDoor: CONNECTIONS_PER_DOOR, statusOf };
    const seeds = `${from} to ${from + ROUND - 1}`;
    const first = from;
    try {
      from = await drive({ ...plan, request: (seed) => source.request(seed), from, until: from + ROUND });
    } finally {
      await gateway?.stop();
    }
    // What a gateway would have been sent goes to the nodes: the counts say so.
    if (gateway === null) batch.note(0, from - 1, { "without a gateway, for want of haproxy": from - first });
    if (processesOf(setup) !== before) {
      batch.fail({ seed: seeds, what: `a process ended: ${setup.notices.slice(-3).join("; ")}` });
    }
    for (const what of await notLetGo(nodeDoors(setup))) batch.fail({ seed: seeds, what });
  }
}

function startGateway({ cluster }: TestCluster): Promise<GatewayProcess> {
  return GatewayProcess.start({
    nodes: cluster.file.nodes.map(({ api_url: url }) => new URL(url).host) as [string, string, string],
    environment: { GATEWAY_REQUESTS_PER_10S: String(RATE) },
  });
}

function gatewayDoor({ port, ca }: GatewayProcess): Door {
  return { name: "gateway", port, ca };
}

function nodeDoors({ cluster }: TestCluster): readonly Door[] {
  return cluster.file.nodes.map(({ id, api_url: url }) => ({ name: id, port: Number(new URL(url).port), ca: null }));
}

function processesOf({ cluster, notices }: TestCluster): string {
  return JSON.stringify([cluster.file.nodes.map(({ pids }) => pids), notices.length]);
}

/** Waits until the servers have let go of every connection. @returns a line for each server that has not */
export async function notLetGo(doors: readonly Door[], timeoutMs = CLOSED_TIMEOUT_MS): Promise<readonly string[]> {
  const lines = doors.map(async ({ name, port }) => {
    const isFree = until(`${name} lets go of its sockets`, () => heldSockets(port) === 0, timeoutMs);
    return isFree.then(
      () => [],
      () => [`${name} still holds ${heldSockets(port)} sockets of clients that have gone`],
    );
  });
  return (await Promise.all(lines)).flat();
}

/** Records of every kind, with which requests get past their shape. */
async function recordSome(setup: TestCluster): Promise<KnownValues> {
  const recorder = new Recorder();
  const load = MixedLoad.start(setup, recorder, "known", { writers: 1, batchEvents: 4 });
  await load.more(RECORDS);
  await load.stop();
  const { anchored } = recorder;
  const idOf = (wanted: string, place = 0): string => {
    const found = anchored.filter(({ kind }) => kind === wanted)[place];
    if (found === undefined) throw new Error(`no ${wanted} was recorded`);
    return found.anchorId;
  };
  const [node] = setup.cluster.file.nodes;
  const headers = { authorization: `Bearer ${setup.apiKey}` };
  const answer = await fetch(`${node?.api_url ?? ""}/v1/event-anchors/${idOf("claim")}`, { headers });
  const { anchor } = (await answer.json()) as { readonly anchor: { readonly entity_fingerprint: string } };
  const made = {
    claim: idOf("claim"),
    grantee: idOf("claim", 1),
    grant: idOf("grant"),
    event: idOf("event"),
    signed: idOf("signed_event"),
    revoked: idOf("grant"),
    revocation: idOf("revocation"),
    entity: anchor.entity_fingerprint,
  };
  return knownValues(made, node?.origin_fingerprint ?? "");
}

/** The status of each problem code, by the document. */
function statusesOf({ operations }: OpenApiReader): (code: string) => number | undefined {
  const codes = operations.flatMap(({ answers }) =>
    [...answers].flatMap(([status, answer]) => answer.codes.map((code) => [code, status] as const)),
  );
  const statuses = new Map(codes);
  return (code) => statuses.get(code);
}
