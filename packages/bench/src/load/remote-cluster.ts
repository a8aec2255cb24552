import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ClusterFile } from "@event-anchoring/dev-cluster";
import type { Endpoint } from "./measured-cluster.ts";

/** A cluster on other machines, reached as its clients reach it: by its gateway, or by several. */
export interface RemoteCluster {
  readonly apiKey: string;
  readonly endpoints: readonly Endpoint[];
  readonly trustRoot: ClusterFile["trust_root"];
}

const HASH = /^[0-9a-f]{64}$/u;

/** @throws with what is wrong with the file; docs/benchmarks.md describes it */
export function readRemoteCluster(path: string): RemoteCluster {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  const problem = (what: string): Error => new Error(`${path}: ${what}; docs/benchmarks.md describes the file`);
  if (typeof value !== "object" || value === null) throw problem("not a JSON object");
  const {
    api_key_file: key,
    trust_root_file: root,
    root_thk: pin,
    endpoints,
  }: Partial<Record<string, unknown>> = { ...value };
  if (typeof key !== "string") throw problem("api_key_file is missing");
  if (typeof root !== "string") throw problem("trust_root_file is missing");
  if (typeof pin !== "string" || !HASH.test(pin)) throw problem("root_thk is not 64 hex digits");
  if (!Array.isArray(endpoints) || endpoints.length === 0) throw problem("endpoints are missing");
  const beside = (name: string): string => readFileSync(resolve(dirname(path), name), "utf8");
  return {
    apiKey: beside(key).trim(),
    trustRoot: { version: 1, root_thk: pin, document: beside(root) },
    endpoints: endpoints.map((endpoint: unknown) => {
      if (!isEndpoint(endpoint)) throw problem("an endpoint has a url, and origins of 64 hex digits");
      return { url: endpoint.url.replace(/\/+$/u, ""), origins: endpoint.origins };
    }),
  };
}

function isEndpoint(value: unknown): value is Endpoint {
  if (typeof value !== "object" || value === null) return false;
  const { url, origins }: { url?: unknown; origins?: unknown } = value;
  if (typeof url !== "string" || !/^https?:\/\//u.test(url) || !Array.isArray(origins)) return false;
  return origins.length > 0 && origins.every((each) => typeof each === "string" && HASH.test(each));
}
