import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readClusterFile } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { MeasuredCluster } from "../load/measured-cluster.ts";

/** The other checkout may have to be built first. */
const START_TIMEOUT_MS = 300_000;
const LAST_WORDS_MAX = 2000;

/** The cluster that a checkout's own `npm start` makes, in a temporary folder. */
export class CheckoutCluster {
  readonly cluster: MeasuredCluster;
  readonly #process: ChildProcess;
  readonly #folder: string;

  private constructor(cluster: MeasuredCluster, supervisor: ChildProcess, folder: string) {
    this.cluster = cluster;
    this.#process = supervisor;
    this.#folder = folder;
  }

  /** @param checkout with its `node_modules`. @throws with what it said last when it does not come up */
  static async start(checkout: string): Promise<CheckoutCluster> {
    const script = join(checkout, "packages/dev-cluster/bin/start.js");
    if (!existsSync(script)) throw new Error(`${checkout} is no checkout of this project: it has no ${script}`);
    const folder = mkdtempSync(join(tmpdir(), "anchoring-bench-"));
    const supervisor = spawn(process.execPath, [script, "--data", folder], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [supervisor.stdout, supervisor.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-LAST_WORDS_MAX)));
    }
    try {
      await until("the cluster of the checkout runs", () => hasStarted(supervisor, folder), START_TIMEOUT_MS);
      return new CheckoutCluster(MeasuredCluster.running(folder), supervisor, folder);
    } catch (error) {
      await end(supervisor);
      rmSync(folder, { recursive: true, force: true });
      throw new Error(`${checkout} has started no cluster: ${said}`, { cause: error });
    }
  }

  async erase(): Promise<void> {
    await end(this.#process);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function hasStarted(supervisor: ChildProcess, folder: string): boolean {
  if (supervisor.exitCode !== null) throw new Error(`it ended with ${supervisor.exitCode}`);
  return readClusterFile(join(folder, "cluster.json"))?.state === "running";
}

async function end(supervisor: ChildProcess): Promise<void> {
  if (supervisor.exitCode !== null || supervisor.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => {
    supervisor.once("exit", () => resolve());
  });
  supervisor.kill("SIGTERM");
  await ended;
}
