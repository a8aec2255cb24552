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
import type { Drive, PlannedAnswers } from "../requests/drive.ts";
import { heldSockets } from "../requests/held-sockets.ts";
import { notClosed, openFiles } from "../requests/open-files.ts";
import type { WatchedProcess } from "../requests/open-files.ts";
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
/**
 * What a process opens when it first needs it, and then keeps. An api process: 9 connections to Postgres, as its pools
 * allow (4 for reads, 1 for vital ones, 4 of the thread of costly reads), and 3 more. A control plane: its links to
 * both peers once more (2 lanes, 2 directions), while the old ones last.
 */
const KEPT = { api: 12, control_plane: 8 } as const;

/** What strangers send. */
export const REQUESTS: Gate = {
  name: "requests",
  counts: "requests made from the OpenAPI document, and their mutated bytes, to nodes by both ways, and to the gateway",
  fails: "an unplanned 5xx, no answer, a process that ended, a socket or file that is not let go",
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
  const planned = plannedAnswers(reader);
  let watched = watchedProcesses(setup);
  for (let from = batch.from; !batch.isOver();) {
    const before = processesOf(setup);
    const first = from;
    const seeds = `${first} to ${first + ROUND - 1}`;
    const request = source.request.bind(source);
    const round = {
      ...batch,
      ...planned,
      connectionsPerDoor: CONNECTIONS_PER_DOOR,
      apiKey,
      request,
      from,
      until: from + ROUND,
    };
    const { next, held } = await roundOf(setup, round);
    from = next;
    // What a gateway would have been sent goes to the nodes: the counts say so.
    if (!isGatewayThere) batch.note(0, from - 1, { "without a gateway, for want of haproxy": from - first });
    const leaks = [...held, ...(await notClosed(watched, CLOSED_TIMEOUT_MS))];
    for (const what of leaks) batch.fail({ seed: seeds, what });
    if (processesOf(setup) !== before) {
      batch.fail({ seed: seeds, what: `a process ended: ${setup.notices.slice(-3).join("; ")}` });
      watched = watchedProcesses(setup);
    }
  }
}

interface RoundEnd {
  /** The first seed that was not sent. */
  readonly next: number;
  /** A line for each server that has not let go of its clients' connections. */
  readonly held: readonly string[];
}

/** Sends the requests of a round to the nodes, and to a gateway before them that lasts as long as the round. */
async function roundOf(setup: TestCluster, round: Omit<Drive, "doors">): Promise<RoundEnd> {
  const nodes = nodeDoors(setup);
  if (!isGatewayThere) {
    const next = await drive({ ...round, doors: nodes });
    return { next, held: await notLetGo(nodes) };
  }
  const gateway = await startGateway(setup);
  const before = gatewayDoor(gateway);
  let next: number;
  let held: readonly string[];
  try {
    next = await drive({ ...round, doors: [...nodes, before] });
    held = await notLetGo([before]);
  } finally {
    await gateway.stop();
  }
  // The gateway keeps connections to nodes for its next clients: they are counted when it is gone.
  return { next, held: [...held, ...(await notLetGo(nodes))] };
}

function startGateway({ cluster }: TestCluster): Promise<GatewayProcess> {
  return GatewayProcess.start({
    nodes: cluster.file.nodes.map(({ api_url: url }) => new URL(url).host) as [string, string, string],
    environment: { GATEWAY_REQUESTS_PER_10S: String(RATE) },
  });
}

function gatewayDoor({ port, ca }: GatewayProcess): Door {
  return { name: "gateway", port, ca, isNode: false };
}

function nodeDoors({ cluster }: TestCluster): readonly Door[] {
  return cluster.file.nodes.map(({ id, api_url: url }) => {
    return { name: id, port: Number(new URL(url).port), ca: null, isNode: true };
  });
}

/** With what each process holds now. */
function watchedProcesses({ cluster }: TestCluster): readonly WatchedProcess[] {
  return cluster.file.nodes.flatMap(({ id, pids }) =>
    (["api", "control_plane"] as const).flatMap((process) => {
      const pid = pids[process];
      const before = pid === null ? null : openFiles(pid);
      if (pid === null || before === null) return [];
      return [{ name: `${process} of ${id}`, pid, before, kept: KEPT[process] }];
    }),
  );
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

/** What the document says of answers of 500 and more. */
export function plannedAnswers({ operations }: OpenApiReader): PlannedAnswers {
  const codes = operations.flatMap(({ answers }) =>
    [...answers].flatMap(([status, answer]) => answer.codes.map((code) => [code, status] as const)),
  );
  const statuses = new Map(codes);
  const unready = operations.filter(({ answers }) => answers.get(503)?.codes.length === 0);
  return { statusOf: (code) => statuses.get(code), unreadyPaths: new Set(unready.map(({ path }) => path)) };
}
