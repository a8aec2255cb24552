/** A client event id that was erased stands in no node's log any more. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Command } from "@event-anchoring/ledger";
import type { AnchorId } from "@event-anchoring/protocol";
import { decided, readyCluster, recorded } from "./cluster-steps.ts";
import { CREDENTIAL, type MemoryCluster, type MemoryNode, eventCommand } from "./memory-cluster.ts";

const ID = "jane.doe@example.org";

let cluster: MemoryCluster;
let leader: MemoryNode;
let left: MemoryNode;
let right: MemoryNode;
let anchorId: AnchorId;

beforeEach(async () => {
  cluster = await readyCluster();
  leader = cluster.leader() as MemoryNode;
  [left, right] = cluster.nodes.filter((node) => node !== leader) as [MemoryNode, MemoryNode];
  ({ anchorId } = await recorded(cluster, left, eventCommand(left.identity.originFingerprint, 1, ID)));
});

function erasure(): Command {
  return { kind: "erase_client_event", credential: CREDENTIAL, anchorId };
}

function holds(payload: Uint8Array): boolean {
  return Buffer.from(payload).includes(ID);
}

/** Whether the id stands in clear in what this node keeps of the log, on disk or in memory. */
function remembers({ log, cache, tables }: MemoryNode): boolean {
  const cached = tables.decisions.map(({ index, term }) => cache.get({ index, term })?.payload);
  return log.entries.some(({ payload }) => holds(payload)) || cached.some((payload) => payload && holds(payload));
}

async function allForget(): Promise<void> {
  await cluster.until(() => !cluster.nodes.some(remembers), "no node holds the id", 5000);
}

describe("erasing a client event id", () => {
  test("takes it out of the log of every node, on disk and in memory", async () => {
    expect(cluster.nodes.map(remembers)).toEqual([true, true, true]);
    expect(await decided(cluster, right, erasure())).toEqual({ kind: "applied" });
    await allForget();
    for (const node of cluster.nodes) expect(node.live().consensus.compaction.owedEntries).toBe(0);
    const { sequence } = await recorded(cluster, right, eventCommand(right.identity.originFingerprint, 2));
    expect(cluster.nodes.map((node) => node.live().state.nextSequence)).toEqual(Array(3).fill(sequence + 1));
  });

  test.each([
    ["the same event", 1],
    ["another event, which is refused", 2],
  ])("keeps it out when a client comes with it again, for %s", async (_, content) => {
    await decided(cluster, right, erasure());
    await allForget();
    const outcome = await decided(cluster, left, eventCommand(left.identity.originFingerprint, content, ID));
    const [record] = outcome.kind === "records" ? outcome.records : [];
    expect(record?.status).toBe(content === 1 ? "replayed" : "rejected");
    await allForget();
  });

  test("again, or of what never had one, changes nothing and compacts nothing", async () => {
    await decided(cluster, right, erasure());
    await allForget();
    const kept = cluster.nodes.map(({ log }) => log.entries.length);
    expect(await decided(cluster, left, erasure())).toEqual({ kind: "unchanged" });
    await cluster.time.advance(1000);
    for (const [at, { log }] of cluster.nodes.entries()) expect(log.entries.length).toBeGreaterThan(kept[at] ?? 0);
  });

  test("is remembered outside the database before it is applied", async () => {
    const order: string[] = [];
    const { apply } = left.tables;
    left.tables.apply = async (work) => {
      const { index, writes } = work.decision;
      if (writes.erasures.length > 0) order.push(left.promises.forgetLogTo === index ? "promised" : "not promised");
      return apply.call(left.tables, work);
    };
    await decided(cluster, left, erasure());
    expect(order).toEqual(["promised"]);
  });

  test("is finished after a crash that came before the log was compacted", async () => {
    left.log.compactionHangs = true;
    await decided(cluster, right, erasure());
    await cluster.until(() => left.promises.forgetLogTo > 0, "the node owes it");
    await cluster.time.advance(1000);
    expect(remembers(left)).toBe(true);
    expect(left.live().consensus.compaction.owedEntries).toBeGreaterThan(0);
    cluster.crash(left);
    left.log.compactionHangs = false;
    cluster.start(left);
    await allForget();
    expect(left.end).toBeNull();
  });

  test("is owed after a restart by the promise file alone", async () => {
    cluster.crash(left);
    const { index } = left.log.entries.at(-1) ?? { index: 0 };
    left.promises = { ...left.promises, forgetLogTo: index };
    cluster.start(left);
    await cluster.until(() => left.log.entries.every((entry) => entry.index > index), "the log is compacted", 5000);
    expect(remembers(left)).toBe(false);
    expect(remembers(right)).toBe(true);
  });
});

describe("a member that is away while something is erased", () => {
  test("finds the entries with the leader for 30 s, and forgets like the others", async () => {
    cluster.crash(left);
    await decided(cluster, right, erasure());
    await cluster.time.advance(20_000);
    expect(remembers(right)).toBe(false);
    expect(remembers(leader)).toBe(true);
    cluster.start(left);
    await allForget();
    expect(cluster.nodes.map(({ end }) => end)).toEqual([null, null, null]);
  });

  test("needs the state of a peer after 30 s: the others do not wait for it", async () => {
    cluster.crash(left);
    await decided(cluster, right, erasure());
    await cluster.time.advance(31_000);
    expect([leader, right].map(remembers)).toEqual([false, false]);
    cluster.start(left);
    await cluster.until(() => left.end !== null, "the node sees that the log begins after its own");
    expect(left.end).toMatchObject({ kind: "behind" });
    await recorded(cluster, right, eventCommand(right.identity.originFingerprint, 3));
  });
});
