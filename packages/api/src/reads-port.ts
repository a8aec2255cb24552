import type { Reads } from "@event-anchoring/store";

/** What the handlers read of the node's tables. Every result says the applied index of the snapshot it comes from. */
export type AnchorReads = Pick<
  Reads,
  | "anchors"
  | "anchorsOfOrigin"
  | "anchorsBySequence"
  | "clientEvent"
  | "eventsBy"
  | "records"
  | "newestClaim"
  | "grantsBetween"
  | "grantsTo"
  | "revocationsOf"
  | "proofHashes"
  | "tileHashes"
  | "latestCertificate"
  | "position"
  | "sequenceAtOrBefore"
  | "acceptedMsOf"
  | "trustRoots"
  | "origins"
  | "apiKeys"
>;

export interface AtIndex {
  readonly appliedIndex: number;
}
