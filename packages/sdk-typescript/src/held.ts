/** Holds an answer against what was asked for or sent. What contradicts itself, a reader has refused before. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import type { Anchor } from "./anchors.ts";
import type { ConsistencyAnswer, EventList, LatestAnchor } from "./answers.ts";
import type { ClaimHistory, VerifiedBatch } from "./authority-answers.ts";
import { UnexpectedAnswer, VerificationError } from "./errors.ts";
import { hex32 } from "./inputs.ts";
import type { AnchorToVerify } from "./query-inputs.ts";
import { leafOf } from "./shown-leaf.ts";
import { checkpointIn } from "./signed-note.ts";
import { verifyConsistency } from "./verify-checkpoint.ts";

/** What was sent. */
export interface LeafExpectation {
  isRecordedBy(leaf: Leaf): boolean;
}

/** @throws VerificationError `anchor_id_differs` */
export function holdId(anchor: Anchor, asked: string): void {
  if (anchor.anchorId === asked) return;
  throw new VerificationError("anchor_id_differs", `the answer is about ${anchor.anchorId}, not ${asked}`);
}

/** @throws VerificationError `origin_differs` */
export function holdOrigin(originFingerprint: string, asked: string | null): void {
  if (asked === null || originFingerprint === asked) return;
  throw new VerificationError("origin_differs", `the answer is about origin ${originFingerprint}`);
}

/** @throws VerificationError `content_differs` */
export function holdContent(isAsked: boolean): void {
  if (!isAsked) throw new VerificationError("content_differs", "the answer is about something else than was asked for");
}

/** @throws VerificationError `content_differs` */
export function holdRecord(anchor: Anchor, sent: LeafExpectation): void {
  if (anchor.kind !== "unknown" && sent.isRecordedBy(leafOf(anchor))) return;
  throw new VerificationError("content_differs", "the anchor does not hold what was sent", { step: "content" });
}

/** @param filter the one query parameter, by its wire name @throws VerificationError `content_differs` */
export function holdList(list: EventList, filter: Readonly<Record<string, string>>): void {
  for (const event of list.items) {
    const shown: Readonly<Record<string, string | null | undefined>> = {
      event_hash: event.eventHash,
      iris_ref: event.semanticAnchor?.irisRef,
      grant_ref: event.semanticAnchor?.grantRef,
      client_event_id: event.clientEventId,
    };
    holdContent(Object.entries(filter).every(([name, value]) => shown[name] === value));
  }
}

/** @param filter query parameters, by their wire names @throws VerificationError `content_differs` */
export function holdClaims(
  list: ClaimHistory,
  { entity_fingerprint: entity, attribute_type: type }: Readonly<Record<string, string | number>>,
): void {
  for (const { anchor } of list.items) {
    holdContent(anchor.entityFingerprint === entity && (type === undefined || anchor.attributeType === type));
  }
}

/** One verdict for each anchor, in their order. @throws VerificationError `content_differs` */
export function holdBatch({ results }: VerifiedBatch, anchors: readonly AnchorToVerify[]): void {
  holdContent(
    results.length === anchors.length &&
      results.every((result, at) => result.anchorId === hex32("anchorId", anchors[at]?.anchorId)),
  );
}

function isOneTree(latest: LatestAnchor): boolean {
  const { anchor, treeSize, originFingerprint } = latest;
  const checkpoint = checkpointIn(latest.checkpoint);
  return (
    checkpoint !== null &&
    anchor.depth === treeSize - 1 &&
    latest.depth === anchor.depth &&
    anchor.originFingerprint === originFingerprint &&
    latest.receipt.treeSize === treeSize &&
    checkpoint.treeSize === treeSize &&
    checkpoint.origin.endsWith(`/origin/${originFingerprint}`) &&
    bytesToHex(checkpoint.rootHash) === latest.rootHash
  );
}

/** The parts of an EEA are about one tree, and its anchor is the last leaf of it. @throws UnexpectedAnswer */
export function holdLatest(latest: LatestAnchor, requestId: string): void {
  if (isOneTree(latest)) return;
  throw new UnexpectedAnswer("the parts of the answer are not about one tree", { requestId });
}

/** The sizes are those that were asked for, and the proof leads from one to the other. @throws VerificationError */
export function holdConsistency({ from, to, proof }: ConsistencyAnswer, fromSize: number, toSize: number | null): void {
  if (from.treeSize !== fromSize || (toSize !== null && to.treeSize !== toSize)) {
    throw new VerificationError("consistency_wrong", "the proof is about other trees than was asked for");
  }
  verifyConsistency(from, to, proof);
}
