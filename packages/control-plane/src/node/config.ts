import { readFileSync, statSync } from "node:fs";
import { SettingsError, readSettings } from "@event-anchoring/control-contract";
import { z } from "zod";
import type { PeerAddress } from "../transport/network-types.ts";

/** A setting is missing or wrong; the message names it and says what it must be. */
export const ConfigError = SettingsError;
export type ConfigError = SettingsError;

const nodeId = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -, a letter first, are expected");

const address = z.strictObject({
  /** Name or address to listen on or to connect to. */
  host: z.string().min(1),
  port: z.int().min(1).max(65535),
});

const peers = z.array(z.strictObject({ node_id: nodeId, ...address.shape })).superRefine((listed, context) => {
  listed.forEach(({ node_id: id }, at) => {
    if (listed.findIndex((other) => other.node_id === id) !== at) {
      context.addIssue({ code: "custom", path: [at, "node_id"], message: "this node stands there twice" });
    }
  });
});

const configSchema = z.strictObject({
  /** This node's name in the trust root. */
  node_id: nodeId,
  /** 64 hex digits; must be the trust root's. */
  cluster_id: z.string().regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits are expected"),
  /** Folder of keys, certificates and the pinned trust root. */
  identity_dir: z.string().min(1),
  /** On another volume than Postgres. */
  promise_file: z.string().min(1),
  /** 0700; holds what the processes of this node share. */
  run_dir: z.string().min(1),
  /** The node's own Postgres, as the owner of its tables. */
  database_url: z.string().regex(/^postgres(ql)?:\/\//, "a URL that begins with postgresql:// is expected"),
  /** The role that the api process connects as; gets SELECT on the state tables. */
  read_only_role: z.string().min(1).optional(),
  /** Where the other nodes and operators connect. */
  listen: address,
  peers,
  /** Unix socket for the api process of this node, in a 0700 folder. */
  api_socket: z.string().min(1).max(107),
  /** Who may connect to it: this process's account, or the members of its group as well. */
  api_socket_mode: z.enum(["0600", "0660"]).default("0600"),
  /** Private listener for Prometheus; null for none. */
  metrics: address.nullable().default(null),
  log_level: z.enum(["debug", "info", "warn", "error"]).default("info"),
  /** Entries kept in the log for followers that lag; older ones go once they are applied. */
  log_entries_kept: z.int().min(1000).default(200_000),
  /** Bytes of the log kept likewise: whichever bound is reached first counts. Two of the largest entries at least. */
  log_bytes_kept: z
    .int()
    .min(2 * 1024 * 1024)
    .default(1024 * 1024 * 1024),
  /** This many of the newest recorded certificates of each origin all stay; of older ones, a few. */
  certificates_kept: z.int().min(10).default(1000),
  /** Rows of the node's own tables that are derived again and compared in a second; 0 for none. */
  scrub_rows_per_second: z.int().min(0).max(100_000).default(25),
  /** The highest rules (feature level) that this node lets the cluster raise to; null for all that it knows. */
  rules_max: z.int().min(1).max(65_535).nullable().default(null),
  /** Which other logs this node cosigns as their witness, and where it keeps what it has promised them; null: none. */
  witness: z
    .strictObject({
      /** In the format `logs/v0`. */
      logs: z.string().min(1),
      /** On another volume than Postgres; made with the key. */
      promise_file: z.string().min(1),
    })
    .nullable()
    .default(null),
});

export type ControlPlaneConfig = z.infer<typeof configSchema>;

/** The settings of a control-plane process: `docs/operating/configuration.md`. */
export const CONTROL_PLANE_SETTINGS = { schema: configSchema, prefix: "ANCHORING_CONTROL_PLANE__" };

/** The peers of a control plane's settings. */
export function peersOf({ peers }: ControlPlaneConfig): readonly PeerAddress[] {
  return peers.map(({ node_id: nodeId, host, port }) => ({ nodeId, host, port }));
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the settings of a control-plane process.
 * @param environment its variables that begin with the prefix override the file
 * @throws ConfigError
 */
export function loadConfig(path: string, environment: Variables = {}): ControlPlaneConfig {
  const settings = readSettings(CONTROL_PLANE_SETTINGS, { path, text: readPrivate(path), environment });
  if (settings.peers.some((peer) => peer.node_id === settings.node_id)) {
    throw new ConfigError(`${path}: peers: ${settings.node_id} is this node itself`);
  }
  return Object.freeze(settings);
}

function readPrivate(path: string): string {
  let mode: number;
  let text: string;
  try {
    mode = statSync(path).mode;
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`cannot read the settings in ${path}`, { cause });
  }
  if ((mode & 0o077) !== 0) throw new ConfigError(`${path} is readable by others; chmod 600 it`);
  return text;
}
