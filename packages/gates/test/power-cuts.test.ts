import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import { ForgetfulDisks, startFaultyCluster } from "@event-anchoring/testkit/faults";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { FaultyCluster } from "@event-anchoring/testkit/faults";
import { cutOnce } from "../src/gates/power-cuts.ts";

// The gate's judgement: a cluster that syncs loses nothing, one that does not is found.

const TIMEOUT_MS = 600_000;
/** Seeds that cut the power of all nodes, and keep no page. */
const ALL_NODES = [4, 25] as const;
const made = ForgetfulDisks.make();
const disks = made instanceof ForgetfulDisks ? made : null;
if (!(made instanceof ForgetfulDisks)) process.stdout.write(`power cuts are not tested: ${made.missing}\n`);

let faulty: FaultyCluster;

beforeAll(async () => {
  if (disks !== null) faulty = await startFaultyCluster(disks);
}, TIMEOUT_MS);

afterAll(async () => {
  await faulty?.end();
  disks?.close();
}, TIMEOUT_MS);

const UNSYNCED = "\nfsync = off\n";
const settingsOf = (nodeId: string): string => join(nodeFiles(faulty.cluster, nodeId).databaseDir, "postgresql.conf");

async function doesNotSync(nodeId: string): Promise<void> {
  const { databaseUrl } = nodeFiles(faulty.cluster, nodeId);
  appendFileSync(settingsOf(nodeId), UNSYNCED);
  process.kill(faulty.entry(nodeId).pids.postgres ?? 0, "SIGHUP");
  const session = await SqlSession.open(databaseUrl);
  try {
    await until(`${nodeId} does not sync`, async () => (await session.rows("SHOW fsync"))[0]?.["fsync"] === "off");
  } finally {
    await session.close();
  }
}

function syncsAgain(nodeId: string): void {
  writeFileSync(settingsOf(nodeId), readFileSync(settingsOf(nodeId), "utf8").replace(UNSYNCED, ""));
}

/** Acknowledged events that no node holds, neither in its log nor in its tables. */
async function lostEverywhere(): Promise<readonly string[]> {
  const held = await Promise.all(faulty.cluster.file.nodes.map(({ id }) => heldBy(id)));
  const events = faulty.recorder.anchored.filter(({ kind }) => kind === "event");
  return events.map(({ content }) => content).filter((hash) => !held.flat().some((one) => one.includes(hash, "hex")));
}

async function heldBy(nodeId: string): Promise<readonly Buffer[]> {
  const session = await SqlSession.open(nodeFiles(faulty.cluster, nodeId).databaseUrl);
  try {
    const rows = await session.rows(
      "SELECT payload AS bytes FROM node.raft_log UNION ALL SELECT leaf FROM state.anchors",
    );
    return rows.map(({ bytes }) => bytes as Buffer);
  } finally {
    await session.close();
  }
}

(disks === null ? describe.skip : describe)("a power cut of all nodes", () => {
  const cut = (seed: number, whileOff?: () => void): ReturnType<typeof cutOnce> =>
    cutOnce(faulty, disks as ForgetfulDisks, seed, whileOff);

  test(
    "takes nothing that was acknowledged from nodes that sync",
    async () => {
      const { who, broken, anchored } = await cut(ALL_NODES[0]);
      expect([who, broken]).toEqual(["all nodes", []]);
      expect(anchored).toBeGreaterThan(100);
      expect(await lostEverywhere()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "takes it from nodes whose Postgres does not sync, and each says what its log has lost",
    async () => {
      const ids = faulty.cluster.file.nodes.map(({ id }) => id);
      for (const id of ids) await doesNotSync(id);
      // Nodes refuse to serve with this setting: what is lost has to be found without it.
      const { pages, broken } = await cut(ALL_NODES[1], () => ids.forEach(syncsAgain));
      expect(pages).toBeGreaterThan(0);
      for (const id of ids) {
        const said = broken.find((line) => line.startsWith(`${id} stops for good: wal_went_back: `)) ?? broken.join();
        const [, end, flushed] = /ends at (\d+), it had been flushed up to (\d+)$/.exec(said) ?? [said];
        expect(Number(end)).toBeLessThan(Number(flushed));
      }
      const lost = await lostEverywhere();
      expect(lost.length).toBeGreaterThan(20);
      // What was acknowledged last is among it.
      const newest = faulty.recorder.anchored.findLast(({ kind }) => kind === "event");
      expect(lost).toContain(newest?.content);
    },
    TIMEOUT_MS,
  );
});
