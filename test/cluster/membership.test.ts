/** Nodes join, are replaced and leave while clients write: by trust-root versions, made with anchorctl. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { changeTrustRoot, mustRun } from "@event-anchoring/gates/anchorctl";
import { until } from "@event-anchoring/testkit";
import { ClusterLoad, headsAt, nodeFiles, servedChain, startTestCluster } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { differencesWhenCalm, offlineFailures, renewalFailures, spread } from "./trust-root-steps.ts";

const WRITERS = 4;
/** The least that can be set: whoever joins finds that the log has lost its beginning, and takes over the state. */
const LOG_ENTRIES_KEPT = 1000;
/** Databases are made and nodes elected on a machine that does other things too. */
const STEP_TIMEOUT_MS = 240_000;
const EXIT_FENCED = 78;

let setup: TestCluster;
let load: ClusterLoad;

beforeAll(async () => {
  setup = await startTestCluster({ logEntriesKept: LOG_ENTRIES_KEPT });
  load = ClusterLoad.start(setup, WRITERS);
  for (const { id } of setup.cluster.file.nodes) {
    await until(`${id} has forgotten the beginning`, async () => (await compactedTo(id)) > 0, STEP_TIMEOUT_MS);
  }
}, STEP_TIMEOUT_MS);

afterAll(async () => {
  await load.abandon();
  await setup.erase();
}, STEP_TIMEOUT_MS);

async function compactedTo(id: string): Promise<number> {
  const session = await SqlSession.open(nodeFiles(setup.cluster, id).databaseUrl);
  try {
    const [row] = await session.rows("SELECT index FROM node.raft_compaction");
    return Number(row?.["index"] ?? 0);
  } finally {
    await session.close();
  }
}

/** `n1 voter, n2 voter, n4 learner`: the group as the leader sees it. */
async function group(): Promise<string> {
  const { members } = await mustRun(setup, ["member", "list"]);
  return (members as readonly { readonly node_id: string; readonly role: string }[])
    .filter(({ role }) => role !== "none")
    .map(({ node_id: nodeId, role }) => `${nodeId} ${role}`)
    .join(", ");
}

async function grow(nodeId: string, quorum: number): Promise<void> {
  await setup.cluster.addNode(nodeId);
  await changeTrustRoot(setup, ["--add-learner", setup.cluster.cardPath(nodeId)]);
  await changeTrustRoot(setup, ["--promote", nodeId, "--quorum", String(quorum)]);
}

describe("a cluster whose nodes change while events are written", () => {
  test(
    "a node waits until a trust root lists it, then grows the group to four and five voters",
    async () => {
      await grow("n4", 3);
      expect(await compactedTo("n4")).toBeGreaterThan(0);
      expect(await group()).toBe("n1 voter, n2 voter, n3 voter, n4 voter");
      await load.more(10);
      await grow("n5", 3);
      expect(await group()).toBe("n1 voter, n2 voter, n3 voter, n4 voter, n5 voter");
      await setup.cluster.ready(STEP_TIMEOUT_MS);
      await load.more(10);
    },
    2 * STEP_TIMEOUT_MS,
  );

  test(
    "the leader is retired: another one leads, and the old one stops and says why",
    async () => {
      const { id } = await setup.leader();
      await changeTrustRoot(setup, ["--retire", id]);
      expect(await group()).not.toContain(id);
      const stopped = await until("it stops", () => nodeFiles(setup.cluster, id).stopped(), STEP_TIMEOUT_MS);
      expect(stopped).toMatchObject({ code: EXIT_FENCED, reason: "fenced", check: "retired" });
      expect(stopped.detail).toMatch(new RegExp(`trust-root version \\d+ says that ${id} is retired`, "u"));
      await setup.cluster.dropNode(id);
      await load.more(10);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "a dead node is replaced by one document",
    async () => {
      const leader = await setup.leader();
      const dead = setup.cluster.file.nodes.find(({ id }) => id !== leader.id && id !== "n5");
      if (dead === undefined) throw new Error("there are followers");
      await setup.cluster.node(dead.id).killProcesses();
      await setup.cluster.dropNode(dead.id);
      await setup.cluster.addNode("n6");
      await changeTrustRoot(setup, ["--retire", dead.id, "--add-active", setup.cluster.cardPath("n6")], { wait: "3m" });
      const now = await group();
      expect(now).not.toContain(dead.id);
      expect(now).toContain("n6 voter");
      await setup.cluster.ready(STEP_TIMEOUT_MS);
      await load.more(10);
    },
    2 * STEP_TIMEOUT_MS,
  );
});

describe("when that is over", () => {
  let acknowledged: readonly Acknowledged[];

  test(
    "nothing was refused but new records of the origins that are closed",
    async () => {
      acknowledged = await load.stop();
      expect(acknowledged.length).toBeGreaterThan(60);
      const codes = load.refusals.map(({ status, text }) => `${status} ${(JSON.parse(text) as { code: string }).code}`);
      expect(codes.filter((code) => code !== "409 origin_closed")).toEqual([]);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "every acknowledged anchor is on every node, the newest included",
    async () => {
      for (const { id } of setup.cluster.file.nodes)
        expect(await differencesWhenCalm(setup, id, acknowledged)).toEqual([]);
      const told = await Promise.all(setup.cluster.file.nodes.map(({ id }) => headsAt(setup, id)));
      // The origin of a node that nobody has written to yet has no head to show.
      const [first, ...others] = told.map((heads) => heads.filter((head) => /^\d+ [0-9a-f]{64}$/u.test(head)));
      expect(first?.length).toBeGreaterThanOrEqual(3);
      for (const other of others) expect(other).toEqual(first);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "every receipt verifies offline against the chain, and can be renewed against the newest version",
    async () => {
      for (const { id } of setup.cluster.file.nodes) {
        const { versions } = await servedChain(setup, id);
        expect(versions).toHaveLength(7);
      }
      const chain = await servedChain(setup, "n6");
      expect(offlineFailures(chain, spread(acknowledged, 300))).toEqual([]);
      expect(await renewalFailures(setup, "n6", chain, spread(acknowledged, 10))).toEqual([]);
    },
    STEP_TIMEOUT_MS,
  );
});
