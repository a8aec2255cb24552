import { spawnSync } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import type { NodeFiles, Stopped } from "@event-anchoring/testkit/cluster";
import { ClusterUnderFaults, START_TIMEOUT_MS, FAULT_TIMEOUT_MS } from "./cluster-under-faults.ts";

// test/cluster/fencing.test.ts sets a follower back. Here it is the node that leads, and what it gets back was copied
// from under running processes, as backups of careless people are.

const EXIT_FENCED = 78;

let cluster: ClusterUnderFaults;

beforeAll(async () => {
  cluster = await ClusterUnderFaults.start();
}, START_TIMEOUT_MS);

afterAll(async () => {
  await cluster.end();
}, START_TIMEOUT_MS);

/** Whole and with its owners. Files that change or go meanwhile are what they are. */
function copy(from: string, to: string): void {
  const { error } = spawnSync("cp", ["-pR", from, to], { encoding: "utf8" });
  if (error !== undefined) throw error;
}

async function stopNode(id: string): Promise<void> {
  await cluster.faulty.cluster.node(id).stopProcesses();
  await cluster.faulty.cluster.node(id).stopPostgres();
}

async function startNode(id: string): Promise<void> {
  await cluster.faulty.cluster.node(id).startPostgres();
  cluster.faulty.cluster.node(id).startProcesses();
}

interface SetBack {
  readonly id: string;
  readonly paths: readonly string[];
  readonly files: NodeFiles;
}

/** The node that leads is given copies of these that are older than its last acts, and started. */
async function setBack(pathsOf: (files: NodeFiles) => readonly string[], isRestarted: boolean): Promise<SetBack> {
  const { id } = await cluster.faulty.leader();
  const files = nodeFiles(cluster.faulty.cluster, id);
  const paths = pathsOf(files);
  for (const path of paths) copy(path, `${path}-older`);
  await cluster.more(100);
  await stopNode(id);
  if (isRestarted) {
    await startNode(id);
    await cluster.faulty.cluster.ready(START_TIMEOUT_MS);
    await cluster.more(50);
    await stopNode(id);
  }
  for (const path of paths) {
    renameSync(path, `${path}-newer`);
    renameSync(`${path}-older`, path);
  }
  rmSync(`${files.databaseDir}/postmaster.pid`, { force: true });
  await startNode(id);
  return { id, paths, files };
}

/** The node has everything again that it had promised. */
async function giveBack({ id, paths }: SetBack): Promise<void> {
  await stopNode(id);
  for (const path of paths) {
    rmSync(path, { recursive: true });
    renameSync(`${path}-newer`, path);
  }
  await startNode(id);
  await cluster.faulty.cluster.ready(START_TIMEOUT_MS);
}

async function fenced({ id, files }: SetBack): Promise<Stopped> {
  const stopped = await until(`${id} says why it stopped`, () => files.stopped(), FAULT_TIMEOUT_MS / 2);
  process.stdout.write(`${id}: ${stopped.check}: ${stopped.detail}\n`);
  await cluster.more(50);
  return stopped;
}

describe("the node that leads is given back", () => {
  const cases = [
    { what: "its database of a moment ago", isRestarted: false, check: "wal_went_back" },
    { what: "its database and its promise file of a moment ago", isRestarted: false, check: "peer_remembers_more" },
    { what: "its promise file of before its last start", isRestarted: true, check: "peer_remembers_more" },
  ] as const;

  test.each(cases)(
    "$what, and says that it may not go on",
    async ({ what, isRestarted, check }) => {
      const pathsOf = ({ databaseDir, promiseFile }: NodeFiles): readonly string[] => [
        ...(what.includes("database") ? [databaseDir] : []),
        ...(what.includes("promise") ? [promiseFile] : []),
      ];
      const wasSetBack = await setBack(pathsOf, isRestarted);
      expect(await fenced(wasSetBack)).toMatchObject({ code: EXIT_FENCED, reason: "fenced", check });
      await giveBack(wasSetBack);
    },
    FAULT_TIMEOUT_MS,
  );

  test(
    "its promise file of a moment ago: its database still knows all that it forgot, and it goes on",
    async () => {
      const { id, files, paths } = await setBack(({ promiseFile }) => [promiseFile], false);
      await cluster.faulty.cluster.ready(START_TIMEOUT_MS);
      await cluster.more(100);
      expect(files.stopped()).toBeNull();
      expect(cluster.faulty.entry(id).pids.control_plane).not.toBeNull();
      for (const path of paths) rmSync(`${path}-newer`);
    },
    FAULT_TIMEOUT_MS,
  );

  test(
    "and nothing was lost, doubled or contradicted, nor signed twice",
    async () => {
      expect(await cluster.audit()).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );
});
