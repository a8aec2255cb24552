/** What a person has set once, for all commands: the environment before the config file. docs/anchorctl.md. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { isRecord } from "./nearest-cluster.ts";
import { readText } from "./read-input.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One place where something can be set; null and empty: it is not set there. */
export interface SettingsLevel {
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** Folder with cluster.json. */
  readonly cluster: string | null;
  /** Origin that is written to, 64 hex digits. */
  readonly originFingerprint: string | null;
  /** Files, oldest version first. */
  readonly trustRoots: readonly string[];
  readonly rootThk: string | null;
  /** As it was written. */
  readonly timeoutS: string | null;
}

export interface Settings {
  readonly environment: SettingsLevel;
  readonly file: SettingsLevel;
}

/** Environment variables, each with what it is for. */
export const VARIABLES = {
  ANCHORCTL_CONFIG: "config file (default: ~/.config/anchorctl/config.json)",
  ANCHORCTL_API_URLS: "base addresses of nodes, separated by commas",
  ANCHORCTL_API_KEY: "API key; ANCHORING_API_KEY is the same",
  ANCHORCTL_CLUSTER: "folder with cluster.json",
  ANCHORCTL_ORIGIN: "origin fingerprint to write to",
  ANCHORCTL_TRUST_ROOTS: "files of signed trust roots, oldest first, separated by commas",
  ANCHORCTL_ROOT_THK: "pinned hash of the first trust root",
  ANCHORCTL_TIMEOUT: "seconds to try, over all nodes",
  NO_COLOR: "no colours on a terminal either",
} as const;

const NOTHING: SettingsLevel = {
  apiUrls: [],
  apiKey: null,
  cluster: null,
  originFingerprint: null,
  trustRoots: [],
  rootThk: null,
  timeoutS: null,
};

const CONFIG_BYTES_MAX = 64 * 1024;
const OTHERS_MAY_READ = 0o077;

/** @throws CliError `usage` for a config file that is damaged, or holds a key and is open to others */
export function readSettings(environment: Environment): Settings {
  return { environment: levelOfEnvironment(environment), file: levelOfFile(environment) };
}

const wordOf = (text: string | undefined): string | null => (text === undefined || text === "" ? null : text);

const listOf = (text: string | undefined): readonly string[] => (text ?? "").split(",").filter((item) => item !== "");

function levelOfEnvironment(environment: Environment): SettingsLevel {
  return {
    apiUrls: listOf(environment["ANCHORCTL_API_URLS"]),
    apiKey: wordOf(environment["ANCHORCTL_API_KEY"]) ?? wordOf(environment["ANCHORING_API_KEY"]),
    cluster: wordOf(environment["ANCHORCTL_CLUSTER"]),
    originFingerprint: wordOf(environment["ANCHORCTL_ORIGIN"]),
    trustRoots: listOf(environment["ANCHORCTL_TRUST_ROOTS"]),
    rootThk: wordOf(environment["ANCHORCTL_ROOT_THK"]),
    timeoutS: wordOf(environment["ANCHORCTL_TIMEOUT"]),
  };
}

/** Folder of this person's files; null where there is no home. */
function configHome(environment: Environment): string | null {
  const home = wordOf(environment["HOME"]);
  return wordOf(environment["XDG_CONFIG_HOME"]) ?? (home === null ? null : join(home, ".config"));
}

/** Where this program keeps what it has seen; null where there is no home. */
export function stateHome(environment: Environment): string | null {
  const home = wordOf(environment["HOME"]);
  const base = wordOf(environment["XDG_STATE_HOME"]) ?? (home === null ? null : join(home, ".local", "state"));
  return base === null ? null : join(base, "anchorctl");
}

function levelOfFile(environment: Environment): SettingsLevel {
  const given = wordOf(environment["ANCHORCTL_CONFIG"]);
  const home = configHome(environment);
  const path = given ?? (home === null ? null : join(home, "anchorctl", "config.json"));
  if (path === null || (given === null && !existsSync(path))) return NOTHING;
  return parseConfig(path, readText(path, CONFIG_BYTES_MAX));
}

const FIELDS = [
  "api_urls",
  "api_key",
  "cluster",
  "origin_fingerprint",
  "trust_roots",
  "root_thk",
  "timeout_seconds",
] as const;

function parseConfig(path: string, text: string): SettingsLevel {
  const fail = (message: string): CliError => new CliError(EXIT.usage, "config_invalid", `${path}: ${message}`);
  const config = jsonOf(text);
  if (!isRecord(config)) throw fail("it is not a JSON object");
  const unknown = Object.keys(config).find((name) => !FIELDS.some((field) => field === name));
  if (unknown !== undefined) throw fail(`${unknown} is none of ${FIELDS.join(", ")}`);
  const textAt = (name: (typeof FIELDS)[number]): string | null => {
    const value = config[name] ?? null;
    if (value !== null && typeof value !== "string") throw fail(`${name} is a text`);
    return value;
  };
  const textsAt = (name: (typeof FIELDS)[number]): readonly string[] => {
    const value: unknown = config[name] ?? [];
    if (!Array.isArray(value)) throw fail(`${name} is a list of texts`);
    return value.map((item: unknown) => {
      if (typeof item !== "string") throw fail(`${name} is a list of texts`);
      return item;
    });
  };
  const apiKey = textAt("api_key");
  if (apiKey !== null && (statSync(path).mode & OTHERS_MAY_READ) !== 0) {
    throw fail("it holds an API key and others can read it: chmod 600");
  }
  const seconds = config["timeout_seconds"] ?? null;
  if (seconds !== null && typeof seconds !== "number") throw fail("timeout_seconds is a number");
  const located = (file: string): string => (isAbsolute(file) ? file : resolve(dirname(path), file));
  const cluster = textAt("cluster");
  return {
    apiUrls: textsAt("api_urls"),
    apiKey,
    cluster: cluster === null ? null : located(cluster),
    originFingerprint: textAt("origin_fingerprint"),
    trustRoots: textsAt("trust_roots").map(located),
    rootThk: textAt("root_thk"),
    timeoutS: seconds === null ? null : String(seconds),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says that it is no JSON.
    return null;
  }
}
