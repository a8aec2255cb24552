import {
  type Crypto,
  type OriginFingerprint,
  type Sha256,
  type TrustRoot,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  findOrigin,
  formatCheckpoint,
  formatNote,
  noteMessage,
  noteSignatureLine,
} from "@event-anchoring/protocol";
import { type Certificate, type Cosignature, type LedgerState, judgingTrustRoot } from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";

/** The checkpoint text of an origin at one size: a pure function of the log prefix. */
export function checkpointText(root: TrustRoot, origin: OriginFingerprint, head: TreeHead): string {
  return formatCheckpoint({ origin: checkpointOrigin(root.clusterName, origin), ...head });
}

export interface TreeHead {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

/** The trust root that judges a checkpoint of this size of an origin that this node has. */
export function judgingRoot(state: LedgerState, originFingerprint: OriginFingerprint, treeSize: number): TrustRoot {
  const origin = state.origins.get(bytesToHex(originFingerprint));
  const signed = origin === undefined ? null : judgingTrustRoot(state, origin, treeSize);
  if (signed === null) throw new Error(`no trust root judges size ${treeSize}`);
  return signed.trustRoot;
}

/** What this node signs for a head at that time. */
export function signHead(
  root: TrustRoot,
  origin: OriginFingerprint,
  head: TreeHead,
  timeS: number,
  signer: Signer,
): Uint8Array {
  return signer.sign(cosignatureMessage(timeS, checkpointText(root, origin, head)));
}

/** Whether the node's signatures count under this trust root. */
export function isActive(root: TrustRoot, nodeId: string): boolean {
  return root.nodes.some((node) => node.nodeId === nodeId && node.status === "active");
}

/** Whether `cosignature` is by an active node of the trust root, over exactly this head. */
export function isGoodCosignature(
  root: TrustRoot,
  origin: OriginFingerprint,
  head: TreeHead,
  cosignature: Cosignature,
  crypto: Crypto,
): boolean {
  const node = root.nodes.find(({ nodeId, status }) => nodeId === cosignature.nodeId && status === "active");
  if (node === undefined) return false;
  const message = cosignatureMessage(cosignature.timeS, checkpointText(root, origin, head));
  return crypto.ed25519Verify(node.cosignerVkey.publicKey, message, cosignature.signature);
}

/** The signed note of a certificate: checkpoint, the origin's log line, one line per cosignature. */
export function certificateNote(root: TrustRoot, certificate: Certificate, logSigner: Signer, sha256: Sha256): string {
  const text = checkpointText(root, certificate.originFingerprint, certificate);
  const origin = findOrigin(root, certificate.originFingerprint);
  if (origin === undefined) throw new Error(`trust root lists no origin ${bytesToHex(certificate.originFingerprint)}`);
  const { name, publicKey } = origin.logVkey;
  const lines = [noteSignatureLine({ name, publicKey, signature: logSigner.sign(noteMessage(text)) }, sha256)];
  for (const cosignature of certificate.cosignatures) {
    const node = root.nodes.find(({ nodeId }) => nodeId === cosignature.nodeId);
    if (node === undefined) throw new Error(`trust root lists no node ${cosignature.nodeId}`);
    const key = { name: node.cosignerVkey.name, publicKey: node.cosignerVkey.publicKey };
    lines.push(cosignatureLine({ ...cosignature, ...key }, sha256));
  }
  return formatNote(text, lines);
}

/** The time at which the quorum was complete: the k-th smallest of the cosigning times. */
export function certifiedAtS(certificate: Certificate, quorum: number): number {
  const times = certificate.cosignatures.map(({ timeS }) => timeS).sort((left, right) => left - right);
  return times[quorum - 1] ?? 0;
}
