import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { readText } from "./read-input.ts";

/** What this program uses of an embedded cluster's `cluster.json`. */
export interface NearbyCluster {
  readonly folder: string;
  readonly state: string;
  readonly apiKey: string | null;
  readonly nodes: readonly {
    readonly id: string;
    readonly apiUrl: string;
    /** `host:port` of the control plane; null if the file does not say it. */
    readonly controlAddress: string | null;
  }[];
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

/** A cluster that is not stopped: that of the given folder, else the nearest one. @throws CliError */
export function openRunningCluster(given: string | null, workingDir: string, instead: string): NearbyCluster {
  const folder = given ?? findNearestCluster(workingDir);
  if (folder === null) {
    const message = `no cluster found: start one here with npm start, or give ${instead}`;
    throw new CliError(EXIT.usage, "no_cluster", message);
  }
  const cluster = readNearbyCluster(folder);
  if (cluster.state === "stopped") {
    const message = `the cluster in ${folder} is stopped; start it with npm start`;
    throw new CliError(EXIT.unavailable, "cluster_stopped", message);
  }
  return cluster;
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
    const { control_address: controlAddress } = node;
    return {
      id: node.id,
      apiUrl: node.api_url,
      controlAddress: typeof controlAddress === "string" ? controlAddress : null,
    };
  });
  return { folder, state: value.state, apiKey: typeof value.api_key === "string" ? value.api_key : null, nodes };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
