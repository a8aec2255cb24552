/** A client event id that was erased stands in no node's log any more. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Command } from "@event-anchoring/ledger";
import type { AnchorId } from "@event-anchoring/protocol";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { decided, readyCluster, recorded } from "./cluster-steps.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";

const ID = "jane.doe@example.org";

let cluster: QuietCluster;
let leader: QuietMachine;
let left: QuietMachine;
let right: QuietMachine;
let anchorId: AnchorId;

beforeEach(async () => {
  cluster = await readyCluster();
  leader = cluster.leader() as QuietMachine;
  [left, right] = cluster.nodes.filter((node) => node !== leader) as [QuietMachine, QuietMachine];
  ({ anchorId } = await recorded(cluster, left, eventCommand(left.identity.originFingerprint, 1, ID)));
});

function erasure(): Command {
  return { kind: "erase_client_event", credential: CREDENTIAL, anchorId };
}

function holds(payload: Uint8Array): boolean {
  return Buffer.from(payload).includes(ID);
}

/** Whether the id stands in clear in what this node keeps of the log, on disk or in memory. */
function remembers({ entries, decisions, session }: QuietMachine): boolean {
  const cached = decisions.map(({ index, term }) => session?.consensus.cache.get({ index, term })?.payload);
  return entries.some(({ payload }) => holds(payload)) || cached.some((payload) => payload && holds(payload));
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
    const kept = cluster.nodes.map(({ entries }) => entries.length);
    expect(await decided(cluster, left, erasure())).toEqual({ kind: "unchanged" });
    await cluster.time.advance(1000);
    for (const [at, { entries }] of cluster.nodes.entries()) expect(entries.length).toBeGreaterThan(kept[at] ?? 0);
  });

  test.each([
    ["kill", "its promises"],
    ["kill", "an older promise file"],
    ["power", "its promises"],
  ])("is finished after a crash (%s) before the log was compacted, with %s", async (crash, found) => {
    const { promises } = left;
    left.database.holdsCompactions = true;
    await decided(cluster, right, erasure());
    await cluster.until(() => left.live().consensus.compaction.isOwing, "the node owes it");
    await cluster.time.advance(1000);
    expect(remembers(left)).toBe(true);
    expect(left.live().consensus.compaction.owedEntries).toBeGreaterThan(0);
    if (crash === "power") left.losePower();
    else cluster.crash(left);
    if (found === "an older promise file") await left.volume.replace(promises);
    left.database.holdsCompactions = false;
    await cluster.start(left);
    await allForget();
    expect(left.livesOn).toBe(true);
  });
});

describe("a member that is away while something is erased", () => {
  test("finds the entries with the leader for 30 s, and forgets like the others", async () => {
    cluster.crash(left);
    await decided(cluster, right, erasure());
    await cluster.time.advance(20_000);
    expect(remembers(right)).toBe(false);
    expect(remembers(leader)).toBe(true);
    await cluster.start(left);
    await allForget();
    expect(cluster.nodes.map(({ livesOn }) => livesOn)).toEqual([true, true, true]);
  });

  test("needs the state of a peer after 30 s: the others do not wait for it", async () => {
    cluster.crash(left);
    await decided(cluster, right, erasure());
    await cluster.time.advance(31_000);
    expect([leader, right].map(remembers)).toEqual([false, false]);
    const { index } = left.entries.at(-1) ?? { index: 0 };
    await cluster.start(left);
    await cluster.until(() => left.database.compacted.index > index, "it has a state from beyond the end of its log");
    await allForget();
    expect(left.stopped).toBeNull();
    await recorded(cluster, right, eventCommand(right.identity.originFingerprint, 3));
  });
});
