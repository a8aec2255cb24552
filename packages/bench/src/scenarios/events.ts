/** Events, one at a time and in batches: the service's main load. */
import { randomBytes } from "node:crypto";
import type { Workload } from "../load/load-generator.ts";
import type { MeasuredCluster, Origins, Place } from "../load/measured-cluster.ts";
import { medianAtMost, rateAtLeast } from "./scenario.ts";
import type { LoadGoal, LoadScenario } from "./scenario.ts";

export function singleEvents(origins: Origins): Workload {
  return {
    unitsPerRequest: 1,
    next: (url) => ({
      path: "/v1/event-anchors",
      body: `{"origin_fingerprint":"${origins.get(url) ?? ""}",${randomEvent()}}`,
    }),
    isGood: ({ status }) => status === 201,
  };
}

export function eventBatches(origins: Origins, size: number): Workload {
  const events = (): string => Array.from({ length: size }, () => `{${randomEvent()}}`).join(",");
  return {
    unitsPerRequest: size,
    next: (url) => ({
      path: "/v1/event-anchors/batch",
      body: `{"origin_fingerprint":"${origins.get(url) ?? ""}","events":[${events()}]}`,
    }),
    isGood: ({ status, body }) => status === 200 && body.includes(`"created":${size}`),
  };
}

function randomEvent(): string {
  return `"event_hash":"${randomBytes(32).toString("hex")}"`;
}

export function clientsAt(clients: number, place: Place): string {
  return `${clients === 1 ? "1 client" : `${clients} clients`}, ${place}`;
}

function single(clients: number, place: Place, goals: readonly LoadGoal[] = []): LoadScenario {
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
      goals,
      shape: `one at a time, ${at}`,
    }),
  };
}

function batches(size: number, clients: number, place: Place, goals: readonly LoadGoal[] = []): LoadScenario {
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
      goals,
      shape: `${shown} at a time, ${at}`,
    }),
  };
}

export const EVENT_SCENARIOS: readonly LoadScenario[] = [
  single(1, "leader", [medianAtMost(3.5)]),
  single(1, "follower"),
  single(16, "all nodes"),
  single(64, "all nodes", [rateAtLeast(5000)]),
  single(64, "leader", [rateAtLeast(5000)]),
  single(256, "all nodes"),
  batches(100, 4, "all nodes"),
  batches(500, 4, "all nodes", [rateAtLeast(18_000)]),
  batches(500, 4, "leader", [rateAtLeast(18_000)]),
  batches(1000, 4, "all nodes"),
];
