/** Real processes and databases: an erased client event id stands in no table of any node, whatever is killed. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { AnchoringClient, expectOk } from "@event-anchoring/testkit/clients";
import { type TestCluster, TestOperator, nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";

const NODES = ["n1", "n2", "n3"] as const;

let setup: TestCluster;
let clients: ReadonlyMap<string, AnchoringClient>;

beforeAll(async () => {
  setup = await startTestCluster();
  const operator = await TestOperator.of(setup);
  const { apiKey } = await operator.createKey({ label: "eraser", scopes: ["read", "write", "admin"] });
  clients = new Map(NODES.map((id) => [id, new AnchoringClient({ apiUrl: setup.entry(id).api_url, apiKey })]));
}, 240_000);

afterAll(async () => {
  for (const client of clients.values()) await client.close();
  await setup.erase();
}, 240_000);

function client(id: string): AnchoringClient {
  const found = clients.get(id);
  if (found === undefined) throw new Error(`no client of ${id}`);
  return found;
}

/** An event whose client event id is somebody's address. */
function eventBody(id: string): { origin_fingerprint: string; event_hash: string; client_event_id: string } {
  return {
    origin_fingerprint: setup.entry(id).origin_fingerprint,
    event_hash: randomBytes(32).toString("hex"),
    client_event_id: `jane.doe.${randomBytes(8).toString("hex")}@example.org`,
  };
}

async function written(
  id: string,
): Promise<{ body: ReturnType<typeof eventBody>; anchorId: string; clientEventId: string }> {
  const body = eventBody(id);
  const { anchor } = expectOk(await client(id).createEvent(body));
  return { body, anchorId: anchor.anchor_id, clientEventId: body.client_event_id };
}

/** Rows of the log, and of the anchors, in which the id stands in clear. */
async function rowsWith(id: string, clientEventId: string): Promise<number> {
  const session = await SqlSession.open(nodeFiles(setup.cluster, id).databaseUrl);
  try {
    const [row] = await session.rows(
      `SELECT (SELECT count(*) FROM node.raft_log WHERE position(convert_to($1, 'UTF8') IN payload) > 0)
            + (SELECT count(*) FROM state.anchors WHERE client_event_id = $1) AS found`,
      [clientEventId],
    );
    return Number(row?.["found"]);
  } finally {
    await session.close();
  }
}

async function forgottenBy(ids: readonly string[], clientEventId: string): Promise<void> {
  for (const id of ids) {
    await until(`${id} has forgotten the id`, async () => (await rowsWith(id, clientEventId)) === 0);
  }
}

describe("an erased client event id", () => {
  test("is gone from log and tables of every node; the event stays, and all goes on", async () => {
    const { body, anchorId, clientEventId } = await written("n1");
    for (const id of NODES) await until(`${id} has it`, async () => (await rowsWith(id, clientEventId)) === 2);
    expect(expectOk(await client("n2").eraseClientEventId(anchorId)).erased).toBe(true);
    await forgottenBy(NODES, clientEventId);
    expect(expectOk(await client("n3").anchor(anchorId)).anchor.anchor_id).toBe(anchorId);
    expect(expectOk(await client("n3").eraseClientEventId(anchorId)).erased).toBe(false);
    const again = expectOk(await client("n3").createEvent(body));
    expect(again).toMatchObject({ replayed: true, anchor: { anchor_id: anchorId } });
    await forgottenBy(NODES, clientEventId);
  });

  test("is gone from a node that was killed before it could compact its log, and from one that was away", async () => {
    const { anchorId, clientEventId } = await written("n1");
    const { id: leader } = await setup.leader();
    const [killed, other] = NODES.filter((id) => id !== leader) as [string, string];
    await setup.cluster.node(killed).killProcesses();
    expect(expectOk(await client(other).eraseClientEventId(anchorId)).erased).toBe(true);
    await setup.cluster.node(other).killProcesses();
    for (const id of [killed, other]) setup.cluster.node(id).startProcesses();
    await setup.cluster.ready();
    await forgottenBy(NODES, clientEventId);
    // The one that has compacted may lead now: the other is away again while it takes over that one's state.
    const body = eventBody(killed);
    const next = await until("the node serves", async () => {
      const answer = await client(killed).createEvent(body);
      return answer.ok && answer.body.anchor.anchor_id;
    });
    expect(expectOk(await client(other).anchor(next)).anchor.anchor_id).toBe(next);
  }, 240_000);
});
