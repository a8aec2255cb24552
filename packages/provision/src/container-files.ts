/** Settings of the processes as docker-compose.yml runs them: what is where inside a container. */
import { randomBytes } from "node:crypto";
import { lchown, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ProvisionedCluster, ProvisionedNode } from "./cluster-files.ts";
import { PrivateFileError, fileExists, makePrivateDirectory, writePrivateFile } from "./files.ts";
import {
  API_PORT,
  CONTROL_PORT,
  DATABASE,
  METRICS_PORT,
  OWNER_ROLE,
  READER_ROLE,
  apiHost,
  controlHost,
  metricsHost,
  nodeAddresses,
} from "./node-names.ts";
import { scramVerifier } from "./scram.ts";

/** The image of Postgres has its own account. Other accounts cannot enter the folder; the file has no secret. */
const READ_BY_POSTGRES = 0o644;

/** Paths inside the containers. */
const CONFIG_DIR = "/config";
const IDENTITY_DIR = "/identity";
const PROMISE_FILE = "/promise/promise.bin";
const RUN_DIR = "/run/anchoring/node";
const CONTROL_SOCKET = `${RUN_DIR}/control.sock`;
const POSTGRES_SOCKET_DIR = "/var/run/postgresql";
/** What Docker gives out to networks. On that of the api there is the gateway, which bounds what a client may hold. */
const CONTAINER_NETWORKS = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fd00::/8"];
/** Where docker-compose.yml publishes the first node's metrics, on loopback. */
const PUBLISHED_METRICS_PORT = 9101;

/** The files of all nodes, and `cluster.json` for anchorctl. */
export async function writeContainerFiles(cluster: ProvisionedCluster): Promise<void> {
  for (const node of cluster.nodes) await writeNodeContainerFiles(cluster, node);
  await writeClusterFile(cluster);
}

/**
 * Writes `control-plane/control-plane.json`, `api/api.json` with the pin it needs, and `postgres/roles.sql`: two roles
 * with passwords drawn here, of which Postgres is only given the verifiers. Containers are shown folders: of a file
 * that is replaced they would see the old one.
 * @throws PrivateFileError `exists`: a database keeps the passwords that it was made with
 */
export async function writeNodeContainerFiles(cluster: ProvisionedCluster, node: ProvisionedNode): Promise<void> {
  const passwords = { owner: drawPassword(), reader: drawPassword() };
  const postgresDir = join(node.dir, "postgres");
  const roles = join(postgresDir, "roles.sql");
  if (await fileExists(roles)) throw new PrivateFileError("exists", roles, "the node has its settings already");
  await makePrivateDirectory(postgresDir);
  await writePrivateFile(roles, rolesSql(passwords.owner, passwords.reader), READ_BY_POSTGRES);
  const controlPlaneDir = join(node.dir, "control-plane");
  await makePrivateDirectory(controlPlaneDir);
  const controlPlane = controlPlaneConfig(cluster, node, passwords.owner);
  await writeJson(join(controlPlaneDir, "control-plane.json"), controlPlane);
  const apiDir = join(node.dir, "api");
  await makePrivateDirectory(apiDir);
  await writeJson(join(apiDir, "api.json"), apiConfig(cluster, node, passwords.reader));
  await writePrivateFile(join(apiDir, "root-thk.txt"), `${cluster.rootThk}\n`);
}

/** `cluster.json`, by which anchorctl finds the nodes. */
export async function writeClusterFile(cluster: ProvisionedCluster): Promise<void> {
  await writeJson(join(cluster.outDir, "cluster.json"), clusterFile(cluster));
}

/**
 * Gives what containers are shown to the account they run as; only root can. The root keys are no container's, and stay
 * with root.
 */
export async function giveContainerFiles(outDir: string, uid: number, gid: number): Promise<void> {
  for (const name of ["ca", "gateway", "nodes", "operators"]) {
    const folder = join(outDir, name);
    if (!(await fileExists(folder))) continue;
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const entry of entries) await lchown(join(entry.parentPath, entry.name), uid, gid);
    await lchown(folder, uid, gid);
  }
  for (const name of [".", "cluster.json", "trust-root.txt", "root-thk.txt"])
    await lchown(join(outDir, name), uid, gid);
}

function drawPassword(): string {
  return randomBytes(24).toString("base64url");
}

function databaseUrl(role: string, password: string): string {
  const query = new URLSearchParams({ host: POSTGRES_SOCKET_DIR });
  return `postgresql://${role}:${password}@localhost/${DATABASE}?${query.toString()}`;
}

/** Neither role has any right over the server. The superuser has no password: it is let in by its account alone. */
function rolesSql(ownerPassword: string, readerPassword: string): string {
  const limits = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS";
  return [
    `CREATE ROLE ${OWNER_ROLE} ${limits} PASSWORD '${scramVerifier(ownerPassword)}';`,
    `CREATE ROLE ${READER_ROLE} ${limits} PASSWORD '${scramVerifier(readerPassword)}';`,
    `CREATE DATABASE ${DATABASE} OWNER ${OWNER_ROLE};`,
    `REVOKE ALL ON DATABASE ${DATABASE} FROM PUBLIC;`,
    `GRANT CONNECT ON DATABASE ${DATABASE} TO ${READER_ROLE};`,
    "ALTER ROLE postgres PASSWORD NULL;",
    "",
  ].join("\n");
}

function controlPlaneConfig(cluster: ProvisionedCluster, node: ProvisionedNode, password: string): object {
  const others = cluster.nodes.filter(({ nodeId }) => nodeId !== node.nodeId);
  return {
    node_id: node.nodeId,
    cluster_id: cluster.clusterId,
    identity_dir: IDENTITY_DIR,
    promise_file: PROMISE_FILE,
    run_dir: RUN_DIR,
    database_url: databaseUrl(OWNER_ROLE, password),
    read_only_role: READER_ROLE,
    listen: { host: controlHost(node.nodeId), port: CONTROL_PORT },
    peers: others.map(({ nodeId }) => ({ node_id: nodeId, host: controlHost(nodeId), port: CONTROL_PORT })),
    api_socket: CONTROL_SOCKET,
  };
}

function apiConfig(cluster: ProvisionedCluster, node: ProvisionedNode, password: string): object {
  return {
    node_id: node.nodeId,
    cluster_id: cluster.clusterId,
    origin_fingerprint: node.originFingerprint,
    identity_dir: CONFIG_DIR,
    database_url: databaseUrl(READER_ROLE, password),
    control_socket: CONTROL_SOCKET,
    listen: { host: apiHost(node.nodeId), port: API_PORT },
    tls: { certificate: `${CONFIG_DIR}/tls.crt`, key: `${CONFIG_DIR}/tls.key` },
    metrics: { host: metricsHost(node.nodeId), port: METRICS_PORT },
    proxies: CONTAINER_NETWORKS,
    // docs/operating/public-log.md says what is shown, before it is switched on.
    public_log: false,
  };
}

/** Addresses as the anchorctl container of docker-compose.yml sees them. `anchorctl keys create` makes the API key. */
function clusterFile(cluster: ProvisionedCluster): object {
  return {
    state: "running",
    api_key: null,
    trust_root: { version: 1, root_thk: cluster.rootThk, document: cluster.trustRootDocument },
    nodes: cluster.nodes.map((node, at) => ({
      ...nodeAddresses(node),
      metrics_url: `http://127.0.0.1:${PUBLISHED_METRICS_PORT + at}/metrics`,
    })),
  };
}

async function writeJson(path: string, value: object): Promise<void> {
  await writePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
