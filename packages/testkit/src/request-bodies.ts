/** What is to be recorded, as the JSON of a request. */
import { REVOCATION_REASONS, bytesToHex, isEmptySemanticAnchor, isZero } from "@event-anchoring/protocol";
import type { ClaimInput, EventInput, GrantInput, RevocationInput, Signer } from "@event-anchoring/ledger";

export type JsonBody = Readonly<Record<string, unknown>>;

function hexOrNull(bytes: Uint8Array): string | null {
  return isZero(bytes) ? null : bytesToHex(bytes);
}

export function claimBody(claim: ClaimInput): JsonBody {
  return {
    origin_fingerprint: bytesToHex(claim.originFingerprint),
    entity_fingerprint: bytesToHex(claim.entityFingerprint),
    attribute_type: claim.attributeType,
    attribute_hash: bytesToHex(claim.attributeHash),
    subject_public_key: bytesToHex(claim.subjectPublicKey),
    subject_signature: bytesToHex(claim.subjectSignature),
    issuer_public_key: bytesToHex(claim.issuerPublicKey),
    issuer_signature: bytesToHex(claim.issuerSignature),
    issued_at: claim.issuedAt,
    expires_at: claim.expiresAt,
  };
}

export function grantBody(grant: GrantInput): JsonBody {
  return {
    origin_fingerprint: bytesToHex(grant.originFingerprint),
    grantor_claim_ref: bytesToHex(grant.grantorClaimRef),
    grantee_claim_ref: bytesToHex(grant.granteeClaimRef),
    parent_grant_ref: hexOrNull(grant.parentGrantRef),
    scope_hash: bytesToHex(grant.scopeHash),
    delegation_depth: grant.delegationDepth,
    grantor_public_key: bytesToHex(grant.grantorPublicKey),
    grantor_signature: bytesToHex(grant.grantorSignature),
    witness_public_key: bytesToHex(grant.witnessPublicKey),
    witness_signature: bytesToHex(grant.witnessSignature),
    issued_at: grant.issuedAt,
    not_before: grant.notBefore,
    expires_at: grant.expiresAt,
  };
}

type RevocationContent = Pick<RevocationInput, "originFingerprint" | "reason" | "suspectSince" | "issuedAt" | "signer">;

export function revocationBody(revocation: RevocationContent): JsonBody {
  const { originFingerprint, reason, suspectSince, issuedAt, signer } = revocation;
  return {
    ...(originFingerprint === null ? {} : { origin_fingerprint: bytesToHex(originFingerprint) }),
    reason: REVOCATION_REASONS[reason] ?? String(reason),
    suspect_since: suspectSince,
    issued_at: issuedAt,
    ...signerBody("revoker", signer),
  };
}

export function eventBody(event: Omit<EventInput, "clientEventSalt">): JsonBody {
  const { semanticAnchor: anchor, clientEventId } = event;
  return {
    origin_fingerprint: bytesToHex(event.originFingerprint),
    event_hash: bytesToHex(event.eventHash),
    ...(isEmptySemanticAnchor(anchor)
      ? {}
      : {
          semantic_anchor: {
            iris_ref: hexOrNull(anchor.irisRef),
            scroll_ref: hexOrNull(anchor.scrollRef),
            grant_ref: hexOrNull(anchor.grantRef),
            bond_ref: hexOrNull(anchor.bondRef),
            yield_ref: hexOrNull(anchor.yieldRef),
            event_data_hash: hexOrNull(anchor.eventDataHash),
          },
        }),
    ...(clientEventId === null ? {} : { client_event_id: clientEventId }),
    ...signerBody("actor", event.actor),
  };
}

function signerBody(role: "actor" | "revoker", signer: Signer | null): JsonBody {
  if (signer === null) return {};
  return {
    [`${role}_public_key`]: bytesToHex(signer.publicKey),
    [`${role}_signature`]: bytesToHex(signer.signature),
  };
}
