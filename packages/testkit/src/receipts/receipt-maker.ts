import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  encodeLeaf,
  formatCheckpoint,
  formatNote,
  interiorHash,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  toAnchorId,
} from "@event-anchoring/protocol";
import type { Receipt, SemanticAnchor } from "@event-anchoring/protocol";
import type { Ceremony, NodeSecrets } from "@event-anchoring/provision";
import { threeNodeCeremony } from "./three-node-ceremony.ts";

const CLUSTER_NAME = "receipts.test";
const ISSUED_S = 1_790_000_000;

interface ReceiptOptions {
  readonly cosigners?: number;
  readonly acceptedMs?: number;
  /** The time of every cosignature, in Unix seconds. */
  readonly signedS?: number;
  /** Default: it refers to nothing. */
  readonly semanticAnchor?: SemanticAnchor;
  /** 32 bytes. Default: the client gave no id. */
  readonly commit?: Uint8Array;
}

/** A cluster of three that exists on paper only, and makes real receipts. */
export interface ReceiptMaker {
  /** Trust-root version 1, a signed note. */
  readonly trustRootDocument: string;
  /** 32 bytes. */
  readonly rootThk: Uint8Array;
  /** 32 bytes. */
  readonly originFingerprint: Uint8Array;
  /** Receipt of an event: leaf 1 of a tree of two, cosigned by the first `cosigners` nodes. */
  receipt(eventHash: Uint8Array, options?: ReceiptOptions): Receipt;
}

export function createReceiptMaker(): ReceiptMaker {
  const ceremony = threeNodeCeremony(CLUSTER_NAME, ISSUED_S);
  const [first] = ceremony.nodes;
  if (first === undefined) throw new Error("a ceremony of three nodes has a first one");
  return {
    trustRootDocument: ceremony.document,
    rootThk: ceremony.rootThk,
    originFingerprint: first.originFingerprint,
    receipt: (eventHash, options = {}) => makeReceipt(ceremony, first, eventHash, options),
  };
}

function makeReceipt(ceremony: Ceremony, node: NodeSecrets, eventHash: Uint8Array, options: ReceiptOptions): Receipt {
  const { cosigners = 2, acceptedMs = ISSUED_S * 1000, signedS = ISSUED_S } = options;
  const { sha256 } = nodeCrypto;
  const { originFingerprint } = node;
  const header = { originFingerprint, depth: 0, parentAnchorId: toAnchorId(ZERO_32), sequence: 0 };
  const { clusterId, rootThk } = ceremony;
  const genesis = encodeLeaf({ kind: LEAF_KIND.genesis, ...header, acceptedMs, clusterId, rootThk });
  const genesisId = anchorIdOf(genesis, sha256);
  const leaf = encodeLeaf({
    kind: LEAF_KIND.event,
    originFingerprint,
    depth: 1,
    parentAnchorId: genesisId,
    sequence: 3,
    acceptedMs,
    eventHash,
    semanticAnchor: options.semanticAnchor ?? EMPTY_SEMANTIC_ANCHOR,
    clientEventCommit: options.commit ?? ZERO_32,
  });
  const rootHash = interiorHash(genesisId, anchorIdOf(leaf, sha256), sha256);
  const origin = checkpointOrigin(CLUSTER_NAME, originFingerprint);
  const text = formatCheckpoint({ origin, treeSize: 2, rootHash });
  const log = createSigner(logKeySeed(ceremony.logSeed, originFingerprint, sha256));
  const signature = log.sign(noteMessage(text));
  const lines = [
    noteSignatureLine({ name: origin, publicKey: log.publicKey, signature }, sha256),
    ...ceremony.nodes.slice(0, cosigners).map((cosigner) => cosign(cosigner, text, signedS)),
  ];
  return { leaf, index: 1, treeSize: 2, path: [genesisId], checkpoint: formatNote(text, lines) };
}

function cosign(node: NodeSecrets, text: string, timeS: number): ReturnType<typeof cosignatureLine> {
  const signer = createSigner(node.cosignerSeed);
  const signature = signer.sign(cosignatureMessage(timeS, text));
  const name = cosignerName(CLUSTER_NAME, node.nodeId);
  return cosignatureLine({ name, publicKey: signer.publicKey, timeS, signature }, nodeCrypto.sha256);
}
