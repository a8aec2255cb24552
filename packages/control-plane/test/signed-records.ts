/** Claims, grants, revocations and events that somebody has signed, as commands. */
import type {
  ClaimInput,
  Command,
  Credential,
  EventInput,
  GrantInput,
  RevocationInput,
  Signer as SignedBy,
} from "@event-anchoring/ledger";
import { type Signer, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  type AnchorId,
  type OriginFingerprint,
  type SemanticAnchor,
  ZERO_32,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  revocationPayload,
  toAnchorId,
  utf8ToBytes,
} from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;

const signers = new Map<string, Signer>();

/** The same person every time. */
export function signerOf(name: string): Signer {
  const known = signers.get(name) ?? createSigner(sha256(utf8ToBytes(`signer ${name}`)));
  signers.set(name, known);
  return known;
}

function hashOf(name: string): Uint8Array {
  return sha256(utf8ToBytes(name));
}

/** Turns one bit. */
export function forged(signature: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(signature);
  copy[40] = (copy[40] ?? 0) ^ 1;
  return copy;
}

/** The claim that this is the key of somebody's name, issued by the registrar. */
export function claimOf(originFingerprint: OriginFingerprint, subject: string, issuedAt = 0): ClaimInput {
  const holder = signerOf(subject);
  const issuer = signerOf("registrar");
  const content = {
    originFingerprint,
    entityFingerprint: hashOf(`entity ${subject}`),
    attributeType: 1,
    attributeHash: hashOf(`attribute ${subject}`),
    issuedAt,
    expiresAt: 0,
    subjectPublicKey: holder.publicKey,
    issuerPublicKey: issuer.publicKey,
  };
  const payload = claimPayload(content);
  const subjectSignature = holder.sign(payload);
  const issuerSignature = issuer.sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return { ...content, subjectSignature, issuerSignature };
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
  const grantor = signerOf(plan.grantor);
  const witness = signerOf("notary");
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
    grantorPublicKey: grantor.publicKey,
    witnessPublicKey: witness.publicKey,
  };
  const payload = grantPayload(content);
  const grantorSignature = grantor.sign(payload);
  const witnessSignature = witness.sign(grantWitnessPayload(payload, grantorSignature, sha256));
  return { ...content, grantorSignature, witnessSignature };
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
  const { publicKey, sign } = signerOf(signer);
  const message = revocationPayload({ ...content, originFingerprint: target.originFingerprint });
  return { ...content, signer: { publicKey, signature: sign(message) } };
}

/** An event that its actor has signed. */
export function signedEventOf(
  originFingerprint: OriginFingerprint,
  actor: string,
  references: Partial<SemanticAnchor> = {},
): EventInput {
  const { publicKey, sign } = signerOf(actor);
  const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, ...references };
  const content = { originFingerprint, eventHash: hashOf(`act of ${actor}`), semanticAnchor };
  const signedBy: SignedBy = { publicKey, signature: sign(eventActorPayload(content)) };
  return { ...content, clientEventId: null, clientEventSalt: null, actor: signedBy };
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
