import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CliError, EXIT } from "./cli-error.ts";
import { readText } from "./read-input.ts";

/** What this program uses of an embedded cluster's `cluster.json`. */
export interface NearbyCluster {
  readonly folder: string;
  readonly state: string;
  readonly apiKey: string | null;
  readonly nodes: readonly { readonly id: string; readonly apiUrl: string }[];
}

const CLUSTER_FILE_BYTES_MAX = 1024 * 1024;

/** The folder `.anchoring` here or in the nearest folder above; null if there is none. */
export function findNearestCluster(from: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const candidate = join(folder, ".anchoring");
    if (existsSync(join(candidate, "cluster.json"))) return candidate;
    if (folder === dirname(folder)) return null;
  }
}

/** @throws CliError */
export function readNearbyCluster(folder: string): NearbyCluster {
  const path = join(folder, "cluster.json");
  const damaged = new CliError(EXIT.usage, "cluster_file_damaged", `${path} is not a cluster file`);
  let value: unknown;
  try {
    value = JSON.parse(readText(path, CLUSTER_FILE_BYTES_MAX));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw damaged;
  }
  if (!isRecord(value) || typeof value.state !== "string" || !Array.isArray(value.nodes)) throw damaged;
  const nodes = value.nodes.map((node: unknown) => {
    if (!isRecord(node) || typeof node.id !== "string" || typeof node.api_url !== "string") throw damaged;
    return { id: node.id, apiUrl: node.api_url };
  });
  return { folder, state: value.state, apiKey: typeof value.api_key === "string" ? value.api_key : null, nodes };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
