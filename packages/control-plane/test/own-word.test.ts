import { describe, expect, test } from "@jest/globals";
import { type Progress, type SignedProgress, progressSignedBytes } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { signHead } from "../src/signatures/certificates.ts";
import { type OwnState, judgeOwnWord } from "../src/promises/own-word.ts";
import { PeerOffences } from "../src/session/peer-offences.ts";
import { PeerWords } from "../src/session/peer-words.ts";
import { StepClock, quietLogger } from "./doubles.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";

const ceremony = ceremonyOf(["a", "b", "c"]);
const identity = identityOf(ceremony, "a");
const other = identityOf(ceremony, "b");
const origin = identity.originFingerprint;
const root = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const life = (fill: number): Uint8Array => new Uint8Array(16).fill(fill);

const NOW: Progress = { epoch: 0, incarnation: 4, lifeId: life(1), term: 6, index: 50 };

function signed(change: Partial<Progress>, by = identity): SignedProgress {
  const progress = { ...NOW, ...change };
  return { ...progress, signature: by.authSigner.sign(progressSignedBytes(identity, progress)) };
}

/** Its tree has 10 leaves, of which it has signed 8; the log is applied up to its end. */
function own(change: Partial<OwnState> = {}): OwnState {
  return {
    nodeId: "a",
    clusterId: identity.clusterId,
    trustRoots: [identity.trustRoot],
    crypto: nodeCrypto,
    progress: signed({}),
    lastIndex: 50,
    appliedIndex: 50,
    appliedTerm: 6,
    headOf: (of) =>
      bytesToHex(of) === bytesToHex(origin)
        ? { originFingerprint: of, treeSize: 8, rootHash: root(8), raftIndex: 40, raftTerm: 5, timeS: 1 }
        : null,
    rootAt: (_, treeSize) => (treeSize > 10 ? "not_reached" : treeSize < 3 ? "not_held" : root(treeSize)),
    ...change,
  };
}

function judged(change: Partial<Progress>, by = identity): string {
  return judgeOwnWord({ kind: "progress", progress: signed(change, by) }, own()).kind;
}

function cosigned(treeSize: number, fill = treeSize, { by = identity, raftIndex = 0 } = {}) {
  const head = { treeSize, rootHash: root(fill) };
  const signature = signHead(identity.trustRoot, origin, head, 99, by.cosigner);
  return { kind: "cosignature", originFingerprint: origin, ...head, timeS: 99, signature, raftIndex } as const;
}

describe("a progress that a peer brings back", () => {
  test.each<[string, Partial<Progress>]>([
    ["a log that had reached further", { index: 51 }],
    ["a log that had reached a later term, however short", { term: 7, index: 1 }],
    ["a later start of this node", { incarnation: 5, index: 10 }],
    ["another process in this incarnation", { lifeId: life(2), index: 10 }],
  ])("proves that it forgot: %s", (_, change) => {
    expect(judged(change)).toBe("forgotten");
  });

  test.each<[string, Partial<Progress>]>([
    ["what it says now", {}],
    ["what it said before", { index: 40 }],
    ["a longer log of an earlier term, the uncommitted end of which was replaced", { term: 5, index: 90 }],
    ["an earlier life", { incarnation: 3, lifeId: life(9), term: 5 }],
  ])("says nothing against it: %s", (_, change) => {
    expect(judged(change)).toBe("kept");
  });

  test("is a mere word if this node has not signed it", () => {
    expect(judged({ index: 51 }, other)).toBe("unproven");
    const bent = { ...signed({ index: 51 }), index: 52 };
    expect(judgeOwnWord({ kind: "progress", progress: bent }, own()).kind).toBe("unproven");
    expect(judged({ epoch: 1, index: 51 })).toBe("unproven");
    const elsewhere = { ...own(), clusterId: root(1) };
    expect(judgeOwnWord({ kind: "progress", progress: signed({ index: 51 }) }, elsewhere).kind).toBe("unproven");
  });
});

describe("a cosignature that a peer brings back", () => {
  const verdict = (word: ReturnType<typeof cosigned>, change: Partial<OwnState> = {}) =>
    judgeOwnWord(word, own(change));

  test("says nothing against a node whose promise file knows it", () => {
    expect(verdict(cosigned(8)).kind).toBe("kept");
    expect(verdict(cosigned(7, 99)).kind).toBe("kept");
  });

  test("proves that it forgot what its log does not lead to", () => {
    expect(verdict(cosigned(11)).kind).toBe("forgotten");
    expect(verdict(cosigned(9, 1)).kind).toBe("forgotten");
    expect(verdict(cosigned(8, 1)).kind).toBe("forgotten");
    expect(verdict(cosigned(11, 11, { raftIndex: 51 }), { lastIndex: 50, appliedIndex: 40 }).kind).toBe("forgotten");
  });

  test("is taken back also if the log may lead there once it is applied, under what is applied now", () => {
    const behind = { lastIndex: 50, appliedIndex: 40 };
    const head = { originFingerprint: origin, treeSize: 11, rootHash: root(11), raftIndex: 40, raftTerm: 6, timeS: 99 };
    expect(verdict(cosigned(11), behind)).toEqual({ kind: "regained", head });
    expect(verdict(cosigned(11, 11, { raftIndex: 50 }), behind)).toEqual({ kind: "regained", head });
  });

  test("is taken back under the promised entry while less is applied: a start counts that as committed", () => {
    const behind = { lastIndex: 50, appliedIndex: 39 };
    expect(verdict(cosigned(11), behind)).toMatchObject({ head: { treeSize: 11, raftIndex: 40, raftTerm: 5 } });
  });

  test("is taken back into the promise file that has lost it, if the log leads there", () => {
    expect(verdict(cosigned(9))).toEqual({
      kind: "regained",
      head: { originFingerprint: origin, treeSize: 9, rootHash: root(9), raftIndex: 50, raftTerm: 6, timeS: 99 },
    });
  });

  test("waits for the database where memory no longer holds a tree that old", () => {
    const forgot = { headOf: () => null };
    const unread = { kind: "unread", originFingerprint: origin, treeSize: 2 };
    expect(verdict(cosigned(2), forgot)).toEqual(unread);
    expect(verdict(cosigned(2), { ...forgot, rootAt: () => root(2) })).toMatchObject({ kind: "regained" });
    expect(verdict(cosigned(2), { ...forgot, rootAt: () => root(1) })).toMatchObject({ kind: "forgotten" });
  });

  test("is a mere word if this node has not made it", () => {
    expect(verdict(cosigned(11, 11, { by: other })).kind).toBe("unproven");
    expect(verdict({ ...cosigned(11), treeSize: 12 }).kind).toBe("unproven");
  });
});

describe("a peer that shows a cosignature older than the tree in memory", () => {
  /** What becomes of it, given the root that the database has at that size. */
  async function afterReading(stored: Uint8Array): Promise<readonly unknown[]> {
    const happened: unknown[] = [];
    const words = new PeerWords({
      offences: new PeerOffences({ clock: new StepClock(), logger: quietLogger }),
      network: { send: () => true, flush: () => {}, isConnected: () => true, disconnect: () => {} },
      promises: { promiseHeads: async (heads) => void happened.push(...heads.map(({ treeSize }) => treeSize)) },
      isMember: () => true,
      ownState: () => own({ headOf: () => null }),
      storedRootAt: async () => stored,
      onFenced: (code) => void happened.push(code),
      onHalted: (code) => void happened.push(code),
      onFailure: (error) => void happened.push(error),
    });
    words.onAccused("b", { accepted: false, code: "amnesia", detail: "", ownWord: cosigned(2) });
    expect(happened).toEqual([]);
    await new Promise(setImmediate);
    return happened;
  }

  test("gives it back to a node whose database leads there", async () => {
    expect(await afterReading(root(2))).toEqual([2]);
  });

  test("fences a node whose database has another root", async () => {
    expect(await afterReading(root(1))).toEqual(["peer_remembers_more"]);
  });
});
