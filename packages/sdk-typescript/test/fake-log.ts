/** A cluster of one origin that exists on paper, and can show one history or two. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  appendToFrontier,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  emptyFrontier,
  formatCheckpoint,
  formatNote,
  frontierRoot,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  proveConsistency,
} from "@event-anchoring/protocol";
import { threeNodeCeremony } from "@event-anchoring/testkit/receipts";

const NAME = "log.test";
const START_S = 1_790_000_000;

export const ceremony = threeNodeCeremony(NAME, START_S);
export const strangers = threeNodeCeremony(NAME, START_S);

const [first] = ceremony.nodes;
if (first === undefined) throw new Error("a ceremony of three nodes has a first one");
const origin = first.originFingerprint;

export const ORIGIN_HEX = bytesToHex(origin);

/** Leaf hashes of a history: those of another label differ from leaf `forkAt` on. */
export function leafHashes(size: number, label = "", forkAt = Number.POSITIVE_INFINITY): Uint8Array[] {
  return Array.from({ length: size }, (_, at) =>
    nodeCrypto.sha256(new TextEncoder().encode(at < forkAt ? `${at}` : `${label}${at}`)),
  );
}

function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  let frontier = emptyFrontier();
  for (const hash of hashes) frontier = appendToFrontier(frontier, hash, nodeCrypto.sha256);
  return frontierRoot(frontier, nodeCrypto.sha256);
}

/** A signed note over a tree. @param cosigners how many nodes have signed */
export function checkpointOf(hashes: readonly Uint8Array[], cosigners = 2): string {
  const name = checkpointOrigin(NAME, origin);
  const text = formatCheckpoint({ origin: name, treeSize: hashes.length, rootHash: rootOf(hashes) });
  const log = createSigner(logKeySeed(ceremony.logSeed, origin, nodeCrypto.sha256));
  const lines = [
    noteSignatureLine({ name, publicKey: log.publicKey, signature: log.sign(noteMessage(text)) }, nodeCrypto.sha256),
  ];
  for (const node of ceremony.nodes.slice(0, cosigners)) {
    const signer = createSigner(node.cosignerSeed);
    const timeS = START_S + 60;
    const signature = signer.sign(cosignatureMessage(timeS, text));
    const name = cosignerName(NAME, node.nodeId);
    lines.push(cosignatureLine({ name, publicKey: signer.publicKey, timeS, signature }, nodeCrypto.sha256));
  }
  return formatNote(text, lines);
}

/** RFC 6962 proof that the first `from` leaves are the beginning of all. */
export function proofOf(hashes: readonly Uint8Array[], from: number): readonly Uint8Array[] {
  const rootAt = (level: number, index: number): Uint8Array =>
    rootOf(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level));
  return proveConsistency(from, hashes.length, rootAt, nodeCrypto.sha256);
}
