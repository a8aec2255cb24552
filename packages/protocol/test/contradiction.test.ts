import { describe, expect, test } from "@jest/globals";
import {
  type SignatureLine,
  type TrustRoot,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  formatCheckpoint,
  formatContradiction,
  formatNote,
  parseSignedTrustRoot,
  verifyContradiction,
} from "@event-anchoring/protocol";
import { type Signer, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { holdCeremony } from "@event-anchoring/provision";
import { CRYPTOS, codeOf } from "./vectors.ts";

const { sha256 } = nodeCrypto;
const NODE_IDS = ["a", "b", "c"];
const ceremony = holdCeremony({
  clusterName: "test.example/contradiction",
  nodeIds: NODE_IDS,
  quorum: 2,
  rootKeys: 1,
  rootThreshold: 1,
  caSpkiSha256: new Uint8Array(32).fill(7),
  issuedS: 1_700_000_000,
  expiresS: 1_800_000_000,
});
const { trustRoot } = parseSignedTrustRoot(ceremony.document, sha256);
const fingerprint = trustRoot.origins[0]?.originFingerprint;
if (fingerprint === undefined) throw new Error("the ceremony made an origin");
const ORIGIN = checkpointOrigin(trustRoot.clusterName, fingerprint);
const signers = new Map(ceremony.nodes.map(({ nodeId, cosignerSeed }) => [nodeId, createSigner(cosignerSeed)]));

interface Spoken {
  readonly origin?: string;
  readonly treeSize?: number;
  readonly root: number;
  readonly by: readonly string[];
}

function lineOf(nodeId: string, text: string): SignatureLine {
  const signer = signers.get(nodeId) as Signer;
  const name = `${trustRoot.clusterName}/node/${nodeId}`;
  const signature = signer.sign(cosignatureMessage(5, text));
  return cosignatureLine({ name, publicKey: signer.publicKey, timeS: 5, signature }, sha256);
}

function noteOf({ origin = ORIGIN, treeSize = 9, root, by }: Spoken): string {
  const text = formatCheckpoint({ origin, treeSize, rootHash: new Uint8Array(32).fill(root) });
  return formatNote(
    text,
    by.map((nodeId) => lineOf(nodeId, text)),
  );
}

const ROOTS: readonly TrustRoot[] = [trustRoot];

describe.each(CRYPTOS)("evidence of a contradiction, with %s", (_name, crypto) => {
  const verify = (left: Spoken, right: Spoken): ReturnType<typeof verifyContradiction> =>
    verifyContradiction(formatContradiction([noteOf(left), noteOf(right)]), ROOTS, crypto);

  test("names the key that signed both roots, and says which note is a certificate", () => {
    const proven = verify({ root: 1, by: ["a", "b"] }, { root: 2, by: ["b", "c"] });
    expect(proven).toMatchObject({ origin: ORIGIN, treeSize: 9 });
    expect(proven.named.map(({ name }) => name)).toEqual([`${trustRoot.clusterName}/node/b`]);
    expect(proven.notes.map(({ certifiedBy }) => certifiedBy)).toEqual([[1], [1]]);
  });

  test("names nobody where each key signed one root", () => {
    const proven = verify({ root: 1, by: ["a", "b"] }, { root: 2, by: ["c"] });
    expect(proven.named).toEqual([]);
    expect(proven.notes.map(({ certifiedBy }) => certifiedBy)).toEqual([[1], []]);
  });

  test.each<[string, Spoken, Spoken, string]>([
    ["one root twice", { root: 1, by: ["a"] }, { root: 1, by: ["b"] }, "nothing_contradicts"],
    ["two sizes", { root: 1, by: ["a"] }, { root: 2, treeSize: 8, by: ["a"] }, "nothing_contradicts"],
    ["two origins", { root: 1, by: ["a"] }, { root: 2, origin: `${ORIGIN}0`, by: ["a"] }, "nothing_contradicts"],
    ["a repeated line", { root: 1, by: ["a", "a"] }, { root: 2, by: ["a"] }, "line_refused"],
  ])("is not %s", (_what, left, right, code) => {
    expect(codeOf(() => verify(left, right))).toBe(code);
  });

  test("is not a note whose line was made for another", () => {
    const stolen = noteOf({ root: 1, by: ["a"] }).split("\n\n")[1] ?? "";
    const text = formatCheckpoint({ origin: ORIGIN, treeSize: 9, rootHash: new Uint8Array(32).fill(3) });
    const forged = formatContradiction([noteOf({ root: 1, by: ["a"] }), `${text}\n${stolen}`]);
    expect(codeOf(() => verifyContradiction(forged, ROOTS, crypto))).toBe("line_refused");
  });

  test("is nothing to those who know none of the keys", () => {
    const text = formatContradiction([noteOf({ root: 1, by: ["a"] }), noteOf({ root: 2, by: ["a"] })]);
    expect(codeOf(() => verifyContradiction(text, [{ ...trustRoot, nodes: [] }], crypto))).toBe("note_unsigned");
  });
});

test.each(["", "\n\n\n\n", noteOf({ root: 1, by: ["a"] }), `${noteOf({ root: 1, by: ["a"] })}\n`, "a\n\nb\n\nc\n\nd"])(
  "what is not two signed notes is malformed: %j",
  (text) => {
    expect(codeOf(() => verifyContradiction(text, ROOTS, nodeCrypto))).toBe("contradiction_malformed");
  },
);
