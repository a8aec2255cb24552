import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DEFAULT_LIMIT_SETTINGS, DEFAULT_PUBLIC_RATES, LIMITS } from "@event-anchoring/api-contract";
import { SettingsError, WitnessedLogsError, parseWitnessedLogs, readSettings } from "@event-anchoring/control-contract";
import type { WitnessedLog } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { parseNetwork } from "../access/addresses.ts";
import type { PublicRates } from "../access/public-log.ts";
import { DEFAULT_CONNECTION_RULES } from "../http/connections.ts";
import type { ConnectionRules } from "../http/connections.ts";

const address = z.strictObject({ host: z.string().min(1), port: z.number().int().min(0).max(65_535) });
const hex32 = z.string().regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits are expected");

const network = z
  .string()
  .refine((text) => parseNetwork(text) !== null, "an address, or a network such as 10.0.0.0/8, is expected");

/** A log sends a head a second at most; its nodes may have one address. */
const DEFAULT_WITNESS_RATES = { addressRequestsPerSecond: 10, requestsPerSecond: 50 } as const;

const rate = z.int().min(1).max(LIMITS.unsigned32Max);

const limits = z.strictObject({
  key_requests_per_second: rate.nullable().default(DEFAULT_LIMIT_SETTINGS.keyRequestsPerSecond),
  address_connections: z.number().int().min(1).default(DEFAULT_CONNECTION_RULES.perAddressMax),
  /** Tokens a second on a public log: of one address without a key, and of all of them. */
  public_address_requests_per_second: rate.default(DEFAULT_PUBLIC_RATES.addressRequestsPerSecond),
  public_requests_per_second: rate.default(DEFAULT_PUBLIC_RATES.requestsPerSecond),
  /** Tokens a second as a witness: of one address, and of all of them. */
  witness_address_requests_per_second: rate.default(DEFAULT_WITNESS_RATES.addressRequestsPerSecond),
  witness_requests_per_second: rate.default(DEFAULT_WITNESS_RATES.requestsPerSecond),
});

const configSchema = z.strictObject({
  node_id: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -, a letter first, are expected"),
  cluster_id: hex32,
  origin_fingerprint: hex32,
  /** Holds root-thk.txt; without it the first trust root is accepted as the control plane has verified it. */
  identity_dir: z.string().min(1).optional(),
  /** With a role that can only read. */
  database_url: z.string().regex(/^postgres(ql)?:\/\//, "a URL that begins with postgresql:// is expected"),
  /** Unix socket of the node's control plane. */
  control_socket: z.string().min(1).max(107),
  listen: address,
  /** PEM files of the listener; absent: plain HTTP. */
  tls: z.strictObject({ certificate: z.string().min(1), key: z.string().min(1) }).optional(),
  /** A private address: this listener needs no key. */
  metrics: address,
  log_level: z.enum(["debug", "info", "warn", "error"]).default("info"),
  /** Which requests get a line: a gateway in front writes one for each already. */
  access_log: z.enum(["none", "problems", "all"]).default("none"),
  /** Gateways and load balancers: many clients have their address. */
  proxies: z.array(network).default([]),
  /** Whether checkpoints, tiles, receipts and trust roots are shown to anybody. */
  public_log: z.boolean().default(false),
  /** The logs that this node witnesses, as its control plane has them; null: none. */
  witness: z
    .strictObject({ logs: z.string().min(1) })
    .nullable()
    .default(null),
  limits: limits.default(limits.parse({})),
});

/** The settings of an api process: `docs/operating/configuration.md`. */
export const API_SETTINGS = { schema: configSchema, prefix: "ANCHORING_API__" };

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
