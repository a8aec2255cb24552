import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ForgetfulDisks, SqlSession, nodeFiles, startFaultyCluster, until } from "@event-anchoring/testkit";
import type { FaultyCluster } from "@event-anchoring/testkit";
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

async function doesNotSync(nodeId: string): Promise<void> {
  const { databaseDir, databaseUrl } = nodeFiles(faulty.cluster, nodeId);
  appendFileSync(join(databaseDir, "postgresql.conf"), "\nfsync = off\n");
  process.kill(faulty.entry(nodeId).pids.postgres ?? 0, "SIGHUP");
  const session = await SqlSession.open(databaseUrl);
  try {
    await until(`${nodeId} does not sync`, async () => (await session.rows("SHOW fsync"))[0]?.["fsync"] === "off");
  } finally {
    await session.close();
  }
}

(disks === null ? describe.skip : describe)("a power cut of all nodes", () => {
  const cut = (seed: number): ReturnType<typeof cutOnce> => cutOnce(faulty, disks as ForgetfulDisks, seed);

  test(
    "takes nothing that was acknowledged from nodes that sync",
    async () => {
      const { who, broken, anchored } = await cut(ALL_NODES[0]);
      expect([who, broken]).toEqual(["all nodes", []]);
      expect(anchored).toBeGreaterThan(100);
    },
    TIMEOUT_MS,
  );

  test(
    "takes it from nodes whose Postgres does not sync, and that is found",
    async () => {
      for (const { id } of faulty.cluster.file.nodes) await doesNotSync(id);
      const { pages, broken } = await cut(ALL_NODES[1]);
      expect(pages).toBeGreaterThan(0);
      expect(broken).not.toEqual([]);
    },
    TIMEOUT_MS,
  );
});
