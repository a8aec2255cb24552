import { chmodSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createCluster, loadCluster, renewTls } from "@event-anchoring/provision";
import type { ProvisionedCluster } from "@event-anchoring/provision";
import { awaitReady } from "./await-ready.ts";
import { readClusterFile, writeClusterFile } from "./cluster-file.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { eraseClusterFolder, openClusterFolder } from "./cluster-folder.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { EmbeddedNode } from "./embedded-node.ts";
import { makeFirstApiKey } from "./first-api-key.ts";
import { openPostgresInstallation } from "./postgres-installation.ts";
import { LOOPBACK, choosePorts } from "./ports.ts";
import type { NodePorts } from "./ports.ts";
import { SupervisorLock } from "./supervisor-lock.ts";
import type { Surroundings } from "./surroundings.ts";

/** What is told to the person who waits. */
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
  /** Deletes the folder's earlier cluster first. */
  readonly isFresh?: boolean;
  /** Entries that each node keeps in its log for nodes that lag, at least 1,000. Default: the control plane's. */
  readonly logEntriesKept?: number;
  /** Where the ports of a new cluster begin. Default 7301; clusters that start side by side need a place each. */
  readonly firstPort?: number;
  readonly surroundings?: Surroundings;
  readonly reporter: Reporter;
}

export const NODES_DEFAULT = 3;
export const NODES_MAX = 7;
const READY_TIMEOUT_MS = 60_000;
/** Only names sockets: no TCP port is opened. */
const FIRST_POSTGRES_PORT = 5432;

/**
 * The embedded default: a real cluster on this machine, in one folder, supervised by this process.
 * States, as in cluster.json: `starting` → `running` → (`stop`) → `stopped`. A process that ends in between is started
 * again, and cluster.json says its new id.
 */
export class EmbeddedCluster {
  readonly #folder: ClusterFolder;
  readonly #lock: SupervisorLock;
  readonly #cluster: ProvisionedCluster;
  readonly #nodes: readonly EmbeddedNode[];
  #state: ClusterFile["state"] = "starting";
  #apiKey: string | null;

  private constructor(
    folder: ClusterFolder,
    lock: SupervisorLock,
    cluster: ProvisionedCluster,
    apiKey: string | null,
    makeNodes: (onPid: () => void) => readonly EmbeddedNode[],
  ) {
    this.#folder = folder;
    this.#lock = lock;
    this.#cluster = cluster;
    this.#apiKey = apiKey;
    this.#nodes = makeNodes(() => this.#publish());
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
    const ports = await portsByNode(cluster, earlier, options.firstPort);
    const installation = openPostgresInstallation({ cacheDir: folder.postgresRoot, user: folder.postgresUser });
    return new EmbeddedCluster(folder, lock, cluster, earlier?.api_key ?? null, (publish) =>
      cluster.nodes.map(
        (node, i) =>
          new EmbeddedNode({
            folder,
            cluster,
            node,
            ports,
            installation,
            postgresPort: FIRST_POSTGRES_PORT + i,
            logEntriesKept: options.logEntriesKept ?? null,
            surroundings: options.surroundings ?? {},
            onPid: (name, pid) => {
              lock.record(`${node.nodeId} ${name}`, pid);
              publish();
            },
            onTrouble: (message) => reporter.notice(message),
          }),
      ),
    );
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
    this.#lock.release();
  }

  /** Stops the cluster and deletes all of it. */
  async erase(): Promise<void> {
    await this.stop();
    eraseClusterFolder(this.#folder, { isLockKept: false });
  }

  async #bringUp(reporter: Reporter, signal: AbortSignal | undefined): Promise<void> {
    this.#publish();
    await reporter.step(`starting ${this.#nodes.length} Postgres servers`, async () => {
      await Promise.all(this.#nodes.map((node) => node.startPostgres()));
    });
    signal?.throwIfAborted();
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
    const cluster = await loadCluster(folder.root);
    if (options.nodes !== undefined && options.nodes !== cluster.nodes.length) {
      throw new Error(`this folder holds a cluster of ${cluster.nodes.length} nodes; --fresh begins another one`);
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
      clusterName: "anchoring.localhost",
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
  cluster: ProvisionedCluster,
  earlier: ClusterFile | null,
  firstPort: number | undefined,
): Promise<ReadonlyMap<string, NodePorts>> {
  const portOf = (url: string): number => Number(new URL(url).port);
  const before = (earlier?.nodes ?? []).map((node) => ({
    api: portOf(node.api_url),
    metrics: portOf(node.metrics_url),
    control: portOf(`tcp://${node.control_address}`),
  }));
  const ports = await choosePorts(cluster.nodes.length, before, firstPort);
  return new Map(cluster.nodes.flatMap(({ nodeId }, i) => (ports[i] === undefined ? [] : [[nodeId, ports[i]]])));
}

function abortable<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped"));
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
