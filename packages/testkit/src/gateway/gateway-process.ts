/** The gateway of deploy/gateway as a process: the real program, the real settings, other addresses. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeGatewayFiles } from "@event-anchoring/provision";
import { until } from "../until.ts";

const GATEWAY_FOLDER = fileURLToPath(new URL("../../../../deploy/gateway", import.meta.url));
const DAY_MS = 86_400_000;

export const isGatewayThere = spawnSync("haproxy", ["-v"]).status === 0;
/** For titles: what a reader of the results should know. */
export const GATEWAY_NOTE = isGatewayThere ? "" : " (skipped: no haproxy here; apt-get install haproxy)";

export interface GatewayOptions {
  /** `host:port` of three api processes. */
  readonly nodes: readonly [string, string, string];
  /** PEM of the CA of the nodes' certificates; absent: they speak plain HTTP. */
  readonly nodesCa?: string;
  /** Further settings, GATEWAY_… */
  readonly environment?: Readonly<Record<string, string>>;
}

export class GatewayProcess {
  readonly port: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  /** PEM of the CA that clients trust. */
  readonly ca: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  #log = "";

  private constructor(options: { ports: readonly number[]; ca: string; folder: string; child: ChildProcess }) {
    [this.port = 0, this.healthPort = 0, this.metricsPort = 0] = options.ports;
    this.ca = options.ca;
    this.#folder = options.folder;
    this.#child = options.child;
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => void (this.#log += chunk));
    }
  }

  /** Resolves when it takes connections. */
  static async start({ nodes, nodesCa, environment = {} }: GatewayOptions): Promise<GatewayProcess> {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-gateway-"));
    const hosts = ["localhost", "127.0.0.1"];
    await writeGatewayFiles({
      outDir: folder,
      clusterName: "gateway.test",
      hosts,
      nodeAuthorities: nodesCa ?? "",
      lifetimeMs: DAY_MS,
      nowMs: Date.now(),
    });
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const [port, healthPort, metricsPort] = ports;
    const child = spawn("haproxy", ["-db", "-f", join(GATEWAY_FOLDER, "haproxy.cfg")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        GATEWAY_BIND: `127.0.0.1:${port}`,
        GATEWAY_HEALTH_BIND: `127.0.0.1:${healthPort}`,
        GATEWAY_METRICS_BIND: `127.0.0.1:${metricsPort}`,
        GATEWAY_TLS: join(folder, "gateway/served/tls.pem"),
        GATEWAY_HOSTS: join(folder, "gateway/served/hosts.txt"),
        // A file must be there also where none is used.
        GATEWAY_NODES_CA: join(folder, nodesCa === undefined ? "gateway/ca.crt" : "gateway/served/nodes-ca.crt"),
        ...(nodesCa === undefined ? { GATEWAY_NODES_TLS: "no-ssl" } : {}),
        ...Object.fromEntries(nodes.map((address, at) => [`GATEWAY_N${at + 1}`, address])),
        ...environment,
      },
    });
    const ca = readFileSync(join(folder, "gateway/ca.crt"), "utf8");
    const gateway = new GatewayProcess({ ports, ca, folder, child });
    await until("the gateway answers", () => gateway.#answers());
    return gateway;
  }

  /** Lines of its log so far, each a JSON object for an answered request. */
  get log(): string {
    return this.#log;
  }

  /** How many nodes it takes for ready, by its own metrics. */
  async readyNodes(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`);
    const text = await answer.text();
    const states = text.match(/^haproxy_server_status\{proxy="nodes",server="n\d",state="UP"\} 1$/gm);
    return states?.length ?? 0;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
    rmSync(this.#folder, { recursive: true });
  }

  async #answers(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`haproxy ended: ${this.#log}`);
    try {
      return (await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`)).ok;
    } catch {
      // Not listening yet.
      return false;
    }
  }
}

/** A port that nobody has now. */
async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
