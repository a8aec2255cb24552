/** docker-compose.yml, brought up in a project of its own with keys of its own. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "@event-anchoring/testkit";
import { hasBuildKit } from "./docker-engine.ts";
import type { DockerEngine, Ran } from "./docker-engine.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COMPOSE_FILE = join(ROOT, "docker-compose.yml");
export const IMAGE = "event-anchoring:4.2.0";
const STAND_INS = fileURLToPath(new URL("./stand-in-images.sh", import.meta.url));

export interface Inspected {
  readonly Name: string;
  readonly Config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly Privileged: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly CapAdd: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
    readonly Memory: number;
    readonly NanoCpus: number;
    readonly PidsLimit: number | null;
    readonly NetworkMode: string;
    readonly PortBindings: Readonly<
      Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[]>
    > | null;
    readonly RestartPolicy: { readonly Name: string };
  };
  readonly State: { readonly Health?: { readonly Status: string } };
  readonly Mounts: readonly { readonly Type: string; readonly Destination: string; readonly RW: boolean }[];
}

const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** Which images docker-compose.yml and the Dockerfile begin with. */
function imagesOf(): Readonly<Record<"node" | "postgres" | "haproxy" | "prometheus" | "grafana", string>> {
  const text = readFileSync(COMPOSE_FILE, "utf8") + readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
  const named = (pattern: RegExp): string => {
    const [, image] = pattern.exec(text) ?? [];
    if (image === undefined) throw new Error(`no image is named by ${String(pattern)}`);
    return image;
  };
  return {
    node: named(/NODE_IMAGE=(node:\S+)/),
    postgres: named(/image: (postgres:\S+)/),
    haproxy: named(/image: (haproxy:\S+)/),
    prometheus: named(/image: (prom\/prometheus:\S+)/),
    grafana: named(/image: (grafana\/grafana:\S+)/),
  };
}

/** Pulls the images of others that are not there, else makes stand-ins. @returns their names */
export function provideImages(engine: DockerEngine): readonly string[] {
  const images = imagesOf();
  const missing = Object.values(images).filter((image) => engine.docker("image", "inspect", image).status !== 0);
  if (missing.some((image) => engine.docker("pull", "--quiet", image).status !== 0)) {
    const pinned = missing.find((image) => image.includes("@"));
    if (pinned !== undefined) throw new Error(`${pinned} cannot be pulled, and nothing stands in for a digest`);
    const folder = process.env["ANCHORING_STAND_INS"] ?? "/var/tmp/anchoring-stand-ins";
    const { node, postgres, haproxy, prometheus, grafana } = images;
    const args = [STAND_INS, folder, node, postgres, haproxy, prometheus, grafana];
    assertRan(engine.run("sh", args), "making stand-in images");
  }
  return Object.values(images);
}

/** Throws with what the command said. */
export function assertRan(ran: Ran, what: string): Ran {
  if (ran.status === 0) return ran;
  throw new Error(`${what} ended with ${ran.status}:\n${ran.stdout.slice(-4000)}\n${ran.stderr.slice(-4000)}`);
}

export interface Answered {
  readonly status: number;
  readonly body: unknown;
  /** Serial number of the certificate that was shown. */
  readonly serialNumber: string;
}

export class ComposeCluster {
  readonly engine: DockerEngine;
  readonly #folder: string;
  readonly #project = `anchoring-test-${process.pid}`;

  private constructor(engine: DockerEngine, folder: string) {
    this.engine = engine;
    this.#folder = folder;
  }

  /** Pulls what is not there, else makes stand-ins; holds the ceremony. */
  static prepare(engine: DockerEngine): ComposeCluster {
    provideImages(engine);
    const cluster = new ComposeCluster(engine, mkdtempSync(join(tmpdir(), "anchoring-compose-")));
    cluster.certs("ceremony", "--env", cluster.path("env"));
    return cluster;
  }

  path(...names: string[]): string {
    return join(this.#folder, ...names);
  }

  /** A command of certs/ on this cluster's folder. */
  certs(name: string, ...args: string[]): Ran {
    const script = join(ROOT, "certs", `${name}.js`);
    const ran = this.engine.run(process.execPath, [script, "--out", this.path("cluster"), ...args]);
    return assertRan(ran, `certs/${name}.js`);
  }

  compose(...args: string[]): Ran {
    return this.engine.compose(
      "--project-name",
      this.#project,
      "--file",
      COMPOSE_FILE,
      "--env-file",
      this.path("env"),
      ...args,
    );
  }

  /** Brings the containers up from the image that is there. */
  async up(...more: string[]): Promise<void> {
    assertRan(this.compose(...more, "up", "--detach", "--no-build"), "docker compose up");
    await this.healthy();
  }

  /** The first start, which builds the image: by the README's own line, where there is a Docker of today. */
  async firstUp(): Promise<void> {
    this.engine.docker("image", "rm", "--force", IMAGE);
    if (!hasBuildKit()) {
      const build = ["build", "--network", "host", "--file", join(ROOT, "deploy/Dockerfile"), "--tag", IMAGE, ROOT];
      assertRan(this.engine.run("docker", build, { DOCKER_BUILDKIT: "0" }), "building the image");
      return this.up();
    }
    const [, line = ""] = /^npm ci && node certs\/ceremony\.js && (docker compose up .*)$/mu.exec(README) ?? [];
    const environment = {
      COMPOSE_FILE,
      COMPOSE_PROJECT_NAME: this.#project,
      COMPOSE_ENV_FILES: this.path("env"),
    };
    assertRan(this.engine.run("sh", ["-c", line], environment), line);
    await this.healthy();
  }

  /** Waits until no container is anything but healthy. */
  async healthy(): Promise<void> {
    const state = ({ Name: name, State: { Health: health } }: Inspected): string =>
      `${name} ${health?.Status ?? "none"}`;
    let states: readonly string[] = [];
    const isHealthy = (): boolean => {
      states = this.inspect().map(state);
      return states.length >= 10 && !states.some((text) => text.endsWith("starting") || text.endsWith("unhealthy"));
    };
    await until("all containers are healthy", isHealthy, 240_000).catch((error: unknown) => {
      throw new Error(states.join("\n"), { cause: error });
    });
  }

  containerOf(service: string): string {
    const { stdout } = assertRan(this.compose("ps", "--quiet", service), `docker compose ps ${service}`);
    return stdout.trim();
  }

  inspect(): readonly Inspected[] {
    const filter = `label=com.docker.compose.project=${this.#project}`;
    const ids = assertRan(this.engine.docker("ps", "--all", "--quiet", "--filter", filter), "docker ps").stdout.split(
      "\n",
    );
    const { stdout } = assertRan(this.engine.docker("inspect", ...ids.filter((id) => id !== "")), "docker inspect");
    return JSON.parse(stdout) as Inspected[];
  }

  /** Runs a command in a service's container. */
  exec(service: string, ...command: string[]): Ran {
    return this.engine.docker("exec", this.containerOf(service), ...command);
  }

  /** Another text for each start of its container. */
  startedAt(service: string): string {
    return this.engine.docker("inspect", "--format", "{{.State.StartedAt}}", this.containerOf(service)).stdout.trim();
  }

  logs(service: string): string {
    const { stdout, stderr } = this.engine.docker("logs", this.containerOf(service));
    return stdout + stderr;
  }

  /** A request through the published port of the gateway, trusting its CA alone. */
  async ask(method: string, path: string, apiKey: string | null = null, body?: object): Promise<Answered> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string | number> = { host: "localhost" };
    if (apiKey !== null) headers["authorization"] = `Bearer ${apiKey}`;
    if (text !== undefined) headers["content-type"] = "application/json";
    if (text !== undefined) headers["content-length"] = Buffer.byteLength(text);
    const ca = readFileSync(this.path("cluster/gateway/ca.crt"));
    return new Promise((resolve, reject) => {
      const options = { host: "localhost", port: 8443, family: 4, method, path, headers, ca, agent: false } as const;
      const request = httpsRequest(options, (response) => {
        const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
        let answer = "";
        response.setEncoding("utf8").on("data", (chunk: string) => void (answer += chunk));
        response.once("end", () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) as unknown, serialNumber });
        });
      });
      request.once("error", reject);
      request.end(text);
    });
  }

  /** Ends the project with its volumes, and deletes its keys. */
  erase(): void {
    this.compose("--profile", "monitoring", "down", "--volumes", "--timeout", "20");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
