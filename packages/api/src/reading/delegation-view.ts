/** What an answer shows of a delegation and of its revocations. */
import { LIMITS, anchorToJson, formatDelegationCursor } from "@event-anchoring/api-contract";
import type { AnchorJson, TraceAnswer, VerifiedClaimAnswer } from "@event-anchoring/api-contract";
import type { AsOf, LoadedLeaf, RecordState, ShownRecord, TracedDelegation } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import type { ConsistentRead } from "./consistent-read.ts";

/**
 * An anchor of the delegation: a claim, a grant or a revocation, which have no field that only some callers may see.
 */
export function recordToJson(read: ConsistentRead, loaded: LoadedLeaf, state: RecordState | null): AnchorJson {
  const leaf = decodeLeaf(loaded.bytes);
  const certificate = read.certificateOf(leaf.originFingerprint);
  const finality = certificate !== null && leaf.depth < certificate.treeSize ? "certified" : "committed";
  return anchorToJson({ leaf, anchorId: loaded.anchorId, finality, clientEvent: null, state });
}

/** All that were judged, shown or not. */
export function hopsOf({ hops, omitted }: TracedDelegation): number {
  return hops.length + omitted;
}

type DelegationJson = Pick<TraceAnswer, "delegation" | "delegation_omitted" | "delegation_next_cursor">;

/**
 * One page of hops. A claim of a chain is in two of its hops, and is decoded once.
 * @param options.before hops on the pages before it
 * @param options.asOf the position at which all pages are judged
 */
export function delegationToJson(
  read: ConsistentRead,
  { hops, omitted }: TracedDelegation,
  { before, asOf }: { readonly before: number; readonly asOf: AsOf },
): DelegationJson {
  const shown = new Map<string, AnchorJson>();
  const toJson = (record: ShownRecord): AnchorJson => {
    const name = bytesToHex(record.anchorId);
    const json = shown.get(name) ?? recordToJson(read, record, record.state);
    shown.set(name, json);
    return json;
  };
  const page = hops.slice(before, before + LIMITS.traceHopsMax);
  const delegation = page.map(({ grant, grantorClaim, granteeClaim, witnessPublicKey, witnessIsGrantee }) => ({
    grant: toJson(grant),
    grantor_claim: toJson(grantorClaim),
    grantee_claim: toJson(granteeClaim),
    witness_public_key: bytesToHex(witnessPublicKey),
    witness_is_grantee: witnessIsGrantee,
  }));
  const next = before + page.length;
  return {
    delegation,
    delegation_omitted: Math.max(0, hops.length - next) + omitted,
    delegation_next_cursor:
      next < hops.length ? formatDelegationCursor({ hopsBefore: next, asOf: { kind: "position", ...asOf } }) : null,
  };
}

/** Revocations, each with what it revokes. */
export function revocationsToJson(
  read: ConsistentRead,
  revocations: readonly StoredAnchor[],
): VerifiedClaimAnswer["revocations"] {
  return revocations.flatMap((stored) => {
    const leaf = decodeLeaf(stored.bytes);
    if (leaf.kind !== LEAF_KIND.revocation) return [];
    return [{ anchor: recordToJson(read, stored, null), target_anchor_id: bytesToHex(leaf.targetAnchorId) }];
  });
}
