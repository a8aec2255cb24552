/** A cluster on paper whose log has real leaves and real signatures, and can show one history or two. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  bytesToHex,
  checkpointOrigin,
  claimIssuerPayload,
  claimPayload,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  appendToFrontier,
  emptyFrontier,
  encodeLeaf,
  formatCheckpoint,
  formatNote,
  frontierRoot,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  proveConsistency,
  proveInclusion,
  receiptToJson,
  toAnchorId,
} from "@event-anchoring/protocol";
import { threeNodeCeremony } from "@event-anchoring/testkit/receipts";

const NAME = "log.test";
const START_S = 1_790_000_000;
const { sha256 } = nodeCrypto;

export const ceremony = threeNodeCeremony(NAME, START_S);

const [first] = ceremony.nodes;
if (first === undefined) throw new Error("a ceremony of three nodes has a first one");
const { originFingerprint } = first;

export const ORIGIN = bytesToHex(originFingerprint);
export const ROOT_THK = bytesToHex(ceremony.rootThk);
export const ENTITY = sha256(new TextEncoder().encode("an entity"));

function headerAt(depth: number, parent: Uint8Array) {
  return {
    originFingerprint,
    depth,
    parentAnchorId: toAnchorId(parent),
    sequence: depth + 3,
    acceptedMs: START_S * 1000 + depth,
  };
}

function claimLeaf(depth: number, parent: Uint8Array): Uint8Array {
  const [subject, issuer] = [createSigner(sha256(Uint8Array.of(1))), createSigner(sha256(Uint8Array.of(2)))];
  const content = {
    originFingerprint,
    entityFingerprint: ENTITY,
    attributeType: 16,
    attributeHash: sha256(Uint8Array.of(3)),
    issuedAt: 0,
    expiresAt: 0,
    subjectPublicKey: subject.publicKey,
    issuerPublicKey: issuer.publicKey,
  };
  const payload = claimPayload(content);
  const subjectSignature = subject.sign(payload);
  const issuerSignature = issuer.sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return encodeLeaf({
    kind: LEAF_KIND.claim,
    ...headerAt(depth, parent),
    ...content,
    subjectSignature,
    issuerSignature,
  });
}

function eventLeaf(depth: number, parent: Uint8Array, label: string): Uint8Array {
  return encodeLeaf({
    kind: LEAF_KIND.event,
    ...headerAt(depth, parent),
    eventHash: sha256(new TextEncoder().encode(`${label}${depth}`)),
    semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
    clientEventCommit: ZERO_32,
  });
}

/** A genesis leaf, a claim, and events; those of another label differ from leaf `forkAt` on. */
export function history(size: number, label = "", forkAt = Number.POSITIVE_INFINITY): Uint8Array[] {
  const genesis = encodeLeaf({
    kind: LEAF_KIND.genesis,
    ...headerAt(0, ZERO_32),
    clusterId: ceremony.clusterId,
    rootThk: ceremony.rootThk,
  });
  const leaves = [genesis];
  while (leaves.length < size) {
    const depth = leaves.length;
    const parent = anchorIdOf(leaves.at(-1) ?? genesis, sha256);
    leaves.push(depth === 1 ? claimLeaf(depth, parent) : eventLeaf(depth, parent, depth < forkAt ? "" : label));
  }
  return leaves;
}

export function idAt(leaves: readonly Uint8Array[], depth: number): string {
  const leaf = leaves[depth];
  if (leaf === undefined) throw new RangeError(`there is no leaf ${depth}`);
  return bytesToHex(anchorIdOf(leaf, sha256));
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  let frontier = emptyFrontier();
  for (const leaf of leaves) frontier = appendToFrontier(frontier, anchorIdOf(leaf, sha256), sha256);
  return frontierRoot(frontier, sha256);
}

/** A signed note over a tree, by the log and by so many nodes. */
export function checkpointOf(leaves: readonly Uint8Array[], cosigners = 2): string {
  const name = checkpointOrigin(NAME, originFingerprint);
  const text = formatCheckpoint({ origin: name, treeSize: leaves.length, rootHash: rootOf(leaves) });
  const log = createSigner(logKeySeed(ceremony.logSeed, originFingerprint, sha256));
  const signature = log.sign(noteMessage(text));
  const lines = [noteSignatureLine({ name, publicKey: log.publicKey, signature }, sha256)];
  for (const { nodeId, cosignerSeed } of ceremony.nodes.slice(0, cosigners)) {
    const signer = createSigner(cosignerSeed);
    const timeS = START_S + 60;
    const line = {
      name: cosignerName(NAME, nodeId),
      publicKey: signer.publicKey,
      timeS,
      signature: signer.sign(cosignatureMessage(timeS, text)),
    };
    lines.push(cosignatureLine(line, sha256));
  }
  return formatNote(text, lines);
}

const rootAtOf = (leaves: readonly Uint8Array[]) => (level: number, index: number) =>
  rootOf(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));

export function consistencyOf(leaves: readonly Uint8Array[], fromSize: number): readonly Uint8Array[] {
  return proveConsistency(fromSize, leaves.length, rootAtOf(leaves), sha256);
}

/** Its JSON, as the API answers it. */
export function receiptOf(leaves: readonly Uint8Array[], index: number): object {
  const path = proveInclusion(index, leaves.length, rootAtOf(leaves), sha256);
  const receipt = {
    leaf: leaves[index] ?? new Uint8Array(0),
    index,
    treeSize: leaves.length,
    path,
    checkpoint: checkpointOf(leaves),
  };
  return receiptToJson(receipt, 1, sha256);
}
