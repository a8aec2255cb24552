import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Hello, SignedProgress } from "@event-anchoring/control-contract";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { PeerMemories } from "../src/promises/peer-memories.ts";
import { HELLO_AGE_MAX_MS, PENDING_MS, SWEEP_MS } from "../src/transport/hello-timeouts.ts";
import { StepClock } from "./doubles.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));
const root = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

let clock: StepClock;
let memories: PeerMemories;

beforeEach(() => {
  clock = new StepClock();
  memories = new PeerMemories(clock);
});

const lifeOf = (fill: number): Uint8Array => new Uint8Array(16).fill(fill);

function progress(changes: Partial<SignedProgress> = {}): SignedProgress {
  const signature = new Uint8Array(64);
  return { epoch: 0, incarnation: 2, lifeId: lifeOf(0), term: 1, index: 100, signature, ...changes };
}

type Changes = Partial<Pick<SignedProgress, "incarnation" | "lifeId" | "term" | "index">> &
  Partial<Pick<Hello, "signed">>;

function hello({ signed, ...changes }: Changes = {}): Hello {
  return {
    nodeId: "b",
    clusterId: new Uint8Array(32),
    progress: progress(changes),
    signed: signed ?? [{ originFingerprint: ORIGIN, treeSize: 5, rootHash: root(5) }],
    trustRootVersion: 1,
    rulesMax: 1,
  };
}

function verdict(changes: Changes = {}): string {
  const judged = memories.judge(hello(changes));
  return judged.accepted ? "accepted" : judged.code;
}

function cosignature(treeSize: number, fill: number) {
  const signed = { originFingerprint: ORIGIN, treeSize, rootHash: root(fill), timeS: 1, raftIndex: 1 };
  return { ...signed, signature: new Uint8Array(64), effect: new Uint8Array(32) };
}

describe("what is remembered of a peer", () => {
  test("says whether it has a state: not if it has signed that its log never held an entry", () => {
    const before = memories.hasState("b");
    verdict({ index: 0, term: 0 });
    const joined = memories.hasState("b");
    memories.onProgress("b", progress({ index: 1 }));
    expect([before, joined, memories.hasState("b")]).toEqual([true, false, true]);
  });

  test("accepts a stranger, and the same life again", () => {
    expect([verdict(), verdict(), verdict({ incarnation: 3 })]).toEqual(["accepted", "accepted", "accepted"]);
  });

  test("refuses a second process that speaks in the incarnation of the first, however much it remembers", () => {
    const lifeId = lifeOf(1);
    verdict({ incarnation: 3, lifeId });
    expect(verdict({ incarnation: 3, lifeId: lifeOf(2), index: 999 })).toBe("stale_incarnation");
    expect(verdict({ incarnation: 3, lifeId })).toBe("accepted");
    expect(verdict({ incarnation: 4, lifeId: lifeOf(2) })).toBe("accepted");
    expect(verdict({ incarnation: 4, lifeId })).toBe("stale_incarnation");
  });

  test("knows over its own restart which process speaks in an incarnation", () => {
    memories.recall("b", progress({ incarnation: 3, lifeId: lifeOf(1) }));
    memories.settle();
    expect(verdict({ incarnation: 3, lifeId: lifeOf(2) })).toBe("stale_incarnation");
    expect(verdict({ incarnation: 3, lifeId: lifeOf(1) })).toBe("accepted");
  });

  test("refuses an earlier life", () => {
    verdict({ incarnation: 3 });
    expect(verdict({ incarnation: 2 })).toBe("stale_incarnation");
  });

  test("refuses a new life whose log has not reached what the last one said of it", () => {
    verdict();
    expect(memories.onProgress("b", progress({ index: 110 }))).toBe(true);
    expect(verdict({ incarnation: 3, index: 109 })).toBe("amnesia");
    expect(verdict({ incarnation: 3, index: 110 })).toBe("accepted");
  });

  test("takes of an accepted life alone what it says of its log, and only if it is news", () => {
    expect(memories.onProgress("b", progress())).toBe(false);
    verdict();
    expect(memories.onProgress("b", progress())).toBe(false);
    expect(memories.onProgress("b", progress({ incarnation: 9, index: 300 }))).toBe(false);
    expect(memories.onProgress("b", progress({ lifeId: lifeOf(7), index: 300 }))).toBe(false);
    expect(memories.onProgress("b", progress({ index: 99 }))).toBe(false);
    expect(memories.onProgress("b", progress({ term: 2, index: 50 }))).toBe(true);
    expect(memories.progressOf("b")).toMatchObject({ term: 2, index: 50 });
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
    memories.onProgress("b", progress({ index: 120 }));
    memories.onCosignature("b", cosignature(6, 6));
    expect(verdict()).toBe("accepted");
    clock.advance(HELLO_AGE_MAX_MS);
    memories.progressOf("b");
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("amnesia");
  });

  test("does not hold what a known life did against the oldest hello that a connection can carry", () => {
    verdict();
    clock.advance(HELLO_AGE_MAX_MS - 1);
    // The hello is written now, and the peer signs more. A moment later a page is turned.
    memories.onCosignature("b", cosignature(6, 6));
    clock.advance(1);
    memories.progressOf("b");
    clock.advance(PENDING_MS + SWEEP_MS - 1);
    expect(verdict()).toBe("accepted");
    clock.advance(HELLO_AGE_MAX_MS);
    expect(verdict()).toBe("amnesia");
  });

  test("holds everything against a known life that was recalled from before the own restart", () => {
    memories.recall("b", progress({ index: 120 }));
    memories.settle();
    expect(verdict()).toBe("amnesia");
  });
});
