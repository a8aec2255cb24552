/** State heads of a cluster in memory: what every node signs, when, and what is made of it. Time is the test's. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { stateHeadOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRoot, type VerifiedStateHead, honestSigners, verifyStateHead } from "@event-anchoring/protocol";
import type { HeldState } from "@event-anchoring/store";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import type { OpenStateHold } from "../src/session/signed-states.ts";
import { anchor, answered, decided, readyCluster } from "./cluster-steps.ts";
import { acceptedId, eventCommand } from "./commands.ts";

/** So many turns of the event loop, with a collection each, and what nothing holds is gone. */
const TURNS_MAX = 50;

let cluster: QuietCluster;
let a: QuietMachine;

beforeEach(async () => {
  cluster = await readyCluster();
  a = cluster.node("a");
});

function verified(node: QuietMachine, note: string, signersMin?: number): VerifiedStateHead {
  const chain = node.live().state.trustRootChain;
  if (chain === null) throw new Error("a trust root was due");
  return verifyStateHead(note, chain.newest, nodeCrypto, signersMin);
}

function newestNote(nodeId: string): string {
  return cluster.node(nodeId).live().certifying.states.heads.newest?.note ?? "";
}

function rootOf(node: QuietMachine): TrustRoot {
  return node.live().trustRoot();
}

const newestIndexes = (): readonly (number | undefined)[] =>
  cluster.nodes.map(({ session }) => session?.certifying.states.heads.newest?.raftIndex);

/** What a database would do, for a node whose tables are in memory. */
function holdOf(node: QuietMachine): OpenStateHold {
  return {
    hold: async (): Promise<HeldState> => ({
      databaseSnapshot: "held",
      raftIndex: node.decisions.at(-1)?.index ?? 0,
    }),
    release: async () => {},
  };
}

describe("a state head", () => {
  test("is signed by every node after an entry that changes API keys, and is the same everywhere", async () => {
    const notes = cluster.nodes.map((node) => node.live().certifying.states.heads.newest?.note ?? "");
    const heads = notes.map((note) => verified(a, note).head);
    expect(heads[1]).toEqual(heads[0]);
    expect(heads[2]).toEqual(heads[0]);
    expect(heads[0]?.stateRoot).toEqual(a.database.tables.stateRoot);
    expect(heads[0]?.members.voters).toHaveLength(3);
  });

  test("is not signed after events: they change nothing but the running hashes", async () => {
    const before = newestIndexes();
    await anchor(cluster, a, 1, "an id of a client");
    expect(newestIndexes()).toEqual(before);
    const marked = a.live();
    const members = marked.membership.group.confState;
    const head = stateHeadOf(marked.state, { members, stateRoot: a.database.tables.stateRoot });
    expect(head?.clientEventsHash).not.toEqual(new Uint8Array(32));
  });

  test("keeps its signatures when two peers ask for it", () => {
    const { heads } = a.live().certifying.states;
    const { newest } = heads;
    heads.onPoint(verified(a, newest?.note ?? "").head, rootOf(a));
    expect(heads.newest).toEqual(newest);
  });

  test("is promised before it is signed", () => {
    for (const { saved, session } of cluster.nodes) {
      const promised = saved.at(-1)?.stateHead;
      expect(promised?.raftIndex).toBe(session?.certifying.states.heads.newest?.raftIndex);
    }
  });

  test("below a promised one is not signed", async () => {
    const b = cluster.node("b");
    const raftIndex = a.live().state.appliedIndex + 100;
    cluster.crash(a);
    await a.volume.replace({ ...a.promises, stateHead: { raftIndex, textHash: new Uint8Array(32) } });
    await cluster.start(a);
    await cluster.until(() => a.session !== null && cluster.leader() !== null, "a is back");
    await decided(cluster, b, { kind: "mark_state_point" }, 800);
    expect(verified(b, newestNote("b")).signers).toEqual(["b", "c"]);
  });

  test("that was promised with another text stops the node: it has not computed the same state twice", async () => {
    const promised = a.promises.stateHead;
    if (promised === null) throw new Error("a promise was due");
    const stateHead = { raftIndex: promised.raftIndex + 1, textHash: new Uint8Array(32) };
    cluster.crash(a);
    await a.volume.replace({ ...a.promises, stateHead });
    await cluster.start(a);
    const applied = (): boolean => (a.session?.state.appliedIndex ?? 0) >= promised.raftIndex;
    await cluster.until(applied, "a has caught up");
    a.live().certifying.states.heads.onPoint(
      { ...verified(a, newestNote("b")).head, raftIndex: promised.raftIndex + 1 },
      rootOf(a),
    );
    await cluster.until(() => a.stopped !== null, "it stops");
    expect(a.stopped).toMatchObject({ reason: "halted", code: "diverged" });
  });
});

describe("a state that is to be read", () => {
  test("is held at the entry whose state head a quorum signs, wherever it is asked for", async () => {
    const held = a.live().certifying.states.holdSigned(holdOf(a), { signers: "fewer" });
    await cluster.time.advance(500);
    const { raftIndex, stateHead, databaseSnapshot } = await held;
    expect(databaseSnapshot).toBe("held");
    expect(verified(a, stateHead).head.raftIndex).toBe(raftIndex);
    expect(a.live().state.appliedIndex).toBeGreaterThanOrEqual(raftIndex);
  });

  test("is signed where the nodes stand, if no entry can be committed and fewer than a quorum are left", async () => {
    const five = await readyCluster(["a", "b", "c", "d", "e"]);
    const [first, second, ...others] = five.nodes;
    if (first === undefined || second === undefined) throw new Error("five nodes were due");
    acceptedId(await decidedEvent(five, first));
    await five.time.advance(1000);
    for (const node of others) five.crash(node);
    const held = first.live().certifying.states.holdSigned(holdOf(first), { signers: "fewer" });
    await five.time.advance(15_000);
    const { stateHead } = await held;
    expect(verified(first, stateHead, honestSigners(3)).signers).toEqual(["a", "b"]);
    expect(() => verified(first, stateHead)).toThrow(/2 good signatures, 3 are needed/);
  });

  test("has the signature of one node where one is left", async () => {
    acceptedId(await decidedEvent(cluster, a));
    for (const node of cluster.nodes) if (node !== a) cluster.crash(node);
    const held = a.live().certifying.states.holdSigned(holdOf(a), { signers: "fewer" });
    await cluster.time.advance(15_000);
    const { stateHead } = await held;
    expect(verified(a, stateHead, 1).signers).toEqual(["a"]);
    expect(() => verified(a, stateHead, honestSigners(2))).toThrow(/1 good signatures, 2 are needed/);
  });

  test("is looked for again if an entry was being applied at the first look", async () => {
    acceptedId(await decidedEvent(cluster, a));
    for (const node of cluster.nodes) if (node !== a) cluster.crash(node);
    const { states } = a.live().certifying;
    const held = states.holdSigned(holdOf(a), { signers: "fewer" });
    states.onAdvancing();
    await cluster.time.advance(2200);
    await states.onApplied(a.database.tables.stateRoot, false);
    await cluster.time.advance(30_000);
    expect(verified(a, (await held).stateHead, 1).signers).toEqual(["a"]);
  });

  test("does not wait where no node in reach could sign: one takes it over, one is down", async () => {
    cluster.crash(cluster.node("b"));
    const how = { signers: "fewer", isTaking: (nodeId: string) => nodeId === "c" } as const;
    cluster.link = ({ from, frame }) => (from === "c" && frame.type === "state_signatures" ? [] : null);
    const startedMs = cluster.time.clock.monotonicMs();
    const { stateHead, hasHonestSigner } = await answered(
      cluster,
      a.live().certifying.states.holdSigned(holdOf(a), how),
    );
    expect(cluster.time.clock.monotonicMs() - startedMs).toBeLessThan(2000);
    expect([verified(a, stateHead, 1).signers, hasHonestSigner]).toEqual([["a"], false]);
  });

  test("waits for a node in reach that has not signed yet", async () => {
    cluster.crash(cluster.node("b"));
    cluster.link = ({ from, frame }) => (from === "c" && frame.type === "state_signatures" ? [] : null);
    let isHeld = false;
    const { states } = a.live().certifying;
    const held = states.holdSigned(holdOf(a), { signers: "fewer" }).finally(() => (isHeld = true));
    await cluster.time.advance(3000);
    expect(isHeld).toBe(false);
    cluster.link = null;
    await cluster.time.advance(1000);
    expect((await held).hasHonestSigner).toBe(true);
  });

  test("is refused where a quorum is asked for and too few sign, and who has signed is said", async () => {
    acceptedId(await decidedEvent(cluster, a));
    for (const node of cluster.nodes) if (node !== a) cluster.crash(node);
    const held = a.live().certifying.states.holdSigned(holdOf(a), { signers: "quorum", withinMs: 9000 });
    const refused = held.catch((error: unknown) => error);
    await cluster.time.advance(30_000);
    expect(await refused).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/a alone signed the state after entry \d+ in time; the quorum is 2/),
    });
  });

  test("is given up with whoever asked for it", async () => {
    const asker = new AbortController();
    for (const node of cluster.nodes) if (node !== a) cluster.crash(node);
    const held = a.live().certifying.states.holdSigned(holdOf(a), { signers: "quorum", signal: asker.signal });
    const refused = held.catch((error: unknown) => error);
    asker.abort();
    expect(await refused).toMatchObject({ code: "unavailable" });
  });

  test("leaves nothing behind once it is held", async () => {
    const kept = await heldOnce();
    // Its deadline is kept until it is over.
    await cluster.time.advance(30_000);
    const collect = collector();
    for (let turn = 0; turn < TURNS_MAX && kept.deref() !== undefined; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    expect(kept.deref()).toBeUndefined();
  });

  test("is given up with the session", async () => {
    const held = a.live().certifying.states.holdSigned(holdOf(a), { signers: "fewer" });
    const ended = held.catch((error: unknown) => error);
    a.live().stop();
    expect(await ended).toMatchObject({ code: "unavailable" });
  });
});

/** What was given to hold the state, which this test does not keep. */
async function heldOnce(): Promise<WeakRef<OpenStateHold>> {
  const hold = holdOf(a);
  const held = a.live().certifying.states.holdSigned(hold, { signers: "fewer" });
  await cluster.time.advance(500);
  await held;
  return new WeakRef(hold);
}

/** Takes away what nothing holds. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

async function decidedEvent(of: QuietCluster, node: QuietMachine): ReturnType<QuietCluster["submit"]> {
  const result = of.submit(node, eventCommand(node.identity.originFingerprint, 1, null));
  await of.time.advance(400);
  return result;
}
