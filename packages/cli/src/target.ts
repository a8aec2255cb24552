import { CliError, EXIT } from "./cli-error.ts";
import { findNearestCluster, readNearbyCluster } from "./nearest-cluster.ts";

/** Which service a command talks to. */
export interface Target {
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** Folder of the embedded cluster it was learnt from; null when addresses were given. */
  readonly clusterFolder: string | null;
}

export interface TargetOptions {
  /** Given addresses win over any cluster folder. */
  readonly apiUrls: readonly string[];
  /** Folder with cluster.json; null: the nearest `.anchoring`. */
  readonly cluster: string | null;
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const API_KEY_VARIABLE = "ANCHORING_API_KEY";

/** @throws CliError when no service is known */
export function findTarget(options: TargetOptions): Target {
  const givenKey = options.environment[API_KEY_VARIABLE] ?? null;
  if (options.apiUrls.length > 0) {
    const apiUrls = options.apiUrls.map((url) => url.replace(/\/+$/u, ""));
    return { apiUrls, apiKey: givenKey, clusterFolder: null };
  }
  const folder = options.cluster ?? findNearestCluster(options.workingDir);
  if (folder === null) {
    const message = "no cluster found: start one here with npm start, or give --api-url <address>";
    throw new CliError(EXIT.usage, "no_cluster", message);
  }
  const cluster = readNearbyCluster(folder);
  if (cluster.state === "stopped") {
    const message = `the cluster in ${folder} is stopped; start it with npm start`;
    throw new CliError(EXIT.unavailable, "cluster_stopped", message);
  }
  return {
    apiUrls: cluster.nodes.map(({ apiUrl }) => apiUrl),
    apiKey: givenKey ?? cluster.apiKey,
    clusterFolder: folder,
  };
}
