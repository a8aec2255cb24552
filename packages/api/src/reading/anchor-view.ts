/** Turns stored leaves into what an answer shows of them. */
import { anchorToJson } from "@event-anchoring/api-contract";
import type { AnchorJson, ClientEvent, FinalityName, ReceiptAnswer } from "@event-anchoring/api-contract";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import type { RecordState } from "@event-anchoring/records";
import { decodeLeaf, equalBytes, proveInclusion, receiptToJson, subtreesForInclusion } from "@event-anchoring/protocol";
import type { AnchorId, Receipt, Sha256 } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import type { Caller } from "../access/auth.ts";
import { RefusedError } from "../control-plane/control-plane.ts";
import { problemError } from "../request/problem-error.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** A committed anchor with the newest certificate of its origin, and the proof that this covers it. */
export interface ProvedAnchor {
  readonly anchor: StoredAnchor;
  readonly certificate: ShownCertificate;
  readonly receipt: Receipt;
}

/** For an event that never had an id: there is nothing to hide. */
const NO_CLIENT_EVENT: ClientEvent = { clientEventId: null, clientEventSalt: null, isErased: false };

/** Who sees the client event id that an API client has given: that client, and `admin`. */
export function seesClientEventsOf(apiClientId: Uint8Array, caller: Caller): boolean {
  return caller.isAdmin || equalBytes(apiClientId, caller.credential.apiClientId);
}

/** null: not shown. */
function visibleClientEvent({ clientEvent }: VisibleAnchor, caller: Caller): ClientEvent | null {
  if (clientEvent === null) return NO_CLIENT_EVENT;
  if (!seesClientEventsOf(clientEvent.apiClientId, caller)) return null;
  const { clientEventId, salt: clientEventSalt, isErased } = clientEvent;
  return { clientEventId, clientEventSalt, isErased };
}

/** What an answer shows of an anchor besides its leaf. */
export interface AnchorShowing {
  readonly finality: FinalityName;
  readonly caller: Caller;
  /** The state of a claim or a grant; null for every other kind. */
  readonly state: RecordState | null;
}

/** What of a stored anchor is shown. */
export type VisibleAnchor = Pick<StoredAnchor, "anchorId" | "bytes" | "clientEvent">;

export function storedAnchorToJson(anchor: VisibleAnchor, { finality, caller, state }: AnchorShowing): AnchorJson {
  const leaf = decodeLeaf(anchor.bytes);
  const clientEvent = visibleClientEvent(anchor, caller);
  return anchorToJson({ leaf, anchorId: anchor.anchorId, finality, clientEvent, state });
}

/** A copy whose list can be written to: the wire types are those of the schemas. */
export function receiptAnswer(
  receipt: Receipt,
  certificate: Pick<ShownCertificate, "trustRootVersion">,
  sha256: Sha256,
): ReceiptAnswer {
  const json = receiptToJson(receipt, certificate.trustRootVersion, sha256);
  return { ...json, inclusion: [...json.inclusion] };
}

/** Those of the ids that exist; from here on every snapshot of the read reaches all of its certificates. */
export async function loadAnchors(read: ConsistentRead, ids: readonly AnchorId[]): Promise<StoredAnchor[]> {
  const [{ anchors }] = await Promise.all([read.select((reads) => reads.anchors(ids)), read.origins()]);
  return anchors.filter((anchor) => anchor !== null);
}

/** Whether its origin is lost: a leaf that no certificate covers by then will never be covered. */
export async function isOfLostOrigin(
  read: ConsistentRead,
  { originFingerprint }: Pick<StoredAnchor, "originFingerprint">,
): Promise<boolean> {
  const origins = await read.origins();
  return origins.some((head) => head.status === "lost" && equalBytes(head.originFingerprint, originFingerprint));
}

/**
 * The certificate rule makes null impossible while certification works, for anchors of origins that are not lost.
 * @throws ProblemError `origin_lost`; RefusedError `certification_stalled`
 */
export async function assertProved(
  read: ConsistentRead,
  anchor: StoredAnchor,
  proved: ProvedAnchor | null | undefined,
): Promise<ProvedAnchor> {
  if (proved !== null && proved !== undefined) return proved;
  if (await isOfLostOrigin(read, anchor)) throw problemError("origin_lost");
  throw new RefusedError("certification_stalled", "an applied anchor has no certificate");
}

/**
 * Proves anchors of any number and origin under the newest certificates of the read, in one round trip.
 * @returns parallel to `anchors`; null for an anchor that its origin's certificate does not cover
 */
export async function proveAnchors(
  read: ConsistentRead,
  anchors: readonly StoredAnchor[],
  sha256: Sha256,
): Promise<(ProvedAnchor | null)[]> {
  const covered = anchors.map((anchor) => {
    const certificate = read.certificateOf(anchor.originFingerprint);
    return certificate === null || anchor.depth >= certificate.treeSize ? null : { anchor, certificate };
  });
  const wanted = covered
    .filter((pair) => pair !== null)
    .map(({ anchor, certificate }) => ({
      originFingerprint: anchor.originFingerprint,
      subtrees: subtreesForInclusion(anchor.depth, certificate.treeSize),
    }));
  if (wanted.length === 0) return covered.map(() => null);
  const hashes = await read.select((reads) => reads.proofHashes(wanted));
  return covered.map((pair) => {
    if (pair === null) return null;
    const { anchor, certificate } = pair;
    const { treeSize, checkpoint } = certificate;
    const path = proveInclusion(anchor.depth, treeSize, hashes.hashAt(anchor.originFingerprint), sha256);
    return { anchor, certificate, receipt: { leaf: anchor.bytes, index: anchor.depth, treeSize, path, checkpoint } };
  });
}
