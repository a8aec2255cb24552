import { describe, expect, test } from "@jest/globals";
import {
  VKEY_TYPE,
  bytesToHex,
  compareBytes,
  cosignatureLine,
  formatStateHead,
  formatStateHeadNote,
  formatTrustRootText,
  isGoodStateHeadSignature,
  noteSignatureLine,
  parseStateHead,
  raftIdOf,
  rootThk,
  stateHeadLine,
  stateHeadMessage,
  verifyStateHead,
} from "@event-anchoring/protocol";
import type { SignatureLine, StateHead } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { clusterId, hashOf, nodeA, nodeB, nodeC, nodeD, nodeEntry, version1 } from "./vector-builders/fixtures.ts";
import type { FixtureNode } from "./vector-builders/fixtures.ts";
import { CRYPTOS, codeOf } from "./vectors.ts";

const { sha256 } = nodeCrypto;
const thk = rootThk(formatTrustRootText(version1), sha256);
const signedRoot = { trustRoot: version1, rootThk: thk };
const idOf = ({ nodeId }: FixtureNode): bigint => raftIdOf(clusterId, nodeId, sha256);

const head: StateHead = {
  clusterName: version1.clusterName,
  clusterId,
  epoch: 0,
  trustRootVersion: 1,
  rootThk: thk,
  raftIndex: 4711,
  raftTerm: 3,
  effect: hashOf("effect"),
  nextSequence: 9000,
  lastAcceptedMs: 1_767_300_000_000,
  stampMs: 1_767_300_000_500,
  rules: 1,
  members: {
    voters: [nodeA, nodeB, nodeC].map(idOf).sort((a, b) => (a < b ? -1 : 1)),
    votersOutgoing: [],
    learners: [idOf(nodeD)],
    learnersNext: [],
    autoLeave: false,
  },
  origins: [...version1.origins]
    .sort((a, b) => compareBytes(a.originFingerprint, b.originFingerprint))
    .map(({ originFingerprint }, at) => ({ originFingerprint, treeSize: 3000 + at, rootHash: hashOf(`root ${at}`) })),
  stateRoot: hashOf("state"),
  groupIdsHash: hashOf("groups"),
  clientEventsHash: hashOf("client events"),
};
const text = formatStateHead(head);

function lineOf(node: FixtureNode, signedText = text): SignatureLine {
  const { name, publicKey } = nodeEntry(node).cosignerVkey;
  return stateHeadLine({ name, publicKey, signature: node.cosigner.sign(stateHeadMessage(signedText)) }, sha256);
}

const noteOf = (...lines: SignatureLine[]): string => formatStateHeadNote(head, lines);

describe("the text of a state head", () => {
  test("reads and prints back to itself", () => {
    expect(parseStateHead(text)).toEqual(head);
    expect(formatStateHead(parseStateHead(text))).toBe(text);
    const { voters } = head.members;
    const shuffled = {
      ...head,
      origins: [...head.origins].reverse(),
      members: { ...head.members, voters: [...voters].reverse() },
    };
    expect(formatStateHead(shuffled)).toBe(text);
  });

  const edit = (from: string | RegExp, to: string): string => text.replace(from, to);
  const [firstOrigin = "", secondOrigin = ""] = text.split("\n").filter((line) => line.startsWith("origin "));
  test.each([
    ["empty", "malformed", ""],
    ["another format", "malformed", edit("v4.2", "v4.3")],
    ["no final newline", "malformed", text.slice(0, -1)],
    ["a line missing", "malformed", edit(/rules .*\n/, "")],
    ["a line added", "malformed", `${text}more\n`],
    ["a line twice", "malformed", edit(/(rules .*\n)/, "$1$1")],
    ["a leading zero", "malformed", edit("entry 4711", "entry 04711")],
    ["upper-case hex", "not_canonical", edit(/state \w+/, `state ${bytesToHex(head.stateRoot).toUpperCase()}`)],
    ["two spaces", "malformed", edit("entry ", "entry  ")],
    ["a short hash", "malformed", edit(/(state [0-9a-f]+)[0-9a-f]{2}\n/, "$1\n")],
    ["a short raft id", "malformed", edit(/(voters [0-9a-f]{14})../, "$1")],
    [
      "origins out of order",
      "not_canonical",
      edit(`${firstOrigin}\n${secondOrigin}`, `${secondOrigin}\n${firstOrigin}`),
    ],
    ["an origin twice", "not_canonical", edit(firstOrigin, `${firstOrigin}\n${firstOrigin}`)],
    ["voters out of order", "not_canonical", edit(/voters (\w+) (\w+)/, "voters $2 $1")],
    ["a voter twice", "not_canonical", edit(/voters (\w+)/, "voters $1 $1")],
    ["a flag that is none", "not_canonical", edit("auto-leave 0", "auto-leave 2")],
    ["a name that is none", "not_canonical", edit("anchor.example/demo", "anchor.example//demo")],
  ])("with %s is refused", (_, code, altered) => {
    expect(altered).not.toBe(text);
    expect(codeOf(() => parseStateHead(altered))).toBe(code);
  });
});

describe.each(CRYPTOS)("a signed state head (%s)", (_, crypto) => {
  const verdict = (note: string): unknown => {
    let signers: readonly string[] = [];
    const code = codeOf(() => ({ signers } = verifyStateHead(note, signedRoot, crypto)));
    return code === "nothing thrown" ? signers : code;
  };

  test("is good with a quorum of lines of distinct active nodes", () => {
    expect(verdict(noteOf(lineOf(nodeA), lineOf(nodeC)))).toEqual(["a", "c"]);
    expect(verdict(noteOf(lineOf(nodeA), lineOf(nodeB), lineOf(nodeC)))).toEqual(["a", "b", "c"]);
    expect(verifyStateHead(noteOf(lineOf(nodeA), lineOf(nodeB)), signedRoot, crypto).head).toEqual(head);
  });

  test("ignores lines of keys that it does not know", () => {
    expect(verdict(noteOf(lineOf(nodeD), lineOf(nodeA), lineOf(nodeB)))).toEqual(["a", "b"]);
    expect(verdict(noteOf(lineOf(nodeD), lineOf(nodeA)))).toBe("quorum_missing");
  });

  test("is refused with too few lines, a repeated or a failing one", () => {
    expect(verdict(noteOf(lineOf(nodeA)))).toBe("quorum_missing");
    expect(verdict(noteOf(lineOf(nodeA), lineOf(nodeA), lineOf(nodeB)))).toBe("signature_repeated");
    const other = lineOf(nodeC, text.replace("rules 1", "rules 2"));
    expect(verdict(noteOf(lineOf(nodeA), lineOf(nodeB), other))).toBe("signature_invalid");
  });

  test("does not take a node's signature of another kind", () => {
    const { name, publicKey } = nodeEntry(nodeB).cosignerVkey;
    const signature = nodeB.cosigner.sign(stateHeadMessage(text));
    const asCosignature = cosignatureLine({ name, publicKey, timeS: 1, signature }, sha256);
    const asNote = noteSignatureLine({ name, publicKey, signature }, sha256);
    expect(verdict(noteOf(lineOf(nodeA), asCosignature))).toBe("quorum_missing");
    expect(verdict(noteOf(lineOf(nodeA), asNote))).toBe("quorum_missing");
    const untagged = stateHeadLine({ name, publicKey, signature: nodeB.cosigner.sign(Buffer.from(text)) }, sha256);
    expect(verdict(noteOf(lineOf(nodeA), untagged))).toBe("signature_invalid");
  });

  test("is judged by the trust root that it names, and by no other", () => {
    const note = noteOf(lineOf(nodeA), lineOf(nodeB));
    const restored = { trustRoot: { ...version1, epoch: 1 }, rootThk: thk };
    const forged = { trustRoot: version1, rootThk: hashOf("forged") };
    for (const other of [restored, forged]) {
      expect(codeOf(() => verifyStateHead(note, other, crypto))).toBe("trust_root_differs");
    }
    const retired = { ...version1, nodes: [nodeEntry(nodeA), nodeEntry(nodeB, "retired"), nodeEntry(nodeC)] };
    expect(codeOf(() => verifyStateHead(note, { trustRoot: retired, rootThk: thk }, crypto))).toBe("quorum_missing");
  });

  test("one signature of a peer", () => {
    const signature = nodeB.cosigner.sign(stateHeadMessage(text));
    expect(isGoodStateHeadSignature({ text, nodeId: "b", signature }, version1, crypto)).toBe(true);
    expect(isGoodStateHeadSignature({ text, nodeId: "a", signature }, version1, crypto)).toBe(false);
    expect(isGoodStateHeadSignature({ text: `${text} `, nodeId: "b", signature }, version1, crypto)).toBe(false);
    expect(isGoodStateHeadSignature({ text, nodeId: "zz", signature }, version1, crypto)).toBe(false);
  });

  test.each(["", "a note\n", "\n\n", "text\n\nno line\n"])("that is no note is refused: %j", (note) => {
    expect(verdict(note)).toBe("malformed");
  });
});

test("a line of a state head has another key id than any other line of that key", () => {
  const { name, publicKey } = nodeEntry(nodeA).cosignerVkey;
  const ids = [
    lineOf(nodeA).keyId,
    cosignatureLine({ name, publicKey, timeS: 1, signature: new Uint8Array(64) }, sha256).keyId,
    noteSignatureLine({ name, publicKey, signature: new Uint8Array(64) }, sha256).keyId,
  ];
  expect(new Set(ids).size).toBe(3);
  expect(nodeEntry(nodeA).cosignerVkey.type).toBe(VKEY_TYPE.cosignature);
});
