/** What an api process answers to doctor, which believes none of it without a proof. */
import { isRecord } from "../files/nearest-cluster.ts";
import type { ApiSettings } from "./node-files.ts";

/** Where the api process of these settings listens. */
export function baseOf({ listen, tls }: ApiSettings): string {
  const name = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return `${tls === undefined ? "http" : "https"}://${name}:${listen.port}`;
}

/** The JSON object in a body; an empty one if there is none. */
export function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : {};
  } catch {
    // No JSON: a listener that is not ours; what it lacks is said by the caller.
    return {};
  }
}

/** The objects in a list; empty if it is none. */
export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all.filter(isRecord);
}
