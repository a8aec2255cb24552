import { CliError, EXIT } from "./cli-error.ts";
import { openRunningCluster } from "./nearest-cluster.ts";

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
  const cluster = openRunningCluster(options.cluster, options.workingDir, "--api-url <address>");
  return {
    apiUrls: cluster.nodes.map(({ apiUrl }) => apiUrl),
    apiKey: givenKey ?? cluster.apiKey,
    clusterFolder: cluster.folder,
  };
}

/** @throws CliError for a target without an API key */
export function apiKeyOf(target: Target): string {
  if (target.apiKey !== null) return target.apiKey;
  throw new CliError(EXIT.usage, "api_key_missing", `no API key: set ${API_KEY_VARIABLE}`);
}
