import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Hello } from "@event-anchoring/control-contract";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { type InboundMessage, encodeMessage } from "raft-ts";
import { PeerMemories } from "../src/promises/peer-memories.ts";
import { HELLO_AGE_MAX_MS, PENDING_MS, SWEEP_MS } from "../src/transport/hello-timeouts.ts";
import { anchor, readyCluster } from "./cluster-steps.ts";
import { StepClock } from "./doubles.ts";
import type { MemoryNode } from "./memory-cluster.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));
const root = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

let clock: StepClock;
let memories: PeerMemories;

beforeEach(() => {
  clock = new StepClock();
  memories = new PeerMemories(clock);
});

function hello(changes: Partial<Hello> = {}): Hello {
  return {
    nodeId: "b",
    clusterId: new Uint8Array(32),
    incarnation: 2,
    lastIndex: 100,
    lastTerm: 1,
    signed: [{ originFingerprint: ORIGIN, treeSize: 5, rootHash: root(5) }],
    trustRootVersion: 1,
    rulesMax: 1,
    lifeId: new Uint8Array(16),
    ...changes,
  };
}

function verdict(changes: Partial<Hello> = {}): string {
  const judged = memories.judge(hello(changes));
  return judged.accepted ? "accepted" : judged.code;
}

function cosignature(treeSize: number, fill: number) {
  const signed = { originFingerprint: ORIGIN, treeSize, rootHash: root(fill), timeS: 1, raftIndex: 1 };
  return { ...signed, signature: new Uint8Array(64), effect: new Uint8Array(32) };
}

describe("what is remembered of a peer", () => {
  test("accepts a stranger, and the same life again", () => {
    expect([verdict(), verdict(), verdict({ incarnation: 3 })]).toEqual(["accepted", "accepted", "accepted"]);
  });

  test("refuses a second process that speaks in the incarnation of the first, however much it remembers", () => {
    const lifeId = new Uint8Array(16).fill(1);
    verdict({ incarnation: 3, lifeId });
    expect(verdict({ incarnation: 3, lifeId: new Uint8Array(16).fill(2), lastIndex: 999 })).toBe("stale_incarnation");
    expect(verdict({ incarnation: 3, lifeId })).toBe("accepted");
    expect(verdict({ incarnation: 4, lifeId: new Uint8Array(16).fill(2) })).toBe("accepted");
    expect(verdict({ incarnation: 4, lifeId })).toBe("stale_incarnation");
  });

  test("takes the first process that speaks in an incarnation recalled from before its own start", () => {
    memories.recall("b", { incarnation: 3, ackedCommitted: 0 });
    expect(verdict({ incarnation: 3, lifeId: new Uint8Array(16).fill(1) })).toBe("accepted");
    expect(verdict({ incarnation: 3, lifeId: new Uint8Array(16).fill(2) })).toBe("stale_incarnation");
  });

  test("refuses an earlier life", () => {
    verdict({ incarnation: 3 });
    expect(verdict({ incarnation: 2 })).toBe("stale_incarnation");
  });

  test("refuses a new life that lost what it acknowledged, if that was committed", () => {
    memories.onAck("b", 120, 110);
    expect(verdict({ lastIndex: 109 })).toBe("amnesia");
    expect(verdict({ lastIndex: 110 })).toBe("accepted");
  });

  test.each<[string, Hello["signed"]]>([
    ["a smaller size than it has signed", [{ originFingerprint: ORIGIN, treeSize: 5, rootHash: root(5) }]],
    ["another root of the size it has signed", [{ originFingerprint: ORIGIN, treeSize: 6, rootHash: root(7) }]],
    ["nothing signed at all", []],
  ])("refuses a new life that claims %s", (_what, signed) => {
    memories.onCosignature("b", cosignature(6, 6));
    expect(verdict({ signed })).toBe("amnesia");
    expect(verdict({ signed: [{ originFingerprint: ORIGIN, treeSize: 6, rootHash: root(6) }] })).toBe("accepted");
  });

  test("takes cosignatures inside certificates as the peer's own", () => {
    const cosignatures = [{ nodeId: "b", timeS: 1, signature: new Uint8Array(64) }];
    memories.onCertificate({ originFingerprint: ORIGIN, treeSize: 9, rootHash: root(9), cosignatures });
    memories.settle();
    expect(verdict()).toBe("amnesia");
  });

  test("asks a new life again that has signed for others while its hello travelled", () => {
    const cosignatures = [{ nodeId: "b", timeS: 1, signature: new Uint8Array(64) }];
    memories.onCertificate({ originFingerprint: ORIGIN, treeSize: 9, rootHash: root(9), cosignatures });
    expect(verdict()).toBe("not_ready");
    expect(verdict({ signed: [{ originFingerprint: ORIGIN, treeSize: 9, rootHash: root(9) }] })).toBe("accepted");
  });

  test("refuses a new life that does not say so in as long as any hello travels", () => {
    const cosignatures = [{ nodeId: "b", timeS: 1, signature: new Uint8Array(64) }];
    memories.onCertificate({ originFingerprint: ORIGIN, treeSize: 9, rootHash: root(9), cosignatures });
    expect(verdict()).toBe("not_ready");
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("not_ready");
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("amnesia");
  });

  test("never asks again a new life that has lost what it told us itself", () => {
    const cosignatures = [{ nodeId: "b", timeS: 1, signature: new Uint8Array(64) }];
    memories.onCosignature("b", cosignature(6, 6));
    memories.onCertificate({ originFingerprint: ORIGIN, treeSize: 9, rootHash: root(9), cosignatures });
    expect(verdict()).toBe("amnesia");
  });

  test("does not hold what a known life did while its hello travelled against it", () => {
    verdict();
    memories.onAck("b", 120, 120);
    memories.onCosignature("b", cosignature(6, 6));
    expect(verdict()).toBe("accepted");
    clock.advance(HELLO_AGE_MAX_MS);
    memories.onAck("b", 120, 120);
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("amnesia");
  });

  test("does not hold what a known life did against the oldest hello that a connection can carry", () => {
    verdict();
    clock.advance(HELLO_AGE_MAX_MS - 1);
    // The hello is written now, and the peer signs more. A moment later a page is turned.
    memories.onCosignature("b", cosignature(6, 6));
    clock.advance(1);
    memories.onAck("b", 1, 0);
    clock.advance(PENDING_MS + SWEEP_MS - 1);
    expect(verdict()).toBe("accepted");
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("amnesia");
  });

  test("holds everything against a known life that was recalled from before the own restart", () => {
    memories.recall("b", { incarnation: 2, ackedCommitted: 120 });
    memories.settle();
    expect(verdict()).toBe("amnesia");
  });
});

describe("acknowledgements", () => {
  test("of an earlier term are no memory: their entries may have been replaced since", async () => {
    const cluster = await readyCluster();
    const gone = cluster.leader() as MemoryNode;
    const claims = { ...gone.live().hello(), incarnation: 9 };
    cluster.crash(gone);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    const leader = cluster.leader() as MemoryNode;
    await anchor(cluster, leader, 1);
    const session = leader.live();
    const { term, commitIndex } = session.raftStatus();
    const acknowledge = (ofTerm: number): void => {
      const message: InboundMessage = {
        type: "MsgAppResp",
        from: gone.identity.raftId,
        to: leader.identity.raftId,
        term: ofTerm,
        logTerm: 0,
        index: commitIndex,
        commit: 0,
        vote: 0n,
        reject: false,
        rejectHint: 0,
        context: new Uint8Array(),
        entries: [],
        snapshot: null,
      };
      session.onFrame(gone.nodeId, { type: "raft", message: encodeMessage(message) });
    };
    expect(claims.lastIndex).toBeLessThan(commitIndex);
    acknowledge(term - 1);
    expect(session.judgeHello(claims)).toEqual({ accepted: true });
    acknowledge(term);
    expect(session.judgeHello({ ...claims, incarnation: 10 })).toMatchObject({ accepted: false, code: "amnesia" });
  });
});
