import { statSync } from "node:fs";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { isRecord } from "./nearest-cluster.ts";
import { readText } from "./read-input.ts";
import type { Environment } from "./settings.ts";

/** The tables of one node. */
export interface NodeDatabase {
  readonly url: string;
  /** As the settings name it; null: only the address of a database was given. */
  readonly nodeId: string | null;
}

/** What a command that sets a node up takes from the settings of its control plane. */
export interface NodeSettings {
  readonly nodeId: string;
  /** 64 hex digits. */
  readonly clusterId: string;
  readonly databaseUrl: string;
  readonly identityDir: string;
  readonly promiseFile: string;
}

const SETTINGS_BYTES_MAX = 256 * 1024;
const OTHERS_MAY_READ = 0o077;
const IS_ADDRESS = /^postgres(ql)?:\/\//u;
/** Prefixes of the environment variables of a node's processes; these variables override the file. */
const PREFIXES = { controlPlane: "ANCHORING_CONTROL_PLANE__", api: "ANCHORING_API__" } as const;

/**
 * @param given a postgresql:// address, or the settings file of a node's control plane or api process
 * @throws CliError `usage`
 */
export function nodeDatabaseOf(given: string, environment: Environment): NodeDatabase {
  if (IS_ADDRESS.test(given)) return { url: given, nodeId: null };
  const { valueOf } = settingsIn(given, environment);
  return { url: valueOf("database_url"), nodeId: valueOf("node_id") };
}

/**
 * Where the control plane of a node listens for its api process.
 * @param given as nodeDatabaseOf
 * @returns null: an address of a database says nothing about it
 * @throws CliError `usage`
 */
export function controlSocketOf(given: string, environment: Environment): string | null {
  if (IS_ADDRESS.test(given)) return null;
  const { valueOf, isControlPlane } = settingsIn(given, environment);
  return valueOf(isControlPlane ? "api_socket" : "control_socket");
}

/** @param path the settings file of a control plane @throws CliError `usage` */
export function readNodeSettings(path: string, environment: Environment): NodeSettings {
  const { valueOf } = settingsIn(path, environment);
  return {
    nodeId: valueOf("node_id"),
    clusterId: valueOf("cluster_id"),
    databaseUrl: valueOf("database_url"),
    identityDir: valueOf("identity_dir"),
    promiseFile: valueOf("promise_file"),
  };
}

interface SettingsFile {
  readonly valueOf: (name: string) => string;
  readonly isControlPlane: boolean;
}

function settingsIn(path: string, environment: Environment): SettingsFile {
  const fail = (message: string): CliError => new CliError(EXIT.usage, "settings_invalid", `${path}: ${message}`);
  const values = parsed(readText(path, SETTINGS_BYTES_MAX));
  if (values === null) throw fail("it is not a settings file: one JSON object is expected");
  // Like the node itself: a password may be in it.
  if ((statSync(path).mode & OTHERS_MAY_READ) !== 0) throw fail("it is readable by others; chmod 600 it");
  const isControlPlane = "promise_file" in values;
  const prefix = isControlPlane ? PREFIXES.controlPlane : PREFIXES.api;
  const valueOf = (name: string): string => {
    const value = environment[prefix + name.toUpperCase()] ?? values[name];
    if (typeof value === "string" && value !== "") return value;
    throw fail(`there is no ${name} in it`);
  };
  return { valueOf, isControlPlane };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    // The caller says that it is no settings file; what the parser says may quote a password.
    return null;
  }
}
