import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "@event-anchoring/provision";
import type { CalledNode, ProvisionedCluster, ProvisionedNode } from "@event-anchoring/provision";
import type { ClusterFileNode } from "./cluster-file.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { processScript } from "./process-script.ts";
import { DATABASE, apiConfig, controlPlaneConfig } from "./node-config.ts";
import { ownFolder } from "./os-user.ts";
import { LOOPBACK } from "./ports.ts";
import type { NodePorts } from "./ports.ts";
import { OWNER_ROLE, ROLES_SQL } from "./postgres-roles.ts";
import { EmbeddedPostgres } from "./postgres.ts";
import type { PostgresInstallation } from "./postgres-installation.ts";
import type { NodeFlags } from "./node-flags.ts";
import { RotatingLog } from "./rotating-log.ts";
import { SupervisedPostgres } from "./supervised-postgres.ts";
import { EXIT_FENCED, EXIT_HALTED, SupervisedProcess } from "./supervised-process.ts";
import type { ProcessEnd } from "./supervised-process.ts";
import type { FaultHooks } from "./fault-hooks.ts";
import type { NodeWitness } from "./node-witness.ts";
import { writeAtomically } from "./write-atomically.ts";

/** The three processes of a node, as cluster.json names them. */
const PROCESS_NAMES = ["postgres", "control_plane", "api"] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];

export interface EmbeddedNodeOptions {
  readonly folder: ClusterFolder;
  readonly cluster: ProvisionedCluster;
  readonly node: ProvisionedNode;
  readonly ports: ReadonlyMap<string, NodePorts>;
  readonly installation: PostgresInstallation;
  /** Names the socket of this node's Postgres. */
  readonly postgresPort: number;
  /** Null: as the control plane has it. */
  readonly logEntriesKept: number | null;
  readonly postgresSettings: Readonly<Record<string, string>>;
  readonly nodeFlags: NodeFlags;
  /** Null: it witnesses no other logs. */
  readonly witness: NodeWitness | null;
  readonly faultHooks: FaultHooks;
  readonly onPid: (process: ProcessName, pid: number | null) => void;
  /** A line for the person who watches. */
  readonly onTrouble: (message: string) => void;
  /** This node's database was made by a build that this one cannot go on from. */
  readonly onOtherBuild: () => void;
}

/** How long a process may take to drain after SIGTERM. */
const STOP_GRACE_MS = 10_000;

/** One node: its own Postgres, its control-plane process, its api process. */
export class EmbeddedNode {
  readonly #options: EmbeddedNodeOptions;
  readonly #postgres: SupervisedPostgres;
  readonly #controlPlane: SupervisedProcess;
  readonly #api: SupervisedProcess;
  readonly #logs: readonly RotatingLog[];
  readonly #server: EmbeddedPostgres;
  readonly #socketDir: string;
  #cluster: ProvisionedCluster;
  readonly #pids: Record<ProcessName, number | null> = { postgres: null, control_plane: null, api: null };

  constructor(options: EmbeddedNodeOptions) {
    this.#options = options;
    const { folder, node, installation, faultHooks } = options;
    const log = (name: string): RotatingLog => new RotatingLog({ path: join(node.dir, "logs", `${name}.log`) });
    const [postgresLog, controlPlaneLog, apiLog] = [log("postgres"), log("control-plane"), log("api")];
    this.#logs = [postgresLog, controlPlaneLog, apiLog];
    const socketDir = join(folder.socketRoot, node.nodeId);
    ownFolder(socketDir, 0o700, null);
    const server = new EmbeddedPostgres({
      dir: join(folder.postgresRoot, node.nodeId),
      socketDir: join(folder.socketRoot, "postgres"),
      port: options.postgresPort,
      installation: {
        ...installation,
        environment: { ...installation.environment, ...faultHooks.environment?.(node.nodeId, "postgres") },
      },
      user: folder.postgresUser,
      settings: options.postgresSettings,
      bootstrapSql: [...ROLES_SQL, `CREATE DATABASE ${DATABASE} OWNER ${OWNER_ROLE};`],
      onLog: (chunk) => postgresLog.write(chunk),
    });
    this.#postgres = new SupervisedPostgres({
      server,
      onPid: (pid) => this.#setPid("postgres", pid),
      onEnd: (reason, restartInMs) => this.#say("postgres", `${reason}; next start in ${restartInMs} ms`),
    });
    this.#server = server;
    this.#socketDir = socketDir;
    this.#cluster = options.cluster;
    this.#controlPlane = this.#process(
      "control_plane",
      "control-plane",
      this.#settingsFile("control-plane"),
      controlPlaneLog,
    );
    this.#api = this.#process("api", "api", this.#settingsFile("api"), apiLog);
  }

  get id(): string {
    return this.#options.node.nodeId;
  }

  /** Where operators call it. */
  get called(): CalledNode {
    const { nodeId, authPublicKey } = this.#options.node;
    return { nodeId, host: LOOPBACK, port: this.#ports.control, authPublicKey };
  }

  get #ports(): NodePorts {
    const own = this.#options.ports.get(this.id);
    if (own === undefined) throw new Error(`no ports were chosen for node ${this.id}`);
    return own;
  }

  /** What cluster.json says of this node. */
  get entry(): ClusterFileNode {
    const { node, witness } = this.#options;
    const own = this.#ports;
    const apiUrl = `http://${LOOPBACK}:${own.api}`;
    return {
      id: node.nodeId,
      api_url: apiUrl,
      metrics_url: `http://${LOOPBACK}:${own.metrics}/metrics`,
      control_address: `${LOOPBACK}:${own.control}`,
      origin_fingerprint: node.originFingerprint,
      witness: witness === null ? null : { vkey: witness.vkey, url: `${apiUrl}/witness` },
      pids: { api: this.#pids.api, control_plane: this.#pids.control_plane, postgres: this.#pids.postgres },
    };
  }

  /** Writes the settings files and starts Postgres; resolves when it takes connections. */
  async startPostgres(): Promise<void> {
    this.#writeSettings();
    await this.#postgres.start();
  }

  /** The cluster has other nodes now: the settings name them, and a running control plane takes them up. */
  setCluster(cluster: ProvisionedCluster): void {
    this.#cluster = cluster;
    this.#writeSettings();
    const { control_plane: pid } = this.#pids;
    if (pid !== null) process.kill(pid, "SIGHUP");
  }

  #writeSettings(): void {
    const { node, ports, logEntriesKept, witness, faultHooks } = this.#options;
    const shared = { cluster: this.#cluster, node, ports, logEntriesKept, witness, faultHooks };
    const input = { ...shared, postgres: this.#server, socketDir: this.#socketDir };
    for (const [name, config] of [
      ["control-plane", controlPlaneConfig(input)],
      ["api", apiConfig(input)],
    ] as const) {
      writeAtomically(this.#settingsFile(name), `${JSON.stringify(config, null, 2)}\n`);
    }
  }

  #settingsFile(name: "api" | "control-plane"): string {
    return join(this.#options.node.dir, `${name}.json`);
  }

  async stopPostgres(): Promise<void> {
    await this.#postgres.stop();
  }

  /** SIGKILL; resolves when the server has ended, and leaves it down. */
  async killPostgres(): Promise<void> {
    await this.#postgres.kill();
  }

  /** Starts what does not run of the two; each waits by itself for what it needs. */
  startProcesses(): void {
    rmSync(join(this.#options.node.runDir, "stopped.json"), { force: true });
    this.#controlPlane.start();
    this.#api.start();
  }

  async stopProcesses(): Promise<void> {
    await this.#api.stop(STOP_GRACE_MS);
    await this.#controlPlane.stop(STOP_GRACE_MS);
  }

  /** SIGKILL to both; resolves when they have ended, and leaves them down. */
  async killProcesses(): Promise<void> {
    await Promise.all([this.#api.kill(), this.#controlPlane.kill()]);
  }

  closeLogs(): void {
    for (const log of this.#logs) log.close();
  }

  #process(name: ProcessName, packageName: keyof NodeFlags, config: string, log: RotatingLog): SupervisedProcess {
    return new SupervisedProcess({
      name: `${this.id} ${packageName}`,
      nodeFlags: this.#options.nodeFlags[packageName],
      script: processScript(packageName),
      args: ["--config", config],
      environment: this.#options.faultHooks.environment?.(this.id, name) ?? {},
      log,
      onPid: (pid) => this.#setPid(name, pid),
      onEnd: (end) => this.#onEnd(name, end, log),
    });
  }

  #onEnd(name: ProcessName, end: ProcessEnd, log: RotatingLog): void {
    const stopped = end.restartInMs === null ? readStopped(join(this.#options.node.runDir, "stopped.json")) : null;
    this.#say(name, describe(end, stopped, log.newestRemark));
    if (stopped?.check === "database_of_other_build") this.#options.onOtherBuild();
  }

  #setPid(name: ProcessName, pid: number | null): void {
    this.#pids[name] = pid;
    this.#options.onPid(name, pid);
  }

  #say(name: ProcessName, message: string): void {
    this.#options.onTrouble(`${this.id} ${name}: ${message}`);
  }
}

/** Why a process stays down, as it wrote it. */
interface Stopped {
  readonly check: string;
  readonly detail: string;
}

function describe({ code, signal, restartInMs }: ProcessEnd, stopped: Stopped | null, said: string): string {
  if (restartInMs !== null) {
    const remark = said === "" || code === null ? "" : ` (${said})`;
    return `ended with ${signal ?? `code ${code ?? "unknown"}`}${remark}; next start in ${restartInMs} ms`;
  }
  const state = code === EXIT_FENCED ? "fenced" : code === EXIT_HALTED ? "halted" : "refuses its settings";
  return `${state}, not started again: ${stopped === null ? said : `${stopped.check}: ${stopped.detail}`}`;
}

/** What a fenced or halted process wrote before it ended; null when it wrote nothing. */
function readStopped(path: string): Stopped | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value !== "object" || value === null) return null;
    const { check, detail }: { check?: unknown; detail?: unknown } = value;
    return typeof check === "string" && typeof detail === "string" ? { check, detail } : null;
  } catch (error) {
    if (hasCode(error, "ENOENT") || error instanceof SyntaxError) return null;
    throw error;
  }
}
