import { join } from "node:path";
import type { ProvisionedCluster, ProvisionedNode } from "@event-anchoring/provision";
import { OWNER_ROLE, READER_ROLE } from "./postgres-roles.ts";
import type { EmbeddedPostgres } from "./postgres.ts";
import { LOOPBACK } from "./ports.ts";
import type { NodePorts } from "./ports.ts";
import type { FaultHooks } from "./fault-hooks.ts";
import type { NodeWitness } from "./node-witness.ts";

/** The database that each node's own server holds. */
export const DATABASE = "anchoring";

export interface NodeConfigInput {
  readonly cluster: ProvisionedCluster;
  readonly node: ProvisionedNode;
  /** By node id. */
  readonly ports: ReadonlyMap<string, NodePorts>;
  readonly postgres: EmbeddedPostgres;
  /** 0700; the control plane's socket for the api process. */
  readonly socketDir: string;
  /** Null: as the control plane has it. */
  readonly logEntriesKept: number | null;
  /** Null: the node witnesses no other logs. */
  readonly witness: NodeWitness | null;
  readonly faultHooks: FaultHooks;
}

function portsOf(input: NodeConfigInput, nodeId: string): NodePorts {
  const ports = input.ports.get(nodeId);
  if (ports === undefined) throw new Error(`no ports were chosen for node ${nodeId}`);
  return ports;
}

/** The settings file of a control-plane process. */
export function controlPlaneConfig(input: NodeConfigInput): object {
  const { cluster, node, witness } = input;
  const others = cluster.nodes.filter((other) => other.nodeId !== node.nodeId);
  return {
    node_id: node.nodeId,
    cluster_id: cluster.clusterId,
    identity_dir: node.identityDir,
    promise_file: node.promiseFile,
    run_dir: node.runDir,
    database_url: input.postgres.url(OWNER_ROLE, DATABASE),
    read_only_role: READER_ROLE,
    listen: { host: LOOPBACK, port: portsOf(input, node.nodeId).control },
    peers: others.map(({ nodeId }) => {
      const listening = { host: LOOPBACK, port: portsOf(input, nodeId).control };
      const dialled = input.faultHooks.dialledAddress?.(node.nodeId, nodeId, listening) ?? listening;
      return { node_id: nodeId, host: dialled.host, port: dialled.port };
    }),
    api_socket: join(input.socketDir, "control.sock"),
    metrics: null,
    log_level: "info",
    ...(input.logEntriesKept === null ? {} : { log_entries_kept: input.logEntriesKept }),
    ...(witness === null ? {} : { witness: { logs: witness.logs, promise_file: witness.promiseFile } }),
  };
}

/** The settings file of an api process. */
export function apiConfig(input: NodeConfigInput): object {
  const { cluster, node, witness } = input;
  const { api, metrics } = portsOf(input, node.nodeId);
  return {
    node_id: node.nodeId,
    cluster_id: cluster.clusterId,
    origin_fingerprint: node.originFingerprint,
    identity_dir: node.identityDir,
    database_url: input.postgres.url(READER_ROLE, DATABASE),
    control_socket: join(input.socketDir, "control.sock"),
    listen: { host: LOOPBACK, port: api },
    metrics: { host: LOOPBACK, port: metrics },
    log_level: "info",
    ...(witness === null ? {} : { witness: { logs: witness.logs } }),
    // The person who runs the cluster is the only client.
    limits: { key_requests_per_second: null },
  };
}
