/** Claims, grants, revocations and events that somebody has signed, as commands. */
import type { ClaimInput, Command, Credential, EventInput, GrantInput, RevocationInput } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  type AnchorId,
  type OriginFingerprint,
  type SemanticAnchor,
  ZERO_32,
  toAnchorId,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { partyOf, signClaim, signEvent, signGrant, signRevocation } from "@event-anchoring/testkit/records";

function hashOf(name: string): Uint8Array {
  return nodeCrypto.sha256(utf8ToBytes(name));
}

/** Turns one bit. */
export function forged(signature: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(signature);
  copy[40] = (copy[40] ?? 0) ^ 1;
  return copy;
}

/** The claim that this is the key of somebody's name, issued by the registrar. */
export function claimOf(originFingerprint: OriginFingerprint, subject: string, issuedAt = 0): ClaimInput {
  const content = {
    originFingerprint,
    entityFingerprint: hashOf(`entity ${subject}`),
    attributeType: 1,
    attributeHash: hashOf(`attribute ${subject}`),
    issuedAt,
    expiresAt: 0,
  };
  return signClaim(content, partyOf(subject), partyOf("registrar"));
}

export interface GrantPlan {
  readonly originFingerprint: OriginFingerprint;
  readonly grantor: string;
  readonly grantorClaim: AnchorId;
  readonly granteeClaim: AnchorId;
  readonly parent?: AnchorId;
  readonly delegationDepth: number;
}

/** A grant that the notary has witnessed. */
export function grantOf(plan: GrantPlan): GrantInput {
  const content = {
    originFingerprint: plan.originFingerprint,
    grantorClaimRef: plan.grantorClaim,
    granteeClaimRef: plan.granteeClaim,
    parentGrantRef: plan.parent ?? toAnchorId(ZERO_32),
    scopeHash: hashOf("scope"),
    delegationDepth: plan.delegationDepth,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
  };
  return signGrant(content, partyOf(plan.grantor), partyOf("notary"));
}

/** @param signer null: no party */
export function revocationOf(
  target: { anchorId: AnchorId; kind: "claim" | "grant"; originFingerprint: OriginFingerprint },
  signer: string | null,
): RevocationInput {
  const content = {
    targetAnchorId: target.anchorId,
    targetKind: target.kind,
    targetOriginFingerprint: target.originFingerprint,
    originFingerprint: null,
    reason: 1,
    suspectSince: 0,
    issuedAt: 0,
  } as const;
  if (signer === null) return { ...content, signer: null };
  const signed = signRevocation({ ...content, originFingerprint: target.originFingerprint }, partyOf(signer));
  return { ...content, signer: signed };
}

/** An event that its actor has signed. */
export function signedEventOf(
  originFingerprint: OriginFingerprint,
  actor: string,
  references: Partial<SemanticAnchor> = {},
): EventInput {
  const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, ...references };
  const content = { originFingerprint, eventHash: hashOf(`act of ${actor}`), semanticAnchor };
  return { ...content, clientEventId: null, clientEventSalt: null, actor: signEvent(content, partyOf(actor)) };
}

export function recordClaim(credential: Credential, claim: ClaimInput): Command {
  return { kind: "record_claim", credential, claim };
}

export function recordGrant(credential: Credential, grant: GrantInput): Command {
  return { kind: "record_grant", credential, grant };
}

export function recordRevocation(credential: Credential, revocation: RevocationInput): Command {
  return { kind: "record_revocation", credential, revocation };
}

export function recordEvents(credential: Credential, ...events: readonly EventInput[]): Command {
  return { kind: "record_events", credential, atomic: false, events };
}
