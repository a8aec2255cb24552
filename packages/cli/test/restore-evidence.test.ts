import { describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { threeNodeCeremony } from "@event-anchoring/testkit/receipts";
import type { Promises } from "@event-anchoring/control-contract";
import { EvidenceError, boundOf, certifiedHead, judgeOrigin } from "../src/commands/restore-evidence.ts";

const NAME = "evidence.test";
const ceremony = threeNodeCeremony(NAME, 1_790_000_000);

function chain(): TrustRootChain {
  const input = { documents: [ceremony.document], pinnedRootThk: ceremony.rootThk };
  const verified = verifyTrustRootChain(input, nodeCrypto);
  if (verified.result === "refused") throw new Error(verified.detail);
  return verified.chain;
}

const CHAIN = chain();
const [NODE] = ceremony.nodes;
if (NODE === undefined) throw new Error("a ceremony has nodes");
const ORIGIN = NODE.originFingerprint;
const root = (size: number): Uint8Array => nodeCrypto.sha256(Uint8Array.of(size));
/** A backup that has every root up to its size. */
const own = ({ treeSize }: { readonly treeSize: number }): Uint8Array | null =>
  treeSize <= 100 ? root(treeSize) : null;
const BACKUP = { originFingerprint: ORIGIN, treeSize: 100 };

function promises(nodeId: string, treeSize: number, change: Partial<Promises> = {}): Promises {
  const head = { originFingerprint: ORIGIN, treeSize, rootHash: root(treeSize), raftIndex: 9, raftTerm: 2, timeS: 3 };
  return {
    clusterId: ceremony.clusterId,
    nodeId,
    pairId: new Uint8Array(16),
    incarnation: 4,
    term: 2,
    vote: 0n,
    signedHeads: new Map([[bytesToHex(ORIGIN), head]]),
    postgres: { systemIdentifier: "1", timeline: 1, walPosition: 1n },
    lastAppend: { index: 9, term: 2 },
    peers: new Map(),
    stateHead: null,
    mayLackNewest: false,
    reached: { index: 9, term: 2 },
    ...change,
  };
}

function note(treeSize: number, signers: readonly string[], rootHash = root(treeSize)): string {
  const origin = checkpointOrigin(NAME, ORIGIN);
  const text = formatCheckpoint({ origin, treeSize, rootHash });
  const logSigner = createSigner(logKeySeed(ceremony.logSeed, ORIGIN, nodeCrypto.sha256));
  const log = { name: origin, publicKey: logSigner.publicKey, signature: logSigner.sign(noteMessage(text)) };
  const lines = ceremony.nodes
    .filter(({ nodeId }) => signers.includes(nodeId))
    .map(({ nodeId, cosignerSeed }) => {
      const signer = createSigner(cosignerSeed);
      const timeS = 1_790_000_100;
      const signature = signer.sign(cosignatureMessage(timeS, text));
      const { publicKey } = signer;
      return cosignatureLine({ name: cosignerName(NAME, nodeId), publicKey, timeS, signature }, nodeCrypto.sha256);
    });
  return formatNote(text, [noteSignatureLine(log, nodeCrypto.sha256), ...lines]);
}

const verdict = (files: readonly Promises[], notes: readonly string[] = []) =>
  judgeOrigin(
    BACKUP,
    { bound: boundOf(CHAIN, 1, files), certified: notes.map((text) => certifiedHead(text, "head.note", CHAIN)) },
    own,
  );

describe("an origin of a lost group", () => {
  test("is closed if enough promise files stay within the backup", () => {
    expect(verdict([promises("n1", 100), promises("n2", 98)])).toEqual({
      status: "closed",
      reason: "nothing above size 100 can have been certified, and the backup has it",
    });
    const silent = [promises("n1", 1, { signedHeads: new Map() }), promises("n3", 1, { signedHeads: new Map() })];
    expect(verdict(silent)).toMatchObject({ status: "closed", reason: expect.stringContaining("above size 0") });
    expect(verdict([promises("n1", 100), promises("n2", 98)], [note(97, ["n1", "n3"])]).status).toBe("closed");
  });

  test.each<[string, readonly Promises[], readonly string[], RegExp]>([
    ["there is no evidence", [], [], /2 of the 3 nodes .* and 0 are here/u],
    ["one file is too few", [promises("n1", 50)], [], /and 1 are here/u],
    ["a node has signed beyond the backup", [promises("n1", 50), promises("n2", 101)], [], /n2 has cosigned size 101/u],
    [
      "a node has signed another root",
      [promises("n1", 50), promises("n3", 60, { signedHeads: otherRoot(60) })],
      [],
      /n3 has cosigned another root of size 60/u,
    ],
    [
      "somebody holds a later checkpoint",
      [promises("n1", 50), promises("n2", 50)],
      [note(101, ["n2", "n3"])],
      /size 101/u,
    ],
    ["somebody holds a checkpoint of another root", [], [note(40, ["n1", "n2"], root(41))], /another root of size 40/u],
  ])("is lost if %s", (_, files, notes, reason) => {
    const found = verdict(files, notes);
    expect(found.status).toBe("lost");
    expect(found.reason).toMatch(reason);
  });
});

describe("evidence that is none", () => {
  test.each<[string, readonly Promises[]]>([
    ["a promise file of another cluster", [promises("n1", 5, { clusterId: new Uint8Array(32) })]],
    ["a promise file of a node that is not listed", [promises("n9", 5)]],
    ["the same node's file twice", [promises("n1", 5), promises("n1", 6)]],
  ])("%s is refused", (_, files) => {
    expect(() => boundOf(CHAIN, 1, files)).toThrow(EvidenceError);
  });

  test.each([
    ["one node's word", note(40, ["n1"])],
    ["nobody's word", note(40, [])],
    ["something else", "not a note"],
  ])("a checkpoint that is %s is refused", (_, text) => {
    expect(() => certifiedHead(text, "head.note", CHAIN)).toThrow(EvidenceError);
  });
});

function otherRoot(treeSize: number): Promises["signedHeads"] {
  const head = { originFingerprint: ORIGIN, treeSize, rootHash: root(0), raftIndex: 9, raftTerm: 2, timeS: 3 };
  return new Map([[bytesToHex(ORIGIN), head]]);
}
