/** Recording quorum certificates. A bogus one stops nothing; a valid one over another root is passed on. */
import {
  bytesToHex,
  checkpointOrigin,
  equalBytes,
  formatCheckpoint,
  verifyCosignature,
} from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Certificate, Cosignature } from "../entry/command.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CertificateWrite } from "./decision.ts";
import { judgingTrustRoot } from "../state/state.ts";
import type { OriginState } from "../state/state.ts";

/** Good cosignatures of distinct active nodes, ascending by node id. Copies and unknown keys do not count. */
function validCosignatures(certificate: Certificate, trustRoot: TrustRoot, draft: DecisionDraft): Cosignature[] {
  const { treeSize, rootHash } = certificate;
  const origin = checkpointOrigin(trustRoot.clusterName, certificate.originFingerprint);
  const checkpointText = formatCheckpoint({ origin, treeSize, rootHash });
  const valid: Cosignature[] = [];
  // Trust roots list nodes ascending by id.
  for (const node of trustRoot.nodes) {
    if (node.status !== "active") continue;
    const { publicKey } = node.cosignerVkey;
    const good = certificate.cosignatures.find(
      (cosignature) =>
        cosignature.nodeId === node.nodeId &&
        verifyCosignature({ ...cosignature, publicKey, checkpointText }, draft.crypto.ed25519Verify),
    );
    if (good !== undefined) valid.push(good);
  }
  return valid;
}

/** The k-th smallest time: when the quorum was complete. */
function certifiedAt(cosignatures: readonly Cosignature[], quorum: number): number {
  const times = cosignatures.map(({ timeS }) => timeS).sort((a, b) => a - b);
  const time = times[quorum - 1];
  if (time === undefined) throw new RangeError("a certificate has a quorum");
  return time;
}

function recordedSize(origin: OriginState, draft: DecisionDraft): number {
  let size = origin.certified?.treeSize ?? 0;
  for (const write of draft.certificates)
    if (equalBytes(write.originFingerprint, origin.originFingerprint)) size = Math.max(size, write.treeSize);
  return size;
}

/**
 * Records a certificate if recorded size < its size ≤ own size and a quorum of distinct active keys of the version that
 * judges this size has signed it. Judged before the groups of the entry: own size is that after the previous entry. For
 * a lost origin nothing more is recorded: the certificate that the log holds when it is lost is its last one
 * everywhere. If such a quorum has signed another root than our own, the origin is forked or this tree is wrong: the
 * certificate is passed on, and the comparison of roots decides what stops.
 */
export function decideCertificate(certificate: Certificate, draft: DecisionDraft): void {
  const { originFingerprint, treeSize, rootHash } = certificate;
  const origin = draft.state.origins.get(bytesToHex(originFingerprint));
  if (origin === undefined || origin.status === "lost") return;
  if (treeSize > origin.tree.size || treeSize <= recordedSize(origin, draft)) return;
  const judge = judgingTrustRoot(draft.state, origin, treeSize);
  if (judge === null) return;
  const { quorum, version } = judge.trustRoot;
  const cosignatures = validCosignatures(certificate, judge.trustRoot, draft);
  if (cosignatures.length < quorum) return;
  if (!equalBytes(origin.tree.rootAt(treeSize), rootHash)) {
    draft.contradictions.push({ ...certificate, cosignatures });
    return;
  }
  const write: CertificateWrite = {
    originFingerprint: origin.originFingerprint,
    treeSize,
    rootHash,
    certifiedAtS: certifiedAt(cosignatures, quorum),
    cosignatures,
    trustRootVersion: version,
  };
  draft.certificates.push(write);
}
