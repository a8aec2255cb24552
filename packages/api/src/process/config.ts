import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  API_SETTINGS,
  SettingsError,
  SettingsFaults,
  WitnessedLogsError,
  parseWitnessedLogs,
  readSettings,
} from "@event-anchoring/control-contract";
import type { WitnessedLog } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { PublicRates } from "../access/public-log.ts";
import type { ConnectionRules } from "../http/connections.ts";

export interface ApiConfig {
  readonly nodeId: string;
  readonly clusterId: string;
  readonly originFingerprint: OriginFingerprint;
  readonly pinnedRootThk: Uint8Array | null;
  readonly databaseUrl: string;
  readonly controlSocket: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** Null: plain HTTP. */
  readonly tls: { readonly certificate: string; readonly key: string } | null;
  readonly metrics: { readonly host: string; readonly port: number };
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly accessLog: "none" | "problems" | "all";
  readonly keyRequestsPerSecond: number | null;
  readonly connections: ConnectionRules;
  /** null: the log is not public. */
  readonly publicRates: PublicRates | null;
  /** null: this node witnesses no other logs. */
  readonly witness: { readonly logs: ReadonlyMap<string, WitnessedLog>; readonly rates: PublicRates } | null;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new SettingsError(`cannot read ${path}`, { cause });
  }
}

function readPinnedRootThk(identityDir: string): Uint8Array {
  const path = join(identityDir, "root-thk.txt");
  const text = readText(path).trimEnd();
  if (!/^[0-9a-f]{64}$/.test(text)) throw new SettingsError(`${path} does not hold 64 hex digits`);
  return hexToBytes(text, 32);
}

function readWitnessedLogs(path: string): ReadonlyMap<string, WitnessedLog> {
  try {
    return parseWitnessedLogs(readText(path), nodeCrypto.sha256);
  } catch (cause) {
    if (cause instanceof WitnessedLogsError) throw new SettingsError(`${path}: ${cause.message}`, { cause });
    throw cause;
  }
}

type Variables = Readonly<Record<string, string | undefined>>;
type Settings = ReturnType<typeof API_SETTINGS.schema.parse>;

function assertPrivate(path: string): void {
  if ((statSync(path).mode & 0o077) !== 0) throw new SettingsError(`${path} is readable by others; chmod 600 it`);
}

/**
 * @param environment its variables that begin with the prefix override the file
 * @throws SettingsError naming every setting and file that is wrong, and what is wrong with it
 */
export function loadConfig(path: string, environment: Variables = {}): ApiConfig {
  const faults = new SettingsFaults();
  const config = readConfig(path, environment, faults);
  faults.assertNone();
  // Without a fault there is a configuration.
  if (config === null) throw new SettingsError(`cannot read ${path}`);
  return config;
}

/** As `loadConfig`, but what is wrong is kept in `faults`. null: the settings cannot be used. */
export function readConfig(path: string, environment: Variables, faults: SettingsFaults): ApiConfig | null {
  const text = faults.take(() => readText(path));
  if (text === null) return null;
  faults.take(() => assertPrivate(path));
  const settings = faults.take(() => readSettings(API_SETTINGS, { path, text, environment }));
  return settings === null ? null : configOf(settings, faults);
}

/** Reads the files that the settings name, too. One that cannot be used is as if it were not named, and a fault. */
function configOf(settings: Settings, faults: SettingsFaults): ApiConfig {
  const { identity_dir: identityDir, limits, witness } = settings;
  const logs = witness === null ? null : faults.take(() => readWitnessedLogs(witness.logs));
  return {
    nodeId: settings.node_id,
    clusterId: settings.cluster_id,
    originFingerprint: toOriginFingerprint(hexToBytes(settings.origin_fingerprint, 32)),
    pinnedRootThk: identityDir === undefined ? null : faults.take(() => readPinnedRootThk(identityDir)),
    databaseUrl: settings.database_url,
    controlSocket: settings.control_socket,
    listen: settings.listen,
    tls: settings.tls ?? null,
    metrics: settings.metrics,
    logLevel: settings.log_level,
    accessLog: settings.access_log,
    keyRequestsPerSecond: limits.key_requests_per_second,
    connections: { perAddressMax: limits.address_connections, proxies: settings.proxies },
    publicRates: settings.public_log
      ? {
          addressRequestsPerSecond: limits.public_address_requests_per_second,
          requestsPerSecond: limits.public_requests_per_second,
        }
      : null,
    witness:
      logs === null
        ? null
        : {
            logs,
            rates: {
              addressRequestsPerSecond: limits.witness_address_requests_per_second,
              requestsPerSecond: limits.witness_requests_per_second,
            },
          },
  };
}
