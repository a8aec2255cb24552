/** What lists of anchors have in common: how far they reach, and where they end for now. */
import type { EventListAnswer, FinalityName } from "@event-anchoring/api-contract";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { StoredAnchor, StoredOriginHead } from "@event-anchoring/store";
import type { ConsistentRead } from "./consistent-read.ts";

function isCertified(read: ConsistentRead, { originFingerprint, depth }: StoredAnchor): boolean {
  const certificate = read.certificateOf(originFingerprint);
  return certificate !== null && depth < certificate.treeSize;
}

export function finalityOf(read: ConsistentRead, anchor: StoredAnchor): FinalityName {
  return isCertified(read, anchor) ? "certified" : "committed";
}

/**
 * Tables may be a moment ahead of certificates: the list ends before the first anchor that no certificate covers yet.
 * It continues after one that none will ever cover because its origin is lost.
 */
export function settledPart(
  read: ConsistentRead,
  anchors: readonly StoredAnchor[],
  origins: readonly StoredOriginHead[],
): readonly StoredAnchor[] {
  const lost = origins.filter(({ status }) => status === "lost").map(({ originFingerprint }) => originFingerprint);
  const end = anchors.findIndex(
    (anchor) => !isCertified(read, anchor) && !lost.some((origin) => equalBytes(origin, anchor.originFingerprint)),
  );
  return end < 0 ? anchors : anchors.slice(0, end);
}

export function certifiedSizes(
  read: ConsistentRead,
  origins: readonly StoredOriginHead[],
): EventListAnswer["certified"] {
  return origins.map(({ originFingerprint }) => ({
    origin_fingerprint: bytesToHex(originFingerprint),
    tree_size: read.certificateOf(originFingerprint)?.treeSize ?? 0,
  }));
}
