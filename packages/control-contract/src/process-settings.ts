/**
 * The settings of a node's two processes: `docs/operating/configuration.md`. They are here for the processes and for
 * tools that look at a host.
 */
import { z } from "zod";

const nodeId = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -, a letter first, are expected");
/** 64 hex digits. */
const hex32 = z.string().regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits are expected");
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, "a URL that begins with postgresql:// is expected");
const logLevel = z.enum(["debug", "info", "warn", "error"]).default("info");
/** A path of a Unix socket: the system takes no longer one. */
const socketPath = z.string().min(1).max(107);

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

const controlPlaneSchema = z.strictObject({
  /** This node's name in the trust root. */
  node_id: nodeId,
  /** 64 hex digits; must be the trust root's. */
  cluster_id: hex32,
  /** Folder of keys, certificates and the pinned trust root. */
  identity_dir: z.string().min(1),
  /** On another volume than Postgres. */
  promise_file: z.string().min(1),
  /** 0700; holds what the processes of this node share. */
  run_dir: z.string().min(1),
  /** The node's own Postgres, as the owner of its tables. */
  database_url: postgresUrl,
  /** The role that the api process connects as; gets SELECT on the state tables. */
  read_only_role: z.string().min(1).optional(),
  /** Where the other nodes and operators connect. */
  listen: address,
  peers,
  /** Unix socket for the api process of this node, in a 0700 folder. */
  api_socket: socketPath,
  /** Who may connect to it: this process's account, or the members of its group as well. */
  api_socket_mode: z.enum(["0600", "0660"]).default("0600"),
  /** Private listener for Prometheus; null for none. */
  metrics: address.nullable().default(null),
  log_level: logLevel,
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

/** Port 0: any. */
const apiAddress = z.strictObject({ host: z.string().min(1), port: z.number().int().min(0).max(65_535) });
const network = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  "an address, or a network such as 10.0.0.0/8, is expected",
);

/** Tokens a second. */
const rate = z.int().min(1).max(0xffff_ffff);

const limits = z.strictObject({
  key_requests_per_second: rate.nullable().default(500),
  address_connections: z.number().int().min(1).default(256),
  /** On a public log, of one address without a key and of all: all together have a fifth of what one key has. */
  public_address_requests_per_second: rate.default(20),
  public_requests_per_second: rate.default(100),
  /** As a witness, likewise. A log sends a head a second at most; its nodes may have one address. */
  witness_address_requests_per_second: rate.default(10),
  witness_requests_per_second: rate.default(50),
});

const apiSchema = z.strictObject({
  node_id: nodeId,
  cluster_id: hex32,
  origin_fingerprint: hex32,
  /** Holds root-thk.txt; without it the first trust root is accepted as the control plane has verified it. */
  identity_dir: z.string().min(1).optional(),
  /** With a role that can only read. */
  database_url: postgresUrl,
  /** Unix socket of the node's control plane. */
  control_socket: socketPath,
  listen: apiAddress,
  /** PEM files of the listener; absent: plain HTTP. */
  tls: z.strictObject({ certificate: z.string().min(1), key: z.string().min(1) }).optional(),
  /** A private address: this listener needs no key. */
  metrics: apiAddress,
  log_level: logLevel,
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

export type ControlPlaneSettings = z.infer<typeof controlPlaneSchema>;

/** What a control-plane process reads. */
export const CONTROL_PLANE_SETTINGS = { schema: controlPlaneSchema, prefix: "ANCHORING_CONTROL_PLANE__" };

/** What an api process reads. */
export const API_SETTINGS = { schema: apiSchema, prefix: "ANCHORING_API__" };
