/** Events, one at a time and in batches: the service's main load. */
import { randomBytes } from "node:crypto";
import { anOriginAt } from "../load/measured-cluster.ts";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster, Origins, Place } from "../load/measured-cluster.ts";
import type { LoadScenario } from "./scenario.ts";

/** The fields of one event, as JSON without its braces. */
type MakeEvent = () => string;

/** Nothing but a hash. */
const hashAlone: MakeEvent = () => `"event_hash":"${randomBytes(32).toString("hex")}"`;

export function singleEvents(origins: Origins, make: MakeEvent = hashAlone): Workload {
  return {
    unitsPerRequest: 1,
    next: (url) => ({
      path: "/v1/event-anchors",
      body: `{"origin_fingerprint":"${anOriginAt(origins, url)}",${make()}}`,
    }),
    isGood: ({ status }) => status === 201,
  };
}

export interface BatchOptions {
  readonly make?: MakeEvent;
  /** Fields of the request beside origin and events, as JSON; each ends with a comma. */
  readonly fields?: string;
}

export function eventBatches(
  origins: Origins,
  size: number,
  { make = hashAlone, fields = "" }: BatchOptions = {},
): Workload {
  const events = (): string => Array.from({ length: size }, () => `{${make()}}`).join(",");
  return {
    unitsPerRequest: size,
    next: (url) => ({
      path: "/v1/event-anchors/batch",
      body: `{"origin_fingerprint":"${anOriginAt(origins, url)}",${fields}"events":[${events()}]}`,
    }),
    isGood: ({ status, body }) => status === 200 && body.includes(`"created":${size}`),
  };
}

export function clientsAt(clients: number, place: Place): string {
  return `${clients === 1 ? "1 client" : `${clients} clients`}, ${place}`;
}

export function single(clients: number, place: Place): LoadScenario {
  const at = clientsAt(clients, place);
  return {
    kind: "load",
    name: `single writes, ${at}`,
    plan: async (cluster: MeasuredCluster) => ({
      workload: singleEvents(cluster.origins),
      unit: "anchors",
      clients,
      place,
      hasReceipts: true,
      shape: `one at a time, ${at}`,
    }),
  };
}

export function batches(size: number, clients: number, place: Place): LoadScenario {
  const [shown, at] = [size.toLocaleString("en"), clientsAt(clients, place)];
  return {
    kind: "load",
    name: `batches of ${shown}, ${at}`,
    plan: async (cluster: MeasuredCluster) => ({
      workload: eventBatches(cluster.origins, size),
      unit: "anchors",
      clients,
      place,
      hasReceipts: true,
      shape: `${shown} at a time, ${at}`,
    }),
  };
}

export const EVENT_SCENARIOS: readonly LoadScenario[] = [
  single(1, "leader"),
  single(1, "follower"),
  single(16, "all nodes"),
  single(64, "all nodes"),
  single(64, "leader"),
  single(256, "all nodes"),
  batches(500, 1, "all nodes"),
  batches(100, 4, "all nodes"),
  batches(500, 4, "all nodes"),
  batches(500, 4, "leader"),
  batches(1000, 4, "all nodes"),
  batches(1000, 8, "all nodes"),
];
