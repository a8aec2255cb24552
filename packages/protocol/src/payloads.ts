/** The exact bytes each party signs, one tag each. docs/PROTOCOL.md, "What parties sign". */
import { concatBytes } from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";
import { ByteWriter } from "./encoding.ts";
import type { OriginFingerprint } from "./ids.ts";
import { writeSemanticHashes } from "./leaf.ts";
import type { ClaimBody, EventBody, GrantBody, RevocationBody } from "./leaf.ts";
import { tag } from "./tags.ts";

export type ClaimContent = { readonly originFingerprint: OriginFingerprint } & Omit<
  ClaimBody,
  "subjectSignature" | "issuerSignature"
>;

export type GrantContent = { readonly originFingerprint: OriginFingerprint } & Omit<
  GrantBody,
  "grantorSignature" | "witnessSignature"
>;

/** `originFingerprint` is that of the *target's* origin, wherever the leaf itself goes. */
export type RevocationContent = { readonly originFingerprint: OriginFingerprint } & Pick<
  RevocationBody,
  "targetAnchorId" | "reason" | "suspectSince" | "issuedAt"
>;

export type EventContent = { readonly originFingerprint: OriginFingerprint } & Pick<
  EventBody,
  "eventHash" | "semanticAnchor"
>;

/** What the subject of a claim signs: 207 bytes. */
export function claimPayload(claim: ClaimContent): Uint8Array {
  return new ByteWriter(207)
    .bytes(tag("claim"))
    .bytes(claim.originFingerprint, 32)
    .bytes(claim.entityFingerprint, 32)
    .u32(claim.attributeType)
    .bytes(claim.attributeHash, 32)
    .u64(claim.issuedAt)
    .u64(claim.expiresAt)
    .bytes(claim.subjectPublicKey, 32)
    .bytes(claim.issuerPublicKey, 32)
    .finish();
}

/** What the issuer of a claim signs, once the subject has signed: 130 bytes. */
export function claimIssuerPayload(payload: Uint8Array, subjectSignature: Uint8Array, sha256: Sha256): Uint8Array {
  return secondSignerPayload("claim-issuer", payload, subjectSignature, sha256);
}

/** What the grantor signs: 279 bytes. */
export function grantPayload(grant: GrantContent): Uint8Array {
  return new ByteWriter(279)
    .bytes(tag("grant"))
    .bytes(grant.originFingerprint, 32)
    .bytes(grant.grantorClaimRef, 32)
    .bytes(grant.granteeClaimRef, 32)
    .bytes(grant.parentGrantRef, 32)
    .bytes(grant.scopeHash, 32)
    .u32(grant.delegationDepth)
    .u64(grant.issuedAt)
    .u64(grant.notBefore)
    .u64(grant.expiresAt)
    .bytes(grant.grantorPublicKey, 32)
    .bytes(grant.witnessPublicKey, 32)
    .finish();
}

/** What the witness of a grant signs, once the grantor has signed: 131 bytes. */
export function grantWitnessPayload(payload: Uint8Array, grantorSignature: Uint8Array, sha256: Sha256): Uint8Array {
  return secondSignerPayload("grant-witness", payload, grantorSignature, sha256);
}

function secondSignerPayload(
  name: "claim-issuer" | "grant-witness",
  payload: Uint8Array,
  firstSignature: Uint8Array,
  sha256: Sha256,
): Uint8Array {
  if (firstSignature.length !== 64) throw new RangeError("the first signature has 64 bytes");
  return concatBytes(tag(name), sha256(payload), firstSignature);
}

/** What a revoker signs: 113 bytes. */
export function revocationPayload(revocation: RevocationContent): Uint8Array {
  return new ByteWriter(113)
    .bytes(tag("revocation"))
    .bytes(revocation.originFingerprint, 32)
    .bytes(revocation.targetAnchorId, 32)
    .u8(revocation.reason)
    .u64(revocation.suspectSince)
    .u64(revocation.issuedAt)
    .finish();
}

/** What the actor of a signed event signs: 289 bytes. */
export function eventActorPayload(event: EventContent): Uint8Array {
  const writer = new ByteWriter(289)
    .bytes(tag("event-actor"))
    .bytes(event.originFingerprint, 32)
    .bytes(event.eventHash, 32);
  return writeSemanticHashes(writer, event.semanticAnchor).finish();
}
