/** Quorum certificates: over the right root, by enough of the nodes in the trust root that judges their size. */
import { judgingVersion } from "@event-anchoring/ledger";
import type { Cosignature, LeafWalk, WalkedOrigin } from "@event-anchoring/ledger";
import {
  bytesToHex,
  checkpointOrigin,
  cosignatureMessage,
  equalBytes,
  formatCheckpoint,
} from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Findings, RowName } from "./findings.ts";
import type { SignatureChecks } from "./signature-checks.ts";

export interface StatedCertificate {
  readonly rootHash: Uint8Array;
  /** Unix seconds, as text: a damaged one may be anything. */
  readonly certifiedAtS: string;
  readonly trustRootVersion: string;
  /** null: the stored bytes cannot be decoded. */
  readonly cosignatures: readonly Cosignature[] | null;
}

export interface CertificateInput {
  readonly certificate: StatedCertificate;
  /** Its tree has the size in the certificate. */
  readonly origin: WalkedOrigin;
  /** Sequence of the leaf that completes the tree. */
  readonly at: number;
}

/** Judges certificates; their signatures are judged with all others. */
export class CertificateChecks {
  readonly #findings: Findings;
  readonly #signatures: SignatureChecks;
  readonly #walk: LeafWalk;
  /** By the hex of the fingerprint: the newest certificate of a tree that is whole. */
  readonly #certifiedSizes = new Map<string, number>();

  constructor(findings: Findings, signatures: SignatureChecks, walk: LeafWalk) {
    this.#findings = findings;
    this.#signatures = signatures;
    this.#walk = walk;
  }

  /** Size of the newest certificate of an origin; 0: it has none. */
  certifiedSizeOf({ originFingerprint }: WalkedOrigin): number {
    return this.#certifiedSizes.get(bytesToHex(originFingerprint)) ?? 0;
  }

  judge({ certificate, origin, at }: CertificateInput): void {
    const { size: treeSize } = origin.frontier;
    const { originFingerprint } = origin;
    const judgedBy = judgingVersion(origin);
    const hex = bytesToHex(originFingerprint);
    const key = `origin ${hex}, tree_size ${treeSize}`;
    const name: RowName = { table: "state.certificates", key, at };
    const rootHash = this.#walk.rootOf(origin);
    this.#findings.checked.certificates += 1;
    if (rootHash === null) return;
    this.#certifiedSizes.set(hex, treeSize);
    this.#findings.compare(
      name,
      { root_hash: certificate.rootHash, trust_root_version: certificate.trustRootVersion },
      { root_hash: rootHash, trust_root_version: judgedBy },
    );
    const root = this.#walk.version(judgedBy)?.trustRoot;
    if (root === undefined || !equalBytes(certificate.rootHash, rootHash)) return;
    if (certificate.cosignatures === null) {
      this.#findings.add(name, "cosignatures", "what cannot be decoded", "cosignatures");
      return;
    }
    const checkpointName = checkpointOrigin(root.clusterName, originFingerprint);
    const text = formatCheckpoint({ origin: checkpointName, treeSize, rootHash });
    this.#judgeCosignatures(name, { ...certificate, cosignatures: certificate.cosignatures }, root, text);
  }

  #judgeCosignatures(
    name: RowName,
    { cosignatures, certifiedAtS }: StatedCertificate & { readonly cosignatures: readonly Cosignature[] },
    root: TrustRoot,
    text: string,
  ): void {
    let before = "";
    for (const { nodeId, timeS, signature } of cosignatures) {
      const node = root.nodes.find((each) => each.nodeId === nodeId);
      if (node?.status !== "active") {
        this.#findings.add(name, "cosignatures", `a line of ${nodeId}`, "lines of nodes that were active");
        continue;
      }
      if (nodeId <= before) this.#findings.add(name, "cosignatures", `${nodeId} after ${before}`, "each node once");
      before = nodeId;
      const { publicKey } = node.cosignerVkey;
      this.#signatures.add({ publicKey, message: cosignatureMessage(timeS, text), signature }, (isGood) => {
        if (isGood) return;
        this.#findings.add(name, "cosignatures", `a line of ${nodeId} that is no signature`, "its signature");
      });
    }
    const times = cosignatures.map(({ timeS }) => timeS).sort((a, b) => a - b);
    const kth = times[root.quorum - 1];
    if (kth === undefined) {
      this.#findings.add(name, "cosignatures", `${cosignatures.length} lines`, `${root.quorum} lines`);
    } else this.#findings.compare(name, { certified_at_s: certifiedAtS }, { certified_at_s: kth });
  }
}
