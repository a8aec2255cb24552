import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { ClusterLoad, differencesAt, headsAt, nodeFiles, receiptFailures } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";

const WRITERS = 8;
const EXIT_HALTED = 79;
/** The node that comes later than the others, and is damaged. */
const LATE = "n3";

let setup: TestCluster;
const loads: ClusterLoad[] = [];
const acknowledged: Acknowledged[] = [];

beforeAll(async () => {
  setup = await sharedCluster();
}, 240_000);

afterAll(async () => {
  await Promise.all(loads.map((load) => load.abandon()));
}, 240_000);

function startLoad(writers: number): ClusterLoad {
  const load = ClusterLoad.start(setup, writers);
  loads.push(load);
  return load;
}

async function stopped(id: string): Promise<unknown> {
  return until("the node says why it stopped", () => nodeFiles(setup.cluster, id).stopped());
}

/** Writes for a moment over the nodes that are there. */
async function write(count: number): Promise<void> {
  const load = startLoad(WRITERS);
  await load.more(count);
  acknowledged.push(...(await load.stop()));
  expect(load.refusals).toEqual([]);
}

describe("three nodes that lose power at once, under load", () => {
  test("two of them go on with all that was acknowledged, and the third follows", async () => {
    const { nodes } = setup.cluster.file;
    const load = startLoad(WRITERS);
    await load.more(300);
    await Promise.all(
      nodes.flatMap(({ id }) => [setup.cluster.node(id).killProcesses(), setup.cluster.node(id).killPostgres()]),
    );
    const before = load.acknowledged;
    const early = nodes.filter(({ id }) => id !== LATE).map(({ id }) => id);
    await Promise.all(early.map((id) => setup.cluster.node(id).startPostgres()));
    for (const id of early) setup.cluster.node(id).startProcesses();
    await load.more(100);
    for (const id of early) expect(await differencesAt(setup, id, before)).toEqual([]);
    await setup.cluster.node(LATE).startPostgres();
    setup.cluster.node(LATE).startProcesses();
    await setup.cluster.ready();
    await load.more(50);
    acknowledged.push(...(await load.stop()));
    expect(load.refusals).toEqual([]);
    for (const { id } of nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(await headsAt(setup, LATE)).toEqual(await headsAt(setup, "n1"));
    expect(receiptFailures(setup, acknowledged)).toEqual([]);
  }, 240_000);
});

describe("a node that a person has to look at", () => {
  /** The middle of the log, which is committed on every node. */
  async function flipBit(session: SqlSession): Promise<number> {
    const [row] = await session.rows(`
      UPDATE node.raft_log SET payload = set_byte(payload, 0, get_byte(payload, 0) # 1)
      WHERE index = (SELECT min(index) + 20 FROM node.raft_log) RETURNING index`);
    return Number(row?.["index"]);
  }

  test("halts at a flipped bit in its log, names the row, and takes nothing of it", async () => {
    const node = setup.cluster.node(LATE);
    const session = await SqlSession.open(nodeFiles(setup.cluster, LATE).databaseUrl);
    try {
      await node.stopProcesses();
      const index = await flipBit(session);
      node.startProcesses();
      const detail = expect.stringContaining(String(index));
      expect(await stopped(LATE)).toMatchObject({
        code: EXIT_HALTED,
        reason: "halted",
        check: "corrupt_row",
        detail,
      });
      await write(30);
      expect(setup.entry(LATE).pids.control_plane).toBeNull();
      expect(setup.notices).toContainEqual(expect.stringMatching(`${LATE} control_plane: halted, not started again`));
      // The identity is still good: what was damaged is mended, and the node is started by hand.
      await node.stopProcesses();
      await flipBit(session);
    } finally {
      await session.close();
    }
    node.startProcesses();
    await setup.cluster.ready();
    expect(await differencesAt(setup, LATE, acknowledged)).toEqual([]);
  }, 240_000);

  test("does not start under another pin than the cluster's trust root", async () => {
    const node = setup.cluster.node(LATE);
    const pinFile = join(nodeFiles(setup.cluster, LATE).identityDir, "root-thk.txt");
    const pin = readFileSync(pinFile, "utf8");
    await node.stopProcesses();
    writeFileSync(pinFile, `${"ab".repeat(32)}\n`);
    node.startProcesses();
    const notice = `${LATE} control_plane: refuses its settings, not started again: trust-root.txt is refused`;
    await until("the supervisor says so", () => setup.notices.some((said) => said.startsWith(notice)));
    await write(30);
    expect(setup.entry(LATE).pids.control_plane).toBeNull();
    await node.stopProcesses();
    writeFileSync(pinFile, pin);
    node.startProcesses();
    await setup.cluster.ready();
    expect(await differencesAt(setup, LATE, acknowledged)).toEqual([]);
  }, 240_000);
});
