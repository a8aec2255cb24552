import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import {
  ClusterLoad,
  differencesAt,
  headsAt,
  nodeFiles,
  receiptFailures,
  startTestCluster,
} from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

/** The least that can be set. A tenth of it is forgotten at a time. */
const LOG_ENTRIES_KEPT = 1000;
/** Few: each write should be an entry of its own. */
const WRITERS = 6;
const BEHIND = "n3";

let setup: TestCluster;
const loads: ClusterLoad[] = [];
const acknowledged: Acknowledged[] = [];

beforeAll(async () => {
  setup = await startTestCluster({ logEntriesKept: LOG_ENTRIES_KEPT });
}, 240_000);

afterAll(async () => {
  await Promise.all(loads.map((load) => load.abandon()));
  await setup.erase();
}, 240_000);

function startLoad(writers: number): ClusterLoad {
  // As fast as they can: the log is to grow.
  const load = ClusterLoad.start(setup, writers, 0);
  loads.push(load);
  return load;
}

async function compactedTo(id: string): Promise<number> {
  const session = await SqlSession.open(nodeFiles(setup.cluster, id).databaseUrl);
  try {
    const [row] = await session.rows("SELECT index FROM node.raft_compaction");
    return Number(row?.["index"] ?? 0);
  } finally {
    await session.close();
  }
}

async function lastIndex(id: string): Promise<number> {
  const session = await SqlSession.open(nodeFiles(setup.cluster, id).databaseUrl);
  try {
    const [row] = await session.rows("SELECT max(index) AS last FROM node.raft_log");
    return Number(row?.["last"]);
  } finally {
    await session.close();
  }
}

/** How often the control plane has logged this so far. */
function logged(id: string, message: string): number {
  const { controlPlaneLog } = nodeFiles(setup.cluster, id);
  return existsSync(controlPlaneLog) ? readFileSync(controlPlaneLog, "utf8").split(message).length - 1 : 0;
}

describe("a follower that the log no longer reaches", () => {
  test("is left behind by a cluster that goes on and forgets", async () => {
    const load = startLoad(WRITERS);
    await load.more(50);
    await setup.cluster.node(BEHIND).killProcesses();
    const end = await lastIndex(BEHIND);
    await until("the others forgot what it lacks", async () => (await compactedTo("n1")) > end + 50, 200_000);
    await until("both of them", async () => (await compactedTo("n2")) > end + 50);
    acknowledged.push(...(await load.stop()));
    expect(load.refusals).toEqual([]);
  }, 240_000);

  test("is killed in the middle of installing a snapshot, and nothing of it is in force", async () => {
    const { databaseUrl } = nodeFiles(setup.cluster, BEHIND);
    const session = await SqlSession.open(databaseUrl);
    try {
      // What an installation writes last waits for this lock: everything before it is done, and not committed.
      await session.rows("BEGIN");
      await session.rows("LOCK TABLE node.raft_compaction IN SHARE MODE");
      setup.cluster.node(BEHIND).startProcesses();
      await until("the installation is at its end", async () => {
        const waiting = await session.rows(
          "SELECT 1 FROM pg_locks WHERE relation = 'node.raft_compaction'::regclass AND NOT granted",
        );
        return waiting.length > 0;
      });
      expect(logged(BEHIND, "snapshot_fetching")).toBeGreaterThan(0);
      const before = await session.rows("SELECT applied_index FROM state.ledger");
      await setup.cluster.node(BEHIND).killProcesses();
      await session.rows("COMMIT");
      await until("its session has ended", async () => {
        const sessions = await session.rows(
          "SELECT 1 FROM pg_stat_activity WHERE application_name = 'event-anchoring snapshot install'",
        );
        return sessions.length === 0;
      });
      expect(await session.rows("SELECT applied_index FROM state.ledger")).toEqual(before);
      expect(logged(BEHIND, "snapshot_installed")).toBe(0);
    } finally {
      await session.close();
    }
  }, 240_000);

  test("installs it at the next start, and says the same as the others", async () => {
    const load = startLoad(2);
    setup.cluster.node(BEHIND).startProcesses();
    await setup.cluster.ready();
    await load.more(20);
    acknowledged.push(...(await load.stop()));
    expect(logged(BEHIND, "snapshot_installed")).toBeGreaterThan(0);
    expect(await headsAt(setup, BEHIND)).toEqual(await headsAt(setup, "n1"));
    expect(await differencesAt(setup, BEHIND, acknowledged)).toEqual([]);
  }, 240_000);

  test("cosigns again: with one of the others down, nothing is certified without it", async () => {
    await setup.cluster.node("n2").killProcesses();
    const load = startLoad(WRITERS);
    await load.more(30);
    const written = await load.stop();
    const checkpoints = written.map(({ receipt }) => (receipt as { readonly checkpoint: string }).checkpoint);
    expect(checkpoints.filter((checkpoint) => !checkpoint.includes(`/node/${BEHIND} `))).toEqual([]);
    acknowledged.push(...written);
    setup.cluster.node("n2").startProcesses();
    await setup.cluster.ready();
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(receiptFailures(setup, acknowledged)).toEqual([]);
  }, 240_000);
});
