/** Receipts: good, superseded, renewed, and every way to fail. */
import {
  anchorIdOf,
  asciiToBytes,
  bytesToBase64,
  bytesToHex,
  checkpointOrigin,
  decodeLeaf,
  encodeLeaf,
  formatCheckpoint,
  formatNote,
  formatProof,
  formatSignatureLine,
  interiorHash,
  proveConsistency,
  receiptToJson,
  toAnchorId,
} from "@event-anchoring/protocol";
import type { Receipt, SignatureLine } from "@event-anchoring/protocol";
import {
  clusterName,
  cosign,
  document1,
  document2,
  document3,
  document4,
  document5,
  fill,
  hashOf,
  logLine,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  pinnedRootThk,
  sha256,
} from "./fixtures.ts";
import type { FixtureNode } from "./fixtures.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { leafBytes } from "./leaves.ts";
import { checkpointText, flip, noteOf, receiptCaseJson, receiptOf } from "./receipt-parts.ts";
import type { ReceiptCase } from "./receipt-parts.ts";
import { leafTree } from "./trees.ts";
import { badWitnessed, goodWitnessed, witnessedCaseJson } from "./witnessed-receipts.ts";

const AB = [nodeA, nodeB];
const good = receiptOf(5, 9, AB);
const text = checkpointText(9);
const [logged, byA, byB, byC] = [logLine(nodeA, text), cosign(nodeA, text), cosign(nodeB, text), cosign(nodeC, text)];

const eventHash = bytesToHex(hashOf("event 5"));
const anchorId = bytesToHex(anchorIdOf(good.leaf, sha256));

/** The genesis leaf of an origin, in a tree of two. */
function receiptOfOrigin(node: FixtureNode, cosigners: readonly FixtureNode[]): Receipt {
  const genesis = decodeLeaf(leafBytes[0] ?? fill(0));
  const leaf = encodeLeaf({ ...genesis, originFingerprint: node.originFingerprint });
  const sibling = fill(0x55);
  const rootHash = interiorHash(anchorIdOf(leaf, sha256), sibling, sha256);
  const origin = checkpointOrigin(clusterName, node.originFingerprint);
  const own = formatCheckpoint({ origin, treeSize: 2, rootHash });
  const checkpoint = formatNote(own, [logLine(node, own), ...cosigners.map((cosigner) => cosign(cosigner, own))]);
  return { leaf, index: 0, treeSize: 2, path: [sibling], checkpoint };
}

function renewalTo(size: number, cosigners: readonly FixtureNode[]): NonNullable<ReceiptCase["renewal"]> {
  const consistency = proveConsistency(6, size, leafTree.hashAt, sha256);
  return { checkpoint: noteOf(checkpointText(size), cosigners), consistency };
}

function goodCases(): ReceiptCase[] {
  return [
    { name: "two of three", receipt: good },
    {
      name: "with the event hash and the anchor id",
      receipt: good,
      expect: { event_hash: eventHash, anchor_id: anchorId },
    },
    { name: "three of three", receipt: receiptOf(1, 9, [nodeA, nodeB, nodeC]) },
    { name: "genesis leaf", receipt: receiptOf(0, 2, AB) },
    { name: "last leaf", receipt: receiptOf(8, 9, AB) },
    { name: "a stranger's line is ignored", receipt: receiptOf(5, 9, [nodeD, nodeA, nodeB]), roots: 1 },
    { name: "under the next version", receipt: good, roots: 2 },
    {
      name: "a retired node's line counts under its version",
      receipt: receiptOf(5, 9, [nodeA, nodeC]),
      roots: 2,
      superseded: 1,
    },
    { name: "distrusted node, not needed", receipt: receiptOf(5, 9, [nodeA, nodeB, nodeC]), roots: 3, superseded: 1 },
    {
      name: "distrusted node, needed, renewed",
      receipt: receiptOf(5, 6, AB),
      roots: 3,
      renewal: renewalTo(9, [nodeA, nodeD]),
    },
    { name: "lost origin", receipt: receiptOfOrigin(nodeC, [nodeA, nodeD]), roots: 3, lost: true },
  ];
}

function withLines(lines: readonly SignatureLine[]): Receipt {
  return { ...good, checkpoint: formatNote(text, lines) };
}

/** The same leaf and proof under a checkpoint text that says something else; the signatures are good. */
function withText(changed: string, treeSize = 9): Receipt {
  return { ...good, treeSize, checkpoint: noteOf(changed, AB) };
}

function contentCases(): ReceiptCase[] {
  return [
    { name: "leaf cut", receipt: { ...good, leaf: good.leaf.slice(0, -1) }, failure: ["leaf", "leaf_malformed"] },
    {
      name: "leaf of another format",
      receipt: { ...good, leaf: flip(good.leaf, 0) },
      failure: ["leaf", "leaf_malformed"],
    },
    {
      name: "another event",
      receipt: good,
      expect: { event_hash: bytesToHex(hashOf("event 6")) },
      failure: ["content", "content_differs"],
    },
    {
      name: "event hash against a claim",
      receipt: receiptOf(2, 9, AB),
      expect: { event_hash: eventHash },
      failure: ["content", "content_differs"],
    },
    {
      name: "payload against an unsigned event",
      receipt: receiptOf(1, 9, AB),
      expect: { payload: "00" },
      failure: ["content", "content_differs"],
    },
    {
      name: "another payload",
      receipt: good,
      expect: { payload: bytesToHex(asciiToBytes("event-anchoring")) },
      failure: ["content", "content_differs"],
    },
    {
      name: "another anchor id",
      receipt: good,
      expect: { anchor_id: bytesToHex(toAnchorId(fill(3))) },
      failure: ["anchor_id", "anchor_id_differs"],
    },
  ];
}

function treeCases(): ReceiptCase[] {
  const otherOrigin = checkpointOrigin(clusterName, nodeB.originFingerprint);
  const otherCluster = checkpointOrigin("anchor.example/other", nodeA.originFingerprint);
  return [
    {
      name: "checkpoint without signatures",
      receipt: { ...good, checkpoint: text },
      failure: ["checkpoint", "checkpoint_malformed"],
    },
    {
      name: "checkpoint with an extension line",
      receipt: withText(`${text}more\n`),
      failure: ["checkpoint", "checkpoint_malformed"],
    },
    {
      name: "65 lines",
      receipt: { ...good, checkpoint: `${good.checkpoint}${"\u2014 x AAAAAAA=\n".repeat(62)}` },
      failure: ["checkpoint", "checkpoint_malformed"],
    },
    {
      name: "tree size of the receipt differs",
      receipt: { ...good, treeSize: 8 },
      failure: ["checkpoint", "tree_size_differs"],
    },
    {
      name: "checkpoint of another origin",
      receipt: withText(checkpointText(9, otherOrigin)),
      failure: ["origin", "origin_differs"],
    },
    {
      name: "checkpoint of another cluster",
      receipt: withText(checkpointText(9, otherCluster)),
      failure: ["origin", "origin_differs"],
    },
    {
      name: "origin in upper case",
      receipt: withText(text.replace(/origin\/.*/, (name) => name.toUpperCase())),
      failure: ["origin", "origin_differs"],
    },
    { name: "origin not yet listed", receipt: receiptOfOrigin(nodeD, AB), failure: ["origin", "origin_unknown"] },
    { name: "index one up", receipt: { ...good, index: 6 }, failure: ["index", "index_differs"] },
    { name: "tree ends before the leaf", receipt: withText(checkpointText(5), 5), failure: ["index", "index_differs"] },
    {
      name: "leaf changed",
      receipt: { ...good, leaf: flip(good.leaf, 140) },
      failure: ["inclusion", "inclusion_wrong"],
    },
    {
      name: "path hash changed",
      receipt: { ...good, path: good.path.map((hash, at) => (at === 1 ? flip(hash, 9) : hash)) },
      failure: ["inclusion", "inclusion_wrong"],
    },
    { name: "path cut", receipt: { ...good, path: good.path.slice(1) }, failure: ["inclusion", "inclusion_wrong"] },
    {
      name: "path too long",
      receipt: { ...good, path: [...good.path, fill(0)] },
      failure: ["inclusion", "inclusion_wrong"],
    },
    {
      name: "another size, properly cosigned",
      receipt: withText(checkpointText(8), 8),
      failure: ["inclusion", "inclusion_wrong"],
    },
  ];
}

function signatureCases(): ReceiptCase[] {
  const wrongLog: SignatureLine = { ...logged, signature: flip(logged.signature, 3) };
  const wrongA: SignatureLine = { ...byA, signature: flip(byA.signature, 40) };
  const laterA: SignatureLine = { ...byA, signature: flip(byA.signature, 7) };
  const otherLog: SignatureLine = { ...logLine(nodeB, text), name: logged.name };
  return [
    { name: "log line missing", receipt: withLines([byA, byB]), failure: ["log_signature", "log_signature_missing"] },
    {
      name: "log line of another key",
      receipt: withLines([otherLog, byA, byB]),
      failure: ["log_signature", "log_signature_missing"],
    },
    {
      name: "log signature changed",
      receipt: withLines([wrongLog, byA, byB]),
      failure: ["log_signature", "signature_invalid"],
    },
    {
      name: "log line twice",
      receipt: withLines([logged, logged, byA, byB]),
      failure: ["log_signature", "signature_repeated"],
    },
    {
      name: "good log line beside a failing one",
      receipt: withLines([logged, wrongLog, byA, byB]),
      failure: ["log_signature", "signature_repeated"],
    },
    {
      name: "failing cosignature beside a quorum",
      receipt: withLines([logged, wrongA, byB, byC]),
      failure: ["log_signature", "signature_invalid"],
    },
    {
      name: "time of a cosignature changed",
      receipt: withLines([logged, laterA, byB, byC]),
      failure: ["log_signature", "signature_invalid"],
    },
    {
      name: "cosignature twice",
      receipt: withLines([logged, byA, byA]),
      failure: ["log_signature", "signature_repeated"],
    },
    {
      name: "cosignature of another tree",
      receipt: withLines([logged, byB, byC, cosign(nodeA, checkpointText(8))]),
      failure: ["log_signature", "signature_invalid"],
    },
  ];
}

function quorumCases(): ReceiptCase[] {
  const strangers = formatSignatureLine(cosign(nodeD, text));
  const renewed = (name: string, renewal: ReceiptCase["renewal"], failure: ReceiptCase["failure"]): ReceiptCase => ({
    name,
    receipt: receiptOf(5, 6, AB),
    roots: 3,
    ...(renewal === undefined ? {} : { renewal }),
    ...(failure === undefined ? {} : { failure }),
  });
  return [
    { name: "no cosignature", receipt: withLines([logged]), failure: ["cosignatures", "quorum_not_met"] },
    { name: "one cosignature", receipt: withLines([logged, byA]), failure: ["cosignatures", "quorum_not_met"] },
    {
      name: "one cosignature and a stranger's",
      receipt: { ...good, checkpoint: `${formatNote(text, [logged, byA])}${strangers}` },
      failure: ["cosignatures", "quorum_not_met"],
    },
    {
      name: "a retired and a new node share no version",
      receipt: receiptOf(5, 9, [nodeC, nodeD]),
      roots: 2,
      failure: ["cosignatures", "quorum_not_met"],
    },
    { name: "distrusted node, needed", receipt: good, roots: 3, failure: ["trust_root", "cosigner_distrusted"] },
    renewed("renewal without a quorum of the newest", renewalTo(9, AB), ["trust_root", "cosigner_distrusted"]),
    renewed("renewal with a wrong consistency proof", { ...renewalTo(9, [nodeA, nodeD]), consistency: [fill(1)] }, [
      "trust_root",
      "cosigner_distrusted",
    ]),
  ];
}

function badProofs(): Json {
  const proof = formatProof(good);
  const edit = (from: string | RegExp, to: string): string => proof.replace(from, to);
  const refuse = (name: string, error: string, changed: string): Json => ({ name, error, proof: changed });
  const hash = bytesToBase64(fill(1));
  return [
    refuse("empty", "proof_header_unknown", ""),
    refuse("another version", "proof_header_unknown", edit("@v1", "@v2")),
    refuse("carriage returns", "proof_header_unknown", proof.replaceAll("\n", "\r\n")),
    refuse("no empty line", "proof_header_unknown", proof.replaceAll("\n\n", "\n")),
    refuse("no leaf", "proof_leaf_missing", edit(/extra .*\n/, "")),
    refuse("leaf not base64", "proof_malformed", edit("extra ", "extra *")),
    refuse("leaf twice", "proof_malformed", edit(/(extra .*\n)/, "$1$1")),
    refuse("no index", "proof_malformed", edit("index 5\n", "")),
    refuse("index with a leading zero", "proof_malformed", edit("index 5", "index 05")),
    refuse("index negative", "proof_malformed", edit("index 5", "index -5")),
    refuse("index above 2^53 - 1", "proof_malformed", edit("index 5", "index 9007199254740992")),
    refuse("short hash", "proof_malformed", edit("index 5\n", `index 5\n${bytesToBase64(fill(1, 31))}\n`)),
    refuse("hash in hex", "proof_malformed", edit("index 5\n", `index 5\n${bytesToHex(fill(1))}\n`)),
    refuse("54 hashes", "proof_path_too_long", edit(/index 5\n[^]*?\n\n/, `index 5\n${`${hash}\n`.repeat(54)}\n`)),
    refuse("no checkpoint", "proof_checkpoint_malformed", proof.slice(0, proof.indexOf("\n\n") + 2)),
    refuse("checkpoint without signatures", "proof_checkpoint_malformed", edit(/\u2014[^]*/, "")),
    refuse("no final newline", "proof_checkpoint_malformed", proof.slice(0, -1)),
  ];
}

function badJson(): Json {
  const json = receiptToJson(good, 1, sha256);
  return [
    { name: "null", value: null },
    { name: "a list", value: [] },
    { name: "anchor_id missing", value: omit(json, "anchor_id") },
    { name: "checkpoint missing", value: omit(json, "checkpoint") },
    { name: "anchor_id short", value: { ...json, anchor_id: "00" } },
    { name: "leaf in hex", value: { ...json, leaf: "0g" } },
    { name: "index as text", value: { ...json, index: "5" } },
    { name: "index negative", value: { ...json, index: -1 } },
    { name: "tree_size not whole", value: { ...json, tree_size: 9.5 } },
    { name: "tree_size unsafe", value: { ...json, tree_size: 2 ** 53 } },
    { name: "inclusion not a list", value: { ...json, inclusion: {} } },
    { name: "inclusion of numbers", value: { ...json, inclusion: [1] } },
    { name: "inclusion hash short", value: { ...json, inclusion: ["AA=="] } },
  ];
}

function omit(json: object, name: string): Json {
  return Object.fromEntries(Object.entries(json).filter(([field]) => field !== name));
}

export function receiptVectors(): Json {
  return {
    about:
      "Receipts. The first `trust_root_versions` of `trust_roots` are held. Compare `anchor_id` only with `expect`. " +
      "Cases of `witnessed` say with `require_witnessed` whether the caller demands it.",
    pinned_root_thk: bytesToHex(pinnedRootThk),
    trust_roots: [document1, document2, document3, document4, document5],
    proof: { good: [{ proof: formatProof(good), json: { ...receiptToJson(good, 1, sha256) } }], bad: badProofs() },
    json: { bad: badJson() },
    good: goodCases().map(receiptCaseJson),
    bad: [...contentCases(), ...treeCases(), ...signatureCases(), ...quorumCases()].map(receiptCaseJson),
    witnessed: { good: goodWitnessed().map(witnessedCaseJson), bad: badWitnessed().map(witnessedCaseJson) },
  };
}
