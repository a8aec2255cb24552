import type { Certificate } from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";
import type { Sha256, TrustRoot } from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import { certificateNote, certifiedAtS } from "../signatures/certificates.ts";
import type { HeldCertificate } from "./certifier.ts";

/** A certificate as this node keeps it: lines by node id, and its note on demand. */
export function heldCertificate(
  root: TrustRoot,
  certificate: Certificate,
  logSigner: Signer,
  sha256: Sha256,
  raftIndex: RaftIndex,
): HeldCertificate {
  const cosignatures = [...certificate.cosignatures].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  const ordered = { ...certificate, cosignatures };
  return {
    ...ordered,
    certifiedAtS: certifiedAtS(ordered, root.quorum),
    checkpoint: once(() => certificateNote(root, ordered, logSigner, sha256)),
    trustRootVersion: root.version,
    raftIndex,
  };
}

function once(make: () => string): () => string {
  let made: string | null = null;
  return () => (made ??= make());
}
