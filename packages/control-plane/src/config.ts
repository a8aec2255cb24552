import { readFileSync, statSync } from "node:fs";
import { z } from "zod";

/** A setting is missing or wrong; the message names it and says what it must be. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const address = z.strictObject({
  /** Name or address to listen on or to connect to. */
  host: z.string().min(1),
  port: z.int().min(1).max(65535),
});

const configSchema = z.strictObject({
  /** This node's name in the trust root. */
  node_id: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
  /** 64 hex digits; must be the trust root's. */
  cluster_id: z.string().regex(/^[0-9a-f]{64}$/),
  /** Folder of keys, certificates and the pinned trust root. */
  identity_dir: z.string().min(1),
  /** On another volume than Postgres. */
  promise_file: z.string().min(1),
  /** 0700; holds what the processes of this node share. */
  run_dir: z.string().min(1),
  /** The node's own Postgres, as the owner of its tables. */
  database_url: z.string().min(1),
  /** The role that the api process connects as; gets SELECT on the state tables. */
  read_only_role: z.string().min(1).optional(),
  /** Where the other nodes and operators connect. */
  listen: address,
  peers: z.array(z.strictObject({ node_id: z.string().min(1), ...address.shape })),
  /** Unix socket for the api process of this node, in a 0700 folder. */
  api_socket: z.string().min(1).max(107),
  /** Private listener for Prometheus; null for none. */
  metrics: address.nullable().default(null),
  log_level: z.enum(["debug", "info", "warn", "error"]).default("info"),
  /** Entries kept in the log for followers that lag; older ones go once they are applied. */
  log_entries_kept: z.int().min(1000).default(200_000),
});

export type ControlPlaneConfig = z.infer<typeof configSchema>;

/** Reads and checks the settings of a control-plane process. @throws ConfigError */
export function loadConfig(path: string): ControlPlaneConfig {
  let parsed: unknown;
  try {
    if ((statSync(path).mode & 0o077) !== 0) throw new ConfigError(`${path} is readable by others; chmod 600 it`);
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(`cannot read the settings in ${path}`, { cause });
  }
  const result = configSchema.safeParse(parsed);
  if (result.success) return Object.freeze(result.data);
  const wrong = result.error.issues.map((issue) => `${issue.path.join(".") || "(whole file)"}: ${issue.message}`);
  throw new ConfigError(`${path}: ${wrong.join("; ")}`);
}
