/** A Docker engine for a test: the one that is there, else one of its own that ends with the test. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const has = (program: string): boolean => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** Docker Compose: the plugin, else the program of its own. */
const compose = (): readonly string[] | null => {
  if (spawnSync("docker", ["compose", "version"]).status === 0) return ["docker", "compose"];
  return has("docker-compose") ? ["docker-compose"] : null;
};

/** Whether images are built as a Docker of today builds them: Compose 2 or newer, with BuildKit. */
export function hasBuildKit(): boolean {
  return compose()?.[0] === "docker" && spawnSync("docker", ["buildx", "version"]).status === 0;
}

/** What is missing for a run of the compose cluster; null: nothing. */
export function missingForCompose(): string | null {
  if (process.env["ANCHORING_COMPOSE"] !== "1") return "ANCHORING_COMPOSE=1 is not set";
  if (!has("docker") || compose() === null) return "no docker with docker compose here";
  const hasEngine = spawnSync("docker", ["info"]).status === 0;
  if (!hasEngine && (!has("dockerd") || process.getuid?.() !== 0))
    return "no Docker engine here, and none can be started";
  return null;
}

export class DockerEngine {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #own: { readonly child: ChildProcess; readonly folder: string } | null;

  private constructor(
    environment: DockerEngine["ownEnvironment"],
    own: { child: ChildProcess; folder: string } | null,
  ) {
    this.#environment = environment;
    this.#own = own;
  }

  static async start(): Promise<DockerEngine> {
    if (spawnSync("docker", ["info"]).status === 0) return new DockerEngine(process.env, null);
    return DockerEngine.startOwn(null);
  }

  /** @param networkNamespace the engine's world, as `ip netns` names it; null: this machine's network */
  static async startOwn(networkNamespace: string | null): Promise<DockerEngine> {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-docker-"));
    const socket = `unix://${join(folder, "docker.sock")}`;
    const log = openSync(join(folder, "dockerd.log"), "w");
    const own = (name: string): string => join(folder, name);
    const folders = ["--data-root", own("data"), "--exec-root", own("exec"), "--pidfile", own("pid")];
    const command = ["dockerd", ...folders, "--host", socket];
    // Not `ip netns exec`: it hides the control groups, which are mounted below what it mounts anew.
    const entered =
      networkNamespace === null ? command : ["nsenter", `--net=/run/netns/${networkNamespace}`, ...command];
    const [program = "", ...args] = entered;
    const child = spawn(program, args, { stdio: ["ignore", log, log] });
    const engine = new DockerEngine({ ...process.env, DOCKER_HOST: socket }, { child, folder });
    await until("the engine answers", () => engine.docker("info").status === 0, 60_000);
    return engine;
  }

  get ownEnvironment(): Readonly<Record<string, string | undefined>> {
    return this.#environment;
  }

  /** Waits for the command; its exit code is in the answer. */
  docker(...args: string[]): Ran {
    return this.run("docker", args);
  }

  compose(...args: string[]): Ran {
    const [program = "", ...first] = compose() ?? [];
    return this.run(program, [...first, ...args]);
  }

  /** A command that speaks to this engine. @param cwd default: where the test runs */
  run(program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}, cwd?: string): Ran {
    const environment = { ...this.#environment, ...more };
    const options = { encoding: "utf8", env: environment, cwd, maxBuffer: 64 * 1024 * 1024 } as const;
    const { status, stdout, stderr } = spawnSync(program, args, options);
    return { status: status ?? -1, stdout, stderr };
  }

  /** Ends an engine of its own, with all its images. */
  async stop(): Promise<void> {
    if (this.#own === null) return;
    const { child, folder } = this.#own;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    // The engine leaves this one mounted.
    spawnSync("umount", [join(folder, "exec/netns/default")]);
    rmSync(folder, { recursive: true, force: true });
  }
}
