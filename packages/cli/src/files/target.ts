import { CliError, EXIT } from "../terminal/cli-error.ts";
import { openRunningCluster } from "./nearest-cluster.ts";
import type { Settings, SettingsLevel } from "./settings.ts";

/** Which service a command talks to. */
export interface Target extends FoundTarget {
  /** Called with the reason why no node has answered yet, before all nodes are asked again. */
  readonly onWait: (reason: string) => void;
}

export interface FoundTarget {
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** Folder of the embedded cluster it was learnt from; null when addresses were given. */
  readonly clusterFolder: string | null;
  /** Control planes, `host:port`, of the nodes in the same order; empty where they are not known. */
  readonly controlAddresses: readonly string[];
  /** Origin that is written to, 64 hex digits; null: that of the node that answers first. */
  readonly originFingerprint: string | null;
}

export interface TargetOptions {
  /** What the command line gives. */
  readonly flags: Pick<SettingsLevel, "apiUrls" | "cluster" | "originFingerprint">;
  readonly settings: Settings;
  readonly workingDir: string;
}

const API_KEY_VARIABLE = "ANCHORCTL_API_KEY";

const HEX_32 = /^[0-9a-f]{64}$/iu;

/**
 * The first of command line, environment and config file that names a service decides which; then the nearest
 * `.anchoring`. A cluster folder has a key of its own, which is behind that of the environment and before the file's.
 * @throws CliError when no service is known
 */
export function findTarget({ flags, settings, workingDir }: TargetOptions): FoundTarget {
  const levels = [flags, settings.environment, settings.file];
  const level = levels.find(({ apiUrls, cluster }) => apiUrls.length > 0 || cluster !== null);
  const originFingerprint = originOf(levels);
  const { apiKey } = settings.environment;
  if (level !== undefined && level.apiUrls.length > 0) {
    const apiUrls = level.apiUrls.map(assertAddress);
    const key = apiKey ?? settings.file.apiKey;
    return { apiUrls, apiKey: key, clusterFolder: null, controlAddresses: [], originFingerprint };
  }
  const cluster = openRunningCluster(level?.cluster ?? null, workingDir, "--api-url <address>");
  return {
    apiUrls: cluster.nodes.map(({ apiUrl }) => apiUrl),
    apiKey: apiKey ?? cluster.apiKey ?? settings.file.apiKey,
    clusterFolder: cluster.folder,
    controlAddresses: cluster.nodes.flatMap(({ controlAddress }) => controlAddress ?? []),
    originFingerprint,
  };
}

/** @throws CliError `origin_invalid` */
export function originOf(levels: readonly Pick<SettingsLevel, "originFingerprint">[]): string | null {
  const given = levels.find(({ originFingerprint }) => originFingerprint !== null)?.originFingerprint ?? null;
  if (given === null || HEX_32.test(given)) return given?.toLowerCase() ?? null;
  throw new CliError(EXIT.usage, "origin_invalid", `an origin fingerprint has 64 hex digits, not: ${given}`);
}

/** @throws CliError `api_url_invalid` */
export function assertAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return text.replace(/\/+$/u, "");
  throw new CliError(EXIT.usage, "api_url_invalid", `a node's address begins with http:// or https://, not: ${text}`);
}

/** @throws CliError for a target without an API key */
export function apiKeyOf(target: Target): string {
  if (target.apiKey !== null) return target.apiKey;
  throw new CliError(EXIT.usage, "api_key_missing", `no API key: set ${API_KEY_VARIABLE}`);
}
