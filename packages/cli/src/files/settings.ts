/** What a person has set once, for all commands: the environment before the config file. docs/anchorctl.md. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { nearestName, unknownName } from "@event-anchoring/control-contract";
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
  /** Where the file is; null: there is none. */
  readonly path: string | null;
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
  const path = configPathOf(environment);
  const file = path === null ? NOTHING : parseConfig(path, readText(path, CONFIG_BYTES_MAX));
  return { environment: levelOfEnvironment(environment), file, path };
}

/** A line for each variable with this program's prefix that is none of its settings. */
export function unknownVariables(environment: Environment): readonly string[] {
  const known = Object.keys(VARIABLES);
  const unknown = Object.keys(environment).filter((name) => name.startsWith("ANCHORCTL_") && !known.includes(name));
  return unknown.toSorted().map((name) => `environment: ${name}: ${unknownName(nearestName(name, known))}`);
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

/** A file that was named must be there; the one in its usual place need not. */
function configPathOf(environment: Environment): string | null {
  const given = wordOf(environment["ANCHORCTL_CONFIG"]);
  if (given !== null) return given;
  const home = configHome(environment);
  const path = home === null ? null : join(home, "anchorctl", "config.json");
  return path !== null && existsSync(path) ? path : null;
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

/** A config file that is damaged. */
export class ConfigFileError extends CliError {
  /** A line each. */
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(EXIT.usage, "config_invalid", faults.join("; "));
    this.faults = faults;
  }
}

function parseConfig(path: string, text: string): SettingsLevel {
  const config = jsonOf(text);
  if (!isRecord(config)) throw new ConfigFileError([`${path}: it is not a JSON object`]);
  const faults: string[] = [];
  const fail = (name: string, what: string): void => void faults.push(`${path}: ${name}: ${what}`);
  for (const name of Object.keys(config)) {
    if (!FIELDS.some((field) => field === name)) fail(name, unknownName(nearestName(name, FIELDS)));
  }
  const textAt = (name: (typeof FIELDS)[number]): string | null => {
    const value = config[name] ?? null;
    if (value === null || typeof value === "string") return value;
    fail(name, "a text is expected");
    return null;
  };
  const textsAt = (name: (typeof FIELDS)[number]): readonly string[] => {
    const value: unknown = config[name] ?? [];
    const texts = Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
    if (!Array.isArray(value) || texts.length < value.length) fail(name, "a list of texts is expected");
    return texts;
  };
  const apiKey = textAt("api_key");
  if (apiKey !== null && (statSync(path).mode & OTHERS_MAY_READ) !== 0) {
    fail("api_key", "others can read the file: chmod 600");
  }
  const { timeout_seconds: seconds = null } = config;
  const timeoutS = typeof seconds === "number" ? String(seconds) : null;
  if (seconds !== null && timeoutS === null) fail("timeout_seconds", "a number is expected");
  const located = (file: string): string => (isAbsolute(file) ? file : resolve(dirname(path), file));
  const cluster = textAt("cluster");
  const level = {
    apiUrls: textsAt("api_urls"),
    apiKey,
    cluster: cluster === null ? null : located(cluster),
    originFingerprint: textAt("origin_fingerprint"),
    trustRoots: textsAt("trust_roots").map(located),
    rootThk: textAt("root_thk"),
    timeoutS,
  };
  if (faults.length > 0) throw new ConfigFileError(faults);
  return level;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says that it is no JSON.
    return null;
  }
}
