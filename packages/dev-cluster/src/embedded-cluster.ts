import { chmodSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createCluster, loadCluster, renewTls } from "@event-anchoring/provision";
import type { ProvisionedCluster, ProvisionedNode } from "@event-anchoring/provision";
import { cardPath, makeNode, noteLeft, withPresentNodes } from "./added-nodes.ts";
import { awaitReady } from "./await-ready.ts";
import { readClusterFile, writeClusterFile } from "./cluster-file.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { eraseClusterFolder, openClusterFolder } from "./cluster-folder.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { EmbeddedNode } from "./embedded-node.ts";
import { makeFirstApiKey } from "./first-api-key.ts";
import { NODE_FLAGS } from "./node-flags.ts";
import type { NodeFlags } from "./node-flags.ts";
import { openPostgresInstallation } from "./postgres-installation.ts";
import { openNodeWitnesses } from "./node-witness.ts";
import { LOOPBACK, PortClaims } from "./ports.ts";
import type { NodePorts } from "./ports.ts";
import { SupervisorLock } from "./supervisor-lock.ts";
import type { FaultHooks } from "./fault-hooks.ts";

/** Progress messages for the person who waits. */
export interface Reporter {
  /** Runs one step under a title, and shows that it is under way, done (and how long it took) or failed. */
  step<Result>(title: string, run: () => Promise<Result>): Promise<Result>;
  /** Something a person should know of, at any time. */
  notice(message: string): void;
}

export interface EmbeddedClusterOptions {
  /** Where everything is kept, such as `.anchoring`. */
  readonly folder: string;
  /** Nodes of a new cluster; an existing one keeps its number. Default 3. */
  readonly nodes?: number;
  /** Name of a new cluster; an existing one keeps its name. Default `anchoring.localhost`. */
  readonly name?: string;
  /** A list of other logs, which the nodes witness while the cluster runs. Default: none. */
  readonly witnessLogs?: string;
  /** Deletes the folder's earlier cluster first. */
  readonly isFresh?: boolean;
  /** Entries that each node keeps in its log for nodes that lag, at least 1,000. Default: the control plane's. */
  readonly logEntriesKept?: number;
  /** Where the ports of a new cluster begin. Default 7301; clusters that start side by side need a place each. */
  readonly firstPort?: number;
  /** Settings of each node's Postgres, over those that it has here. Default: none. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** How Node is started for each process. Default: `NODE_FLAGS`. */
  readonly nodeFlags?: NodeFlags;
  readonly faultHooks?: FaultHooks;
  readonly reporter: Reporter;
}

export const NODES_DEFAULT = 3;
export const NODES_MAX = 7;
export const NAME_DEFAULT = "anchoring.localhost";
const READY_TIMEOUT_MS = 60_000;
/** Only names sockets: no TCP port is opened. */
const FIRST_POSTGRES_PORT = 5432;

/** The folder holds a cluster that another build of this program has made. */
class OtherBuildError extends Error {
  override readonly name = "OtherBuildError";
  constructor(folder: string) {
    const erase = `npm start -- --data ${folder} --fresh`;
    super(
      `${folder} holds the cluster of another build, which this one does not read. ` +
        `"${erase}" deletes it, with all that it has anchored, and begins a new one`,
    );
  }
}

/** The ports of each node, and what keeps other clusters from choosing them. */
interface ChosenPorts {
  readonly ports: Map<string, NodePorts>;
  readonly claims: PortClaims;
}

/** A number for the socket of each node's Postgres, never given twice in one run. */
class SocketNumbers {
  #last = FIRST_POSTGRES_PORT - 1;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/**
 * The embedded default: a real cluster on this machine, in one folder, supervised by this process.
 * States, as in cluster.json: `starting` → `running` → (`stop`) → `stopped`. A process that ends in between is started
 * again, and cluster.json says its new id.
 */
export class EmbeddedCluster {
  readonly #folder: ClusterFolder;
  readonly #lock: SupervisorLock;
  readonly #makeNode: (node: ProvisionedNode, cluster: ProvisionedCluster) => EmbeddedNode;
  /** Aborted when a node finds what another build has made. */
  readonly #otherBuild: AbortSignal;
  readonly #ports: Map<string, NodePorts>;
  readonly #claims: PortClaims;
  #cluster: ProvisionedCluster;
  #nodes: readonly EmbeddedNode[];
  #state: ClusterFile["state"] = "starting";
  #apiKey: string | null;

  private constructor(
    folder: ClusterFolder,
    lock: SupervisorLock,
    cluster: ProvisionedCluster,
    apiKey: string | null,
    { ports, claims }: ChosenPorts,
    otherBuild: AbortSignal,
    makeNode: (node: ProvisionedNode, cluster: ProvisionedCluster, publish: () => void) => EmbeddedNode,
  ) {
    this.#folder = folder;
    this.#lock = lock;
    this.#cluster = cluster;
    this.#apiKey = apiKey;
    this.#ports = ports;
    this.#claims = claims;
    this.#otherBuild = otherBuild;
    this.#makeNode = (node, present) => makeNode(node, present, () => this.#publish());
    this.#nodes = cluster.nodes.map((node) => this.#makeNode(node, cluster));
  }

  /**
   * Starts the cluster of this folder, a new one if there is none. When it cannot be brought up, all that was started
   * is stopped again. `signal` ends the start early.
   * @throws AlreadySupervisedError
   */
  static async start(options: EmbeddedClusterOptions, signal?: AbortSignal): Promise<EmbeddedCluster> {
    const { reporter } = options;
    let folder = openClusterFolder(options.folder);
    const lock = SupervisorLock.take(folder.root);
    try {
      if (lock.leftovers.length > 0) {
        await reporter.step(`stopping ${lock.leftovers.length} processes of a killed run`, () => lock.stopLeftovers());
      }
      if (options.isFresh === true) {
        eraseClusterFolder(folder, { isLockKept: true });
        folder = openClusterFolder(options.folder);
      }
      const cluster = await EmbeddedCluster.#open(folder, lock, options);
      try {
        await cluster.#bringUp(reporter, signal);
      } catch (error) {
        await cluster.stop();
        throw error;
      }
      return cluster;
    } catch (error) {
      rmSync(folder.socketRoot, { recursive: true, force: true });
      lock.release();
      throw error;
    }
  }

  static async #open(
    folder: ClusterFolder,
    lock: SupervisorLock,
    options: EmbeddedClusterOptions,
  ): Promise<EmbeddedCluster> {
    const { reporter } = options;
    const earlier = readClusterFile(join(folder.root, "cluster.json"));
    const cluster = await provision(folder, options);
    const witnesses = await openNodeWitnesses(cluster, options.witnessLogs ?? null);
    const installation = openPostgresInstallation({ cacheDir: folder.postgresRoot, user: folder.postgresUser });
    const socketNumbers = new SocketNumbers();
    const otherBuild = new AbortController();
    const apiKey = earlier?.api_key ?? null;
    const { signal } = otherBuild;
    // After all that may fail: a stop gives them free, and there is one only from here on.
    const claims = new PortClaims();
    const ports = await portsByNode(claims, cluster, earlier, options.firstPort);
    return new EmbeddedCluster(folder, lock, cluster, apiKey, { ports, claims }, signal, (node, present, publish) => {
      return new EmbeddedNode({
        folder,
        cluster: present,
        node,
        ports,
        installation,
        postgresPort: socketNumbers.next(),
        logEntriesKept: options.logEntriesKept ?? null,
        postgresSettings: options.postgresSettings ?? {},
        nodeFlags: options.nodeFlags ?? NODE_FLAGS,
        witness: witnesses.get(node.nodeId) ?? null,
        faultHooks: options.faultHooks ?? {},
        onPid: (name, pid) => {
          lock.record(`${node.nodeId} ${name}`, pid);
          publish();
        },
        onTrouble: (message) => reporter.notice(message),
        onOtherBuild: () => otherBuild.abort(new OtherBuildError(folder.root)),
      });
    });
  }

  /** What cluster.json says now. */
  get file(): ClusterFile {
    return {
      state: this.#state,
      api_key: this.#apiKey,
      trust_root: {
        version: 1,
        root_thk: this.#cluster.rootThk,
        document: this.#cluster.trustRootDocument,
      },
      postgres_dir: this.#folder.postgresRoot,
      nodes: this.#nodes.map((node) => node.entry),
    };
  }

  /** The folder, as an absolute path. */
  get root(): string {
    return this.#folder.root;
  }

  /** One node, to stop and start parts of it. */
  node(id: string): EmbeddedNode {
    const found = this.#nodes.find((node) => node.id === id);
    if (found === undefined) throw new Error(`this cluster has no node ${id}`);
    return found;
  }

  /**
   * Makes one more node and starts it. It waits until a trust root lists it: `cardPath` of its id is what
   * `anchorctl root propose --add-learner` takes.
   */
  async addNode(nodeId: string): Promise<EmbeddedNode> {
    const made = await makeNode(this.#cluster, nodeId);
    await this.#choosePorts(nodeId);
    this.#cluster = { ...this.#cluster, nodes: [...this.#cluster.nodes, made] };
    const node = this.#makeNode(made, this.#cluster);
    for (const other of this.#nodes) other.setCluster(this.#cluster);
    this.#nodes = [...this.#nodes, node];
    this.#publish();
    await node.startPostgres();
    node.startProcesses();
    return node;
  }

  /** Stops a node for good; its folder stays. Whether the group still counts on it is for the trust root to say. */
  async dropNode(nodeId: string): Promise<void> {
    const node = this.node(nodeId);
    await node.stopProcesses();
    await node.stopPostgres();
    node.closeLogs();
    const left = this.#cluster.nodes.find((each) => each.nodeId === nodeId);
    if (left !== undefined) await noteLeft(left);
    this.#nodes = this.#nodes.filter((each) => each !== node);
    this.#cluster = { ...this.#cluster, nodes: this.#cluster.nodes.filter((each) => each.nodeId !== nodeId) };
    for (const other of this.#nodes) other.setCluster(this.#cluster);
    this.#publish();
  }

  /** Where the card of an added node lies. */
  cardPath(nodeId: string): string {
    return cardPath(this.#folder.root, nodeId);
  }

  async #choosePorts(nodeId: string): Promise<void> {
    const taken = [...this.#ports.values()];
    const last = taken.at(-1);
    const wanted = { api: (last?.api ?? 0) + 1, metrics: (last?.metrics ?? 0) + 1, control: (last?.control ?? 0) + 1 };
    const [ports] = await this.#claims.choose(1, [wanted]);
    if (ports !== undefined) this.#ports.set(nodeId, ports);
  }

  /** Resolves when every node is ready again. */
  async ready(timeoutMs: number = READY_TIMEOUT_MS): Promise<void> {
    await awaitReady(
      this.file.nodes.map((node) => node.api_url),
      { timeoutMs },
    );
  }

  /** Stops api processes, control planes and Postgres servers, in this order, and gives the folder free. */
  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stopProcesses()));
    await Promise.all(this.#nodes.map((node) => node.stopPostgres()));
    for (const node of this.#nodes) node.closeLogs();
    rmSync(this.#folder.socketRoot, { recursive: true, force: true });
    this.#state = "stopped";
    this.#publish();
    this.#claims.release();
    this.#lock.release();
  }

  /** Stops the cluster and deletes all of it. */
  async erase(): Promise<void> {
    await this.stop();
    eraseClusterFolder(this.#folder, { isLockKept: false });
  }

  async #bringUp(reporter: Reporter, asked: AbortSignal | undefined): Promise<void> {
    const signal = AbortSignal.any([this.#otherBuild, ...(asked === undefined ? [] : [asked])]);
    this.#publish();
    await reporter.step(`starting ${this.#nodes.length} Postgres servers`, async () => {
      await Promise.all(this.#nodes.map((node) => node.startPostgres()));
    });
    signal.throwIfAborted();
    await reporter.step(`starting ${this.#nodes.length} nodes and waiting until they agree`, async () => {
      for (const node of this.#nodes) node.startProcesses();
      await abortable(this.ready(), signal);
    });
    if (this.#apiKey === null) {
      const key = await reporter.step("making the first API key", () => abortable(this.#firstApiKey(), signal));
      this.#apiKey = key;
    }
    this.#state = "running";
    this.#publish();
  }

  async #firstApiKey(): Promise<string> {
    const nodes = this.#nodes.map((node) => node.called);
    const apiKey = await makeFirstApiKey({ outDir: this.#folder.root, nodes, timeoutMs: READY_TIMEOUT_MS });
    await awaitReady(
      this.file.nodes.map((node) => node.api_url),
      { timeoutMs: READY_TIMEOUT_MS, apiKey },
    );
    return apiKey;
  }

  #publish(): void {
    writeClusterFile(join(this.#folder.root, "cluster.json"), this.file);
  }
}

async function provision(folder: ClusterFolder, options: EmbeddedClusterOptions): Promise<ProvisionedCluster> {
  const { reporter } = options;
  if (existsSync(join(folder.root, "trust-root.txt"))) {
    const cluster = withPresentNodes(await loadCluster(folder.root));
    if (options.nodes !== undefined && options.nodes !== cluster.nodes.length) {
      throw new Error(`this folder holds a cluster of ${cluster.nodes.length} nodes; --fresh begins another one`);
    }
    if (options.name !== undefined && options.name !== cluster.clusterName) {
      throw new Error(`this folder holds the cluster ${cluster.clusterName}; --fresh begins another one`);
    }
    await Promise.all(cluster.nodes.map(({ nodeId }) => renewTls({ outDir: folder.root, nodeId })));
    return cluster;
  }
  return reporter.step("making keys, certificates and the signed trust root", async () => {
    // A ceremony that was cut short leaves no trust root; no process has used anything of it.
    for (const name of ["ca", "root-keys", "nodes"]) {
      rmSync(join(folder.root, name), { recursive: true, force: true });
    }
    const count = options.nodes ?? NODES_DEFAULT;
    const cluster = await createCluster({
      clusterName: options.name ?? NAME_DEFAULT,
      nodes: Array.from({ length: count }, (_, i) => ({
        nodeId: `n${i + 1}`,
        controlHost: LOOPBACK,
        controlPort: 0,
      })),
      quorum: Math.floor(count / 2) + 1,
      outDir: folder.root,
    });
    chmodSync(folder.root, folder.postgresUser === null ? 0o700 : 0o711);
    return cluster;
  });
}

async function portsByNode(
  claims: PortClaims,
  cluster: ProvisionedCluster,
  earlier: ClusterFile | null,
  firstPort: number | undefined,
): Promise<Map<string, NodePorts>> {
  const portOf = (url: string): number => Number(new URL(url).port);
  const before = cluster.nodes.map(({ nodeId }) => {
    const node = earlier?.nodes.find(({ id }) => id === nodeId);
    if (node === undefined) return null;
    return {
      api: portOf(node.api_url),
      metrics: portOf(node.metrics_url),
      control: portOf(`tcp://${node.control_address}`),
    };
  });
  const ports = await claims.choose(cluster.nodes.length, before, firstPort);
  return new Map(cluster.nodes.flatMap(({ nodeId }, i) => (ports[i] === undefined ? [] : [[nodeId, ports[i]]])));
}

function abortable<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped"));
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
