import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, renameSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ClusterLoad, differencesAt, headsAt, nodeFiles, startTestCluster, until } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit";

const WRITERS = 6;
const NODE = "n3";
/** Room for a new database, its write-ahead log and little more. */
const DISK_MIB = 160;

function run(program: string, ...args: readonly string[]): { readonly isDone: boolean; readonly said: string } {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  return { isDone: status === 0, said: stderr === null ? String(error) : stderr.trim() };
}

function mustRun(program: string, ...args: readonly string[]): void {
  const { isDone, said } = run(program, ...args);
  if (!isDone) throw new Error(`${program}: ${said}`);
}

let setup: TestCluster;
let load: ClusterLoad;
let disk: string;

/** Takes every byte that is left. */
function fill(directory: string): string {
  const path = join(directory, "filler");
  const file = openSync(path, "w");
  const block = new Uint8Array(64 * 1024);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
  return path;
}

async function failingChecks(): Promise<readonly string[]> {
  const response = await fetch(`${setup.entry(NODE).api_url}/readyz`, { signal: AbortSignal.timeout(5000) });
  const { checks } = (await response.json()) as { readonly checks: readonly Readonly<Record<string, string>>[] };
  return checks.filter(({ result }) => result === "fail").map(({ check }) => check ?? "");
}

/** Whether a small disk can be had: it takes the right to mount. Asked before the tests are named. */
const probe = mkdtempSync(join(tmpdir(), "anchoring-mount-"));
const mounted = run("mount", "-t", "tmpfs", "-o", "size=64k", "anchoring-test", probe);
if (mounted.isDone) run("umount", probe);
rmSync(probe, { recursive: true });
if (!mounted.isDone) process.stdout.write(`a full disk is not tested: none can be mounted here (${mounted.said})\n`);

(mounted.isDone ? describe : describe.skip)("a node whose disk is full", () => {
  beforeAll(async () => {
    setup = await startTestCluster();
    disk = nodeFiles(setup.cluster, NODE).databaseDir;
    await setup.cluster.node(NODE).stopProcesses();
    await setup.cluster.node(NODE).stopPostgres();
    renameSync(disk, `${disk}-files`);
    mkdirSync(disk);
    mustRun("mount", "-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "anchoring-test", disk);
    mustRun("cp", "-pR", `${disk}-files/.`, disk);
    await setup.cluster.node(NODE).startPostgres();
    setup.cluster.node(NODE).startProcesses();
    await setup.cluster.ready();
    load = ClusterLoad.start(setup, WRITERS);
  }, 90_000);

  afterAll(async () => {
    await load.abandon();
    await setup.cluster.stop();
    mustRun("umount", disk);
    await setup.cluster.erase();
  }, 60_000);

  test("says so, the others go on without it, and it is back by itself when there is space again", async () => {
    await load.more(50);
    const filler = fill(disk);
    expect(statfsSync(disk).bavail).toBe(0);
    const said = await until(
      "it is not ready",
      async () => {
        const failing = await failingChecks();
        return failing.some((check) => check.startsWith("storage")) ? failing : null;
      },
      60_000,
    );
    expect(said).not.toContain("fenced");
    await load.more(100);
    rmSync(filler);
    await setup.cluster.ready();
    await load.more(50);
    const acknowledged = await load.stop();
    expect(load.refusals).toEqual([]);
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(await headsAt(setup, NODE)).toEqual(await headsAt(setup, "n1"));
    expect(nodeFiles(setup.cluster, NODE).stopped()).toBeNull();
  }, 120_000);
});
