import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ClusterFile, readClusterFile } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const START = join(ROOT, "packages/dev-cluster/bin/start.js");
const ANCHORCTL = join(ROOT, "packages/cli/bin/anchorctl.js");
const started: ChildProcess[] = [];

/** A running `npm start`. */
export interface Supervisor {
  readonly child: ChildProcess;
  output(): string;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

/** `npm start -- --data <folder>`, with more options. */
export function startIn(folder: string, ...args: readonly string[]): Supervisor {
  const child = spawn(process.execPath, [START, "--data", folder, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  return { child, output: () => output, ended };
}

export function killStarted(): void {
  for (const child of started) child.kill("SIGKILL");
}

export async function running(supervisor: Supervisor, folder: string): Promise<ClusterFile> {
  await until(
    "the cluster is running",
    () => {
      if (supervisor.child.exitCode !== null) throw new Error(`the start ended:\n${supervisor.output()}`);
      return supervisor.output().includes("The cluster is running.");
    },
    60_000,
  );
  return clusterFileIn(folder);
}

export function clusterFileIn(folder: string): ClusterFile {
  const file = readClusterFile(join(folder, "cluster.json"));
  if (file === null) throw new Error("there is no cluster.json");
  return file;
}

/** `anchorctl` in that folder. */
export function anchorctlIn(
  cwd: string,
  ...args: readonly string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [ANCHORCTL, ...args], { cwd, encoding: "utf8" });
}
