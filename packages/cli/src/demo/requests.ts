/**
 * The bodies that the demo sends. Everything is signed here, on the client's side: the service sees public keys and
 * signatures. docs/PROTOCOL.md, "What parties sign".
 */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  REVOCATION_REASONS,
  ZERO_32,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;

/** SHA-256 of a text. What is anchored are hashes: the text itself stays with the client. */
export function hashOf(text: string): Uint8Array {
  return sha256(utf8ToBytes(text));
}

export interface ClaimRequest {
  /** 64 hex digits, as /healthz says it. */
  readonly origin: string;
  readonly entityFingerprint: Uint8Array;
  readonly attributeType: number;
  readonly attributeHash: Uint8Array;
  /** Unix milliseconds. */
  readonly issuedAt: number;
  readonly subject: Signer;
  readonly issuer: Signer;
}

/** The subject signs first; the issuer signs that, and the subject's signature. */
export function claimBody(request: ClaimRequest): object {
  const { origin, entityFingerprint, attributeType, attributeHash, issuedAt, subject, issuer } = request;
  const payload = claimPayload({
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    entityFingerprint,
    attributeType,
    attributeHash,
    issuedAt,
    expiresAt: 0,
    subjectPublicKey: subject.publicKey,
    issuerPublicKey: issuer.publicKey,
  });
  const subjectSignature = subject.sign(payload);
  const issuerSignature = issuer.sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return {
    origin_fingerprint: origin,
    entity_fingerprint: bytesToHex(entityFingerprint),
    attribute_type: attributeType,
    attribute_hash: bytesToHex(attributeHash),
    issued_at: issuedAt,
    subject_public_key: bytesToHex(subject.publicKey),
    subject_signature: bytesToHex(subjectSignature),
    issuer_public_key: bytesToHex(issuer.publicKey),
    issuer_signature: bytesToHex(issuerSignature),
  };
}

export interface GrantRequest {
  readonly origin: string;
  /** Anchor ids, 64 hex digits. */
  readonly grantorClaim: string;
  readonly granteeClaim: string;
  readonly scopeHash: Uint8Array;
  readonly delegationDepth: number;
  /** Unix milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly grantor: Signer;
  readonly witness: Signer;
}

/** The grantor signs first; the witness signs that, and the grantor's signature. */
export function grantBody(request: GrantRequest): object {
  const { origin, grantorClaim, granteeClaim, scopeHash, delegationDepth, issuedAt, expiresAt } = request;
  const { grantor, witness } = request;
  const payload = grantPayload({
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    grantorClaimRef: toAnchorId(hexToBytes(grantorClaim, 32)),
    granteeClaimRef: toAnchorId(hexToBytes(granteeClaim, 32)),
    parentGrantRef: toAnchorId(ZERO_32),
    scopeHash,
    delegationDepth,
    issuedAt,
    notBefore: 0,
    expiresAt,
    grantorPublicKey: grantor.publicKey,
    witnessPublicKey: witness.publicKey,
  });
  const grantorSignature = grantor.sign(payload);
  const witnessSignature = witness.sign(grantWitnessPayload(payload, grantorSignature, sha256));
  return {
    origin_fingerprint: origin,
    grantor_claim_ref: grantorClaim,
    grantee_claim_ref: granteeClaim,
    scope_hash: bytesToHex(scopeHash),
    delegation_depth: delegationDepth,
    issued_at: issuedAt,
    expires_at: expiresAt,
    grantor_public_key: bytesToHex(grantor.publicKey),
    grantor_signature: bytesToHex(grantorSignature),
    witness_public_key: bytesToHex(witness.publicKey),
    witness_signature: bytesToHex(witnessSignature),
  };
}

export interface EventRequest {
  readonly origin: string;
  readonly eventHash: Uint8Array;
  /** Anchor ids, 64 hex digits. */
  readonly claim: string;
  readonly grant: string;
  readonly clientEventId: string;
  readonly actor: Signer;
}

/** A signed event: the actor proves that it acted. */
export function eventBody(request: EventRequest): object {
  const { origin, eventHash, claim, grant, clientEventId, actor } = request;
  const payload = eventActorPayload({
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    eventHash,
    semanticAnchor: {
      ...EMPTY_SEMANTIC_ANCHOR,
      irisRef: hexToBytes(claim, 32),
      grantRef: hexToBytes(grant, 32),
      eventDataHash: eventHash,
    },
  });
  return {
    origin_fingerprint: origin,
    event_hash: bytesToHex(eventHash),
    semantic_anchor: { iris_ref: claim, grant_ref: grant, event_data_hash: bytesToHex(eventHash) },
    client_event_id: clientEventId,
    actor_public_key: bytesToHex(actor.publicKey),
    actor_signature: bytesToHex(actor.sign(payload)),
  };
}

export interface RevocationRequest {
  /** Of the target. */
  readonly origin: string;
  readonly target: string;
  readonly reason: (typeof REVOCATION_REASONS)[number];
  /** Unix milliseconds. */
  readonly issuedAt: number;
  readonly revoker: Signer;
}

export function revocationBody({ origin, target, reason, issuedAt, revoker }: RevocationRequest): object {
  const payload = revocationPayload({
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    targetAnchorId: toAnchorId(hexToBytes(target, 32)),
    reason: REVOCATION_REASONS.indexOf(reason),
    suspectSince: 0,
    issuedAt,
  });
  return {
    origin_fingerprint: origin,
    reason,
    issued_at: issuedAt,
    revoker_public_key: bytesToHex(revoker.publicKey),
    revoker_signature: bytesToHex(revoker.sign(payload)),
  };
}
