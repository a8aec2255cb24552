import { randomBytes } from "node:crypto";
import type { Workload } from "./scenarios.ts";

/** By api_url: the origin that writes to this node name. */
export type Origins = ReadonlyMap<string, string>;

function randomEvent(): string {
  return `"event_hash":"${randomBytes(32).toString("hex")}"`;
}

export function singleEvents(origins: Origins): Workload {
  return {
    name: "events",
    anchorsPerRequest: 1,
    next: (apiUrl) => ({
      path: "/v1/event-anchors",
      body: `{"origin_fingerprint":"${origins.get(apiUrl) ?? ""}",${randomEvent()}}`,
    }),
    isGood: ({ status }) => status === 201,
  };
}

export function eventBatches(origins: Origins, size: number): Workload {
  return {
    name: `batches of ${size}`,
    anchorsPerRequest: size,
    next: (apiUrl) => ({
      path: "/v1/event-anchors/batch",
      body: `{"origin_fingerprint":"${origins.get(apiUrl) ?? ""}","events":[${randomEvents(size)}]}`,
    }),
    isGood: ({ status, text }) => status === 200 && text.includes(`"created":${size}`),
  };
}

function randomEvents(count: number): string {
  return Array.from({ length: count }, () => `{${randomEvent()}}`).join(",");
}
