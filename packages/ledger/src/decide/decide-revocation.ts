import {
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  ZERO_32,
  assertNever,
  concatBytes,
  equalBytes,
} from "@event-anchoring/protocol";
import type { RecordRevocationCommand, RevocationInput } from "../entry/command.ts";
import { revocationContentHashOf, revokerOf } from "./content-hash.ts";
import type { Asker } from "./content-hash.ts";
import {
  acceptedRecord,
  isAskers,
  judgeCredential,
  judgeIssuedAt,
  judgeOrigin,
  judgeReference,
  judgeSignatures,
  knownOrigin,
  notOwnRecord,
  recorded,
  refused,
  rejectedRecord,
  replayOf,
} from "./decide-checks.ts";
import type { DecisionDraft, OriginDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import type { ClaimRecord, GrantRecord, RevocationAuthority } from "@event-anchoring/records";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";
import { authorityOverClaim, authorityOverGrant } from "@event-anchoring/records";
import { revocationSignatures } from "../entry/command-signatures.ts";

/** The signature field of an unsigned revocation. */
const NO_SIGNATURE = concatBytes(ZERO_32, ZERO_32);

/** A claim or a grant that is to be revoked. */
type Target =
  | { readonly kind: "claim"; readonly record: ClaimRecord }
  | { readonly kind: "grant"; readonly record: GrantRecord };

function targetOf({ targetKind: kind, targetAnchorId }: RevocationInput, draft: DecisionDraft): Target {
  return kind === "claim"
    ? { kind, record: draft.claimOf(targetAnchorId) }
    : { kind, record: draft.grantOf(targetAnchorId) };
}

/** Check 2: the target decides the origin. */
function judgeTarget({ targetKind, targetAnchorId }: RevocationInput, draft: DecisionDraft): Rejection | null {
  return judgeReference(draft.earlierAnchor(targetAnchorId), LEAF_KIND[targetKind], "/anchor_id");
}

/** Check 2: a named origin is known, and is the target's unless the target's is lost. */
function judgeNamedOrigin(revocation: RevocationInput, target: Target, draft: DecisionDraft): Rejection | null {
  const { originFingerprint: named, targetOriginFingerprint } = revocation;
  const own = target.record.originFingerprint;
  const unknown = named === null ? null : judgeOrigin(named, draft);
  if (unknown !== null) return unknown;
  const isElsewhere = named !== null && !equalBytes(named, own) && knownOrigin(own, draft).status !== "lost";
  if (!isElsewhere && equalBytes(targetOriginFingerprint, own)) return null;
  return reject("origin_mismatch", "the record to be revoked is in another origin", "/origin_fingerprint");
}

/** The authority by which it is revoked; null: none. */
function authorityOf({ signer }: RevocationInput, { kind, record }: Target, asker: Asker): RevocationAuthority | null {
  if (signer === null) return isAskers(asker, record.recordedBy) ? "operator" : null;
  switch (kind) {
    case "claim":
      return authorityOverClaim(record, signer.publicKey);
    case "grant":
      return authorityOverGrant(record, signer.publicKey);
    default:
      return assertNever(kind);
  }
}

/**
 * Check 3: the signer is neither of the target's two parties; or the revocation is unsigned, and another client
 * recorded the target.
 */
function notEntitled({ signer }: RevocationInput, { kind }: Target): Rejection {
  if (signer === null) return notOwnRecord(`the ${kind}`);
  return reject("signature_invalid", `the key is none of the two of the ${kind}`, "/revoker_public_key");
}

/** Where the leaf goes: to the target's origin; if that is lost, to the one that is named. */
function destinationOf(
  { originFingerprint: named }: RevocationInput,
  target: Target,
  draft: DecisionDraft,
): OriginDraft {
  const own = knownOrigin(target.record.originFingerprint, draft);
  return own.status === "lost" && named !== null ? knownOrigin(named, draft) : own;
}

/**
 * Check 5: records of a closed origin can be revoked in it; a lost one accepts no leaf, and a closed one cannot replace
 * it.
 */
function judgeDestination(revocation: RevocationInput, target: Target, draft: DecisionDraft): Rejection | null {
  const { originFingerprint, status } = destinationOf(revocation, target, draft);
  const isOwn = equalBytes(originFingerprint, target.record.originFingerprint);
  if (status === "active" || (status === "closed" && isOwn)) return null;
  const detail = isOwn ? `the origin is ${status}: name an active one` : `the named origin is ${status}`;
  return reject("origin_closed", detail, "/origin_fingerprint");
}

/** A revocation that an API client asks for. */
export function decideRecordRevocation(
  { credential, revocation }: RecordRevocationCommand,
  draft: DecisionDraft,
): CommandOutcome {
  const scopes = revocation.signer === null ? (["revoke"] as const) : (["write", "revoke"] as const);
  const powerless = judgeCredential(credential, scopes, draft); // 1
  if (powerless !== null) return refused(powerless);
  return decideRevocation(revocation, { kind: "client", apiClientId: credential.apiClientId }, draft);
}

/**
 * A revocation ends a claim or a grant for good, from its own position on.
 * @param asker whose API key has passed, or whose act is verified
 */
export function decideRevocation(revocation: RevocationInput, asker: Asker, draft: DecisionDraft): CommandOutcome {
  const { signer, targetAnchorId, reason, suspectSince, issuedAt } = revocation;
  const { sha256 } = draft.crypto;
  const missing = judgeTarget(revocation, draft); // 2
  if (missing !== null) return rejectedRecord(missing);
  const target = targetOf(revocation, draft);
  const misplaced = judgeNamedOrigin(revocation, target, draft);
  if (misplaced !== null) return rejectedRecord(misplaced);
  const authority = authorityOf(revocation, target, asker); // 3
  if (authority === null) return rejectedRecord(notEntitled(revocation, target));
  const unproven = judgeSignatures(revocationSignatures(revocation), draft);
  if (unproven !== null) return rejectedRecord(unproven);
  const contentHash = revocationContentHashOf(revocation, asker, sha256);
  const first = draft.content(contentHash); // 4
  if (first !== null) return recorded(replayOf(first));
  const rejection =
    judgeDestination(revocation, target, draft) ?? // 5
    judgeIssuedAt(issuedAt, draft); // 7
  if (rejection !== null) return rejectedRecord(rejection);
  const { write } = draft.append(destinationOf(revocation, target, draft), (header) => ({
    kind: LEAF_KIND.revocation,
    ...header,
    targetAnchorId,
    reason,
    suspectSince,
    issuedAt,
    authority: REVOCATION_AUTHORITIES.indexOf(authority),
    revoker: revokerOf(revocation, asker, sha256).revoker,
    signature: signer?.signature ?? NO_SIGNATURE,
  }));
  draft.addContent(contentHash, write);
  draft.addRevocation(target.kind, { sequence: write.sequence, target: target.record.sequence });
  return acceptedRecord(write);
}
