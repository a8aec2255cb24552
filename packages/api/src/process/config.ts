import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  API_SETTINGS,
  SettingsError,
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

/**
 * @param environment its variables that begin with the prefix override the file
 * @throws SettingsError naming the setting and what is wrong with it
 */
export function loadConfig(path: string, environment: Variables = {}): ApiConfig {
  const text = readText(path);
  if ((statSync(path).mode & 0o077) !== 0) throw new SettingsError(`${path} is readable by others; chmod 600 it`);
  const config = readSettings(API_SETTINGS, { path, text, environment });
  return {
    nodeId: config.node_id,
    clusterId: config.cluster_id,
    originFingerprint: toOriginFingerprint(hexToBytes(config.origin_fingerprint, 32)),
    pinnedRootThk: config.identity_dir === undefined ? null : readPinnedRootThk(config.identity_dir),
    databaseUrl: config.database_url,
    controlSocket: config.control_socket,
    listen: config.listen,
    tls: config.tls ?? null,
    metrics: config.metrics,
    logLevel: config.log_level,
    accessLog: config.access_log,
    keyRequestsPerSecond: config.limits.key_requests_per_second,
    connections: { perAddressMax: config.limits.address_connections, proxies: config.proxies },
    publicRates: config.public_log
      ? {
          addressRequestsPerSecond: config.limits.public_address_requests_per_second,
          requestsPerSecond: config.limits.public_requests_per_second,
        }
      : null,
    witness:
      config.witness === null
        ? null
        : {
            logs: readWitnessedLogs(config.witness.logs),
            rates: {
              addressRequestsPerSecond: config.limits.witness_address_requests_per_second,
              requestsPerSecond: config.limits.witness_requests_per_second,
            },
          },
  };
}
