/** What root keys and nodes have signed of a snapshot: its chain of trust roots, and certificates. */
import type { CertificateWrite } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  checkpointOrigin,
  formatCheckpoint,
  parseSignedTrustRoot,
  verifyCosignature,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";

const { sha256, ed25519Verify } = nodeCrypto;

export function refuse(what: string, cause?: unknown): StoreError {
  return new StoreError("snapshot_refused", what, cause === undefined ? undefined : { cause });
}

export function refuseUnless(condition: boolean, what: () => string): void {
  if (!condition) throw refuse(what());
}

/** null: there was no genesis yet. @throws StoreError `snapshot_refused` */
export function verifiedChain(documents: readonly string[]): TrustRootChain | null {
  const [first] = documents;
  if (first === undefined) return null;
  // The caller checks that this version 1 is the cluster's: it knows the pin.
  let pinnedRootThk: Uint8Array;
  try {
    pinnedRootThk = parseSignedTrustRoot(first, sha256).rootThk;
  } catch (cause) {
    throw refuse("the first trust root cannot be read", cause);
  }
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "refused") {
    throw refuse(`trust root ${verification.position + 1}: ${verification.code}: ${verification.detail}`);
  }
  return verification.chain;
}

/** @throws StoreError `snapshot_refused` unless enough of the nodes that it names have signed, at its time */
export function verifyCertificate(certificate: CertificateWrite, chain: TrustRootChain | null): void {
  const { originFingerprint, treeSize, rootHash, cosignatures } = certificate;
  const root = chain?.versions[certificate.trustRootVersion - 1]?.trustRoot;
  if (root === undefined) throw refuse("a certificate names a trust root that is not in the chain");
  const origin = checkpointOrigin(root.clusterName, originFingerprint);
  const checkpointText = formatCheckpoint({ origin, treeSize, rootHash });
  const good = root.nodes.flatMap(({ status, nodeId, cosignerVkey: { publicKey } }) => {
    const cosignature = cosignatures.find(
      (one) => one.nodeId === nodeId && verifyCosignature({ ...one, publicKey, checkpointText }, ed25519Verify),
    );
    return status === "active" && cosignature !== undefined ? [cosignature.timeS] : [];
  });
  const certifiedAtS = good.sort((a, b) => a - b)[root.quorum - 1];
  const name = `the certificate of size ${treeSize} of origin ${bytesToHex(originFingerprint)}`;
  refuseUnless(certifiedAtS !== undefined, () => `${name} has ${good.length} good cosignatures`);
  refuseUnless(certifiedAtS === certificate.certifiedAtS, () => `${name} was certified at ${certifiedAtS}`);
}
