/** The two processes of each node as systemd runs them: no supervisor, SIGTERM, started again by hand. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const UNITS = ["control-plane", "api"] as const;
export type Unit = (typeof UNITS)[number];

/** A build of the two processes: the one of this checkout, or a copy of it that plays the release after it. */
export interface Release {
  readonly folder: string;
  /** As /healthz says it. */
  readonly version: string;
  /** The highest rules that it can decide by. */
  readonly rules: number;
}

/** A control plane that knows rules 2 as well; what it does with them is `RuleTable`'s, as in every release. */
const NEXT_MAIN = `
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { runProcess } from "./process/process.js";

runProcess(NEXT_RULES);
`;

/** The true control plane behind a lie, which begins at SIGUSR2: whom it deceives is in the file `victim`. */
const LYING_MAIN = `
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RELEASE_RULES } from "@event-anchoring/ledger";
import { OtherBytes, lyingNetwork } from "@event-anchoring/simulator";
import { loadIdentity } from "./process/load-identity.js";
import { systemMachine } from "./process/system-machine.js";
import { runProcess } from "./process/process.js";

runProcess(RELEASE_RULES, (config) => {
  const machine = systemMachine(config);
  const { nodeId, cosigner, trustRoot } = loadIdentity(config.identity_dir, config.node_id);
  const others = trustRoot.nodes.map((node) => node.nodeId).filter((other) => other !== nodeId);
  let lie = null;
  process.on("SIGUSR2", () => {
    const victim = readFileSync(join(config.run_dir, "victim"), "utf8");
    lie = new OtherBytes({ nodeId, cosigner, trustRoot, others }, victim);
  });
  return { ...machine, createNetwork: (options) => lyingNetwork(options, () => lie, machine.createNetwork) };
});
`;

/** This checkout's build, with keys of its own node and a lie in front of its network. */
export function lyingRelease(folder: string): Release {
  copyBuild(folder);
  writeFileSync(join(folder, "packages/control-plane/dist/main.js"), LYING_MAIN);
  return { folder, version: "4.2.0", rules: 1 };
}

function copyBuild(folder: string): void {
  for (const unit of UNITS) {
    const copy = join(folder, "packages", unit);
    mkdirSync(copy, { recursive: true });
    cpSync(join(CHECKOUT, "packages", unit, "package.json"), join(copy, "package.json"));
    cpSync(join(CHECKOUT, "packages", unit, "dist"), join(copy, "dist"), { recursive: true });
  }
  mkdirSync(join(folder, "docs"));
  cpSync(join(CHECKOUT, "docs/openapi.json"), join(folder, "docs/openapi.json"));
  symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
}

/**
 * What an upgrade puts into place, in a folder of its own: this checkout's build under another version, whose control
 * plane starts with one rule more.
 */
export function nextRelease(version: string, folder: string): Release {
  copyBuild(folder);
  const file = join(folder, "packages/api/dist/process/service-version.js");
  const text = readFileSync(file, "utf8");
  const renamed = text.replace(/SERVICE_VERSION = "[^"]*"/u, `SERVICE_VERSION = "${version}"`);
  if (renamed === text) throw new Error(`${file} does not say its version where it used to`);
  writeFileSync(file, renamed);
  writeFileSync(join(folder, "packages/control-plane/dist/main.js"), NEXT_MAIN);
  return { folder, version, rules: 2 };
}

interface Health {
  readonly versions: {
    readonly service: string;
    /** In force, and the highest that the control plane can decide by. */
    readonly rules: number;
    readonly rules_known: number;
    readonly rules_held_back_by: string;
    readonly entry_version: number;
  };
}

export class NodeUnits {
  readonly #setup: TestCluster;
  readonly #children = new Map<string, ChildProcess>();

  constructor(setup: TestCluster) {
    this.#setup = setup;
  }

  /** Takes a node over from the supervisor, which keeps its Postgres. */
  async takeOver(nodeId: string, release: Release): Promise<void> {
    await this.#setup.cluster.node(nodeId).stopProcesses();
    for (const unit of UNITS) this.start(nodeId, unit, release);
    await this.ready(nodeId, release);
  }

  start(nodeId: string, unit: Unit, release: Release): void {
    const { root } = this.#setup.cluster;
    const log = openSync(this.#logFile(nodeId, unit), "a", 0o600);
    const main = join(release.folder, "packages", unit, "dist/main.js");
    const settings = join(root, "nodes", nodeId, `${unit}.json`);
    const child = spawn(process.execPath, [main, "--config", settings], { stdio: ["ignore", log, log] });
    this.#children.set(`${nodeId} ${unit}`, child);
  }

  signal(nodeId: string, unit: Unit, signal: NodeJS.Signals): void {
    this.#children.get(`${nodeId} ${unit}`)?.kill(signal);
  }

  /** SIGKILL to both; resolves when they have ended. */
  async kill(nodeId: string): Promise<void> {
    await Promise.all(UNITS.map((unit) => this.#end(nodeId, unit, (child) => child.kill("SIGKILL"))));
  }

  /** SIGTERM; resolves with the exit code when the process has ended. */
  async stop(nodeId: string, unit: Unit): Promise<number | null> {
    return this.#end(nodeId, unit, (child) => child.kill("SIGTERM"));
  }

  async #end(nodeId: string, unit: Unit, ask: (child: ChildProcess) => void): Promise<number | null> {
    const child = this.#children.get(`${nodeId} ${unit}`);
    if (child === undefined) throw new Error(`${nodeId} ${unit} was not started here`);
    const ended = new Promise<number | null>((resolve) => {
      if (child.exitCode !== null) resolve(child.exitCode);
      else child.once("exit", resolve);
    });
    ask(child);
    const code = await ended;
    this.#children.delete(`${nodeId} ${unit}`);
    return code;
  }

  #logFile(nodeId: string, unit: Unit): string {
    return join(this.#setup.cluster.root, "nodes", nodeId, "logs", `${unit}.unit.log`);
  }

  /** Both at the same moment, as a host that shuts down asks them. */
  async stopBoth(nodeId: string): Promise<readonly (number | null)[]> {
    return Promise.all(UNITS.map((unit) => this.stop(nodeId, unit)));
  }

  /** Another SIGTERM to what is stopping, as an impatient person sends it. */
  remind(nodeId: string): void {
    for (const unit of UNITS) this.#children.get(`${nodeId} ${unit}`)?.kill("SIGTERM");
  }

  /** Waits until /readyz is 200 and the process that answers is of this release. */
  async ready(nodeId: string, release: Release): Promise<void> {
    const { api_url: url } = this.#setup.entry(nodeId);
    let newest = "it does not listen yet";
    const isReady = async (): Promise<boolean> => {
      try {
        const [ready, health] = await Promise.all([fetch(`${url}/readyz`), fetch(`${url}/healthz`)]);
        const { versions } = (await health.json()) as Health;
        newest = `${ready.status} ${await ready.text()} ${JSON.stringify(versions)}`;
        const isRelease = versions.service === release.version && versions.rules_known === release.rules;
        return ready.status === 200 && isRelease;
      } catch (error) {
        newest = String(error);
        return false;
      }
    };
    try {
      await until(`${nodeId} is ready as ${release.version}`, isReady, 60_000);
    } catch (cause) {
      throw new Error(`${String(cause)}: ${newest}\n${this.logOf(nodeId, "control-plane").slice(-2000)}`, { cause });
    }
  }

  /** The exit code of a process that ends by itself. */
  async ended(nodeId: string, unit: Unit): Promise<number | null> {
    return this.#end(nodeId, unit, () => {});
  }

  /** What /healthz of a node says of versions. */
  async versions(nodeId: string): Promise<Health["versions"]> {
    const answer = await fetch(`${this.#setup.entry(nodeId).api_url}/healthz`);
    return ((await answer.json()) as Health).versions;
  }

  /** Whom the control plane of a node has named last as the leader; null: nobody yet. */
  lastLeaderKnownTo(nodeId: string): string | null {
    const lines = this.logOf(nodeId, "control-plane").split("\n");
    const leaders = lines.flatMap((line) => /"leader":"(\w+)".*"message":"leader_changed"/u.exec(line)?.[1] ?? []);
    return leaders.at(-1) ?? null;
  }

  /** What a process has written to its log. */
  logOf(nodeId: string, unit: Unit): string {
    return readFileSync(this.#logFile(nodeId, unit), "utf8");
  }

  /** For the end of a test, however it went. */
  async killAll(): Promise<void> {
    const children = [...this.#children.values()];
    this.#children.clear();
    await Promise.all(
      children.map(async (child) => {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGKILL");
        await ended;
      }),
    );
  }
}
