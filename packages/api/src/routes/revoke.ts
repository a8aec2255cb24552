/** POST /v1/claim-anchors/{anchor_id}/revoke and POST /v1/grant-anchors/{anchor_id}/revoke. */
import { anchorPathSchema, parseBody, parsePath, revokeSchema } from "@event-anchoring/api-contract";
import type { RevokeRequest, RevokedAnswer } from "@event-anchoring/api-contract";
import type { RecordRevocationCommand } from "@event-anchoring/ledger";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import type { Caller } from "../access/auth.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import { createdJson, createdStatus, locationOf } from "./created-answer.ts";
import { recordOne } from "./record.ts";

type TargetKind = "claim" | "grant";

/**
 * A signature is an authority of its own; without one the API key needs the scope. The ledger applies the same rule.
 */
function assertMayRevoke({ scopes }: Caller, { signer }: RevokeRequest): void {
  const isEnough = scopes.includes("revoke") || (signer !== null && scopes.includes("write"));
  if (!isEnough) throw problemError("scope_missing");
}

/**
 * What a revoker signs names the target's origin, so it is read first. An anchor never changes and is never deleted.
 */
async function originOfTarget(
  targetAnchorId: AnchorId,
  kind: TargetKind,
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<OriginFingerprint> {
  const read = await ConsistentRead.begin(dependencies, "none", request.deadline);
  const { anchors } = await read.select((reads) => reads.anchors([targetAnchorId]));
  const [target] = anchors;
  if (target === undefined || target === null) throw problemError("anchor_not_found");
  if (target.kind !== LEAF_KIND[kind]) throw problemError("wrong_kind");
  return target.originFingerprint;
}

function revoking(targetKind: TargetKind): Handler {
  return async (request, dependencies) => {
    const { anchorId: targetAnchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
    const body = parsed(parseBody(revokeSchema, bodyTextOf(request)));
    const caller = callerOf(request);
    assertMayRevoke(caller, body);
    const targetOriginFingerprint = await originOfTarget(targetAnchorId, targetKind, request, dependencies);
    const command: RecordRevocationCommand = {
      kind: "record_revocation",
      credential: caller.credential,
      revocation: { ...body, targetKind, targetAnchorId, targetOriginFingerprint },
    };
    const created = await recordOne(request, dependencies, command);
    const { anchor, receipt, replayed } = createdJson(created, dependencies.crypto.sha256);
    const json: RevokedAnswer = { anchor, revoked_anchor_id: bytesToHex(targetAnchorId), receipt, replayed };
    const { isWitnessed = false } = created;
    return { status: createdStatus(created), isWitnessed, json, headers: locationOf(created) };
  };
}

export const revokeClaimAnchor: Handler = revoking("claim");

export const revokeGrantAnchor: Handler = revoking("grant");
