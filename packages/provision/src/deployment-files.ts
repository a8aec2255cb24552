/** What a deployment plan comes to: settings of each host for Compose and for systemd, and values of the Helm chart. */
import { join } from "node:path";
import type { DeploymentPlan, PlacedNode } from "./deployment-plan.ts";
import { makeNamedDirectory, makePrivateDirectory, writePrivateFile } from "./files.ts";
import {
  API_PORT,
  CONTROL_PORT,
  DATABASE,
  METRICS_PORT,
  OWNER_ROLE,
  READER_ROLE,
  apiHost,
  controlHost,
  nodeAddresses,
} from "./node-names.ts";

/** docker-compose.yml and compose.host.yml have three places for nodes. */
export const COMPOSE_PLACES = 3;

/** The values of deploy/helm/event-anchoring, one file for the cluster. */
export const HELM_VALUES_FILE = "helm-values.yaml";

/** By which an operator's anchorctl finds the nodes, one file for the cluster. */
export const CLUSTER_FILE = "cluster.json";

/** Where the units of deploy/systemd have their files. */
const IDENTITY_DIR = "/etc/anchoring/control-plane/identity";
const API_DIR = "/etc/anchoring/api";
const CONTROL_SOCKET = "/run/anchoring/control.sock";
const POSTGRES_SOCKET_DIR = "/var/run/postgresql";

/**
 * The files of one host, by name. None holds a secret: beside systemd, Postgres knows the two roles by the account that
 * asks (deploy/systemd/pg_hba.conf), and in containers passwords are drawn on the host (certs/configure.js).
 */
export function deploymentFiles(plan: DeploymentPlan, node: PlacedNode): Readonly<Record<string, string>> {
  return {
    ...(plan.nodes.length === COMPOSE_PLACES ? { "compose.env": composeEnvironment(plan, node) } : {}),
    hosts: hostsFile(plan),
    "control-plane.json": jsonText(controlPlaneSettings(plan, node)),
    "api.json": jsonText(apiSettings(plan, node)),
  };
}

/**
 * Writes a folder `<node id>` for each host below `outDir`, and `cluster.json` and `helm-values.yaml` there: folders
 * 0700, files 0600. What an earlier plan wrote there is replaced.
 */
export async function writeDeployment(plan: DeploymentPlan, outDir: string): Promise<void> {
  await makeNamedDirectory(outDir);
  for (const node of plan.nodes) {
    const folder = join(outDir, node.nodeId);
    await makePrivateDirectory(folder);
    for (const [name, text] of Object.entries(deploymentFiles(plan, node)))
      await writePrivateFile(join(folder, name), text);
  }
  const cluster = { state: "running", api_key: null, nodes: plan.nodes.map(nodeAddresses) };
  await writePrivateFile(join(outDir, CLUSTER_FILE), jsonText(cluster));
  await writePrivateFile(join(outDir, HELM_VALUES_FILE), helmValues(plan));
}

/** A node runs on the machine that has its address as this label. Quoted: YAML takes some ids for other things. */
function helmValues({ clusterName, nodes }: DeploymentPlan): string {
  const lines = nodes.flatMap(({ nodeId, address }) => [
    `  - id: "${nodeId}"`,
    `    nodeSelector: { event-anchoring/host: "${address}" }`,
  ]);
  return [`# ${clusterName}: docs/operating/kubernetes.md`, "nodes:", ...lines, ""].join("\n");
}

/** For the end of `.env`. The places of compose.host.yml are n1, n2, n3, whatever the nodes are called. */
function composeEnvironment({ nodes }: DeploymentPlan, { nodeId, address }: PlacedNode): string {
  const place = `n${nodes.findIndex((node) => node.nodeId === nodeId) + 1}`;
  const lines = nodes.flatMap((node, at) => [
    `ANCHORING_N${at + 1}=${node.nodeId}`,
    `ANCHORING_N${at + 1}_ADDRESS=${node.address}`,
  ]);
  return [
    `# ${nodeId} at ${address}: docker compose up --detach ${place}-postgres ${place}-control ${place}-api`,
    "COMPOSE_FILE=docker-compose.yml:deploy/compose.host.yml",
    ...lines,
    "",
  ].join("\n");
}

/** For the end of `/etc/hosts`: by these names the processes listen and meet, and certificates are made out to them. */
function hostsFile({ clusterName, nodes }: DeploymentPlan): string {
  const lines = nodes.map(({ nodeId, address }) => `${address} ${controlHost(nodeId)} ${apiHost(nodeId)}`);
  return [`# ${clusterName}`, ...lines, ""].join("\n");
}

function controlPlaneSettings(plan: DeploymentPlan, { nodeId }: PlacedNode): object {
  const others = plan.nodes.filter((node) => node.nodeId !== nodeId);
  return {
    node_id: nodeId,
    cluster_id: plan.clusterId,
    identity_dir: IDENTITY_DIR,
    promise_file: "/var/lib/anchoring-promise/promise.bin",
    run_dir: "/var/lib/anchoring",
    database_url: databaseUrl(OWNER_ROLE),
    read_only_role: READER_ROLE,
    listen: { host: controlHost(nodeId), port: CONTROL_PORT },
    peers: others.map((node) => ({ node_id: node.nodeId, host: controlHost(node.nodeId), port: CONTROL_PORT })),
    api_socket: CONTROL_SOCKET,
    api_socket_mode: "0660",
  };
}

function apiSettings(plan: DeploymentPlan, { nodeId, originFingerprint }: PlacedNode): object {
  return {
    node_id: nodeId,
    cluster_id: plan.clusterId,
    origin_fingerprint: originFingerprint,
    identity_dir: API_DIR,
    database_url: databaseUrl(READER_ROLE),
    control_socket: CONTROL_SOCKET,
    listen: { host: apiHost(nodeId), port: API_PORT },
    tls: { certificate: `${API_DIR}/tls.crt`, key: `${API_DIR}/tls.key` },
    metrics: { host: "127.0.0.1", port: METRICS_PORT },
    // A gateway runs on one of the hosts, or on each.
    proxies: plan.nodes.map(({ address }) => address),
    public_log: false,
  };
}

/** Without a password: the role's name and the account that asks are enough. */
function databaseUrl(role: string): string {
  return `postgresql://${role}@localhost/${DATABASE}?${new URLSearchParams({ host: POSTGRES_SOCKET_DIR }).toString()}`;
}

const jsonText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
