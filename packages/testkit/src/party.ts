import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  revocationPayload,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { ClaimContent, EventContent, GrantContent, RevocationContent } from "@event-anchoring/protocol";
import type { ClaimInput, GrantInput, Signer } from "@event-anchoring/ledger";

/** Who signs claims, grants, revocations and events: a subject, an issuer, a grantor, a witness. */
export interface Party {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly publicKeyHex: string;
  /** @returns 64 bytes */
  sign(message: Uint8Array): Uint8Array;
}

/** The same label is always the same key. */
export function partyOf(label: string): Party {
  const signer = createSigner(nodeCrypto.sha256(utf8ToBytes(`party ${label}`)));
  return { ...signer, publicKeyHex: bytesToHex(signer.publicKey) };
}

/** A claim that both of its parties have signed, the subject first. */
export function signClaim(content: Unkeyed<ClaimContent>, subject: Party, issuer: Party): ClaimInput {
  const claim = { ...content, subjectPublicKey: subject.publicKey, issuerPublicKey: issuer.publicKey };
  const payload = claimPayload(claim);
  const subjectSignature = subject.sign(payload);
  const issuerSignature = issuer.sign(claimIssuerPayload(payload, subjectSignature, nodeCrypto.sha256));
  return { ...claim, subjectSignature, issuerSignature };
}

/** A grant that both of its parties have signed, the grantor first. */
export function signGrant(content: Unkeyed<GrantContent>, grantor: Party, witness: Party): GrantInput {
  const grant = { ...content, grantorPublicKey: grantor.publicKey, witnessPublicKey: witness.publicKey };
  const payload = grantPayload(grant);
  const grantorSignature = grantor.sign(payload);
  const witnessSignature = witness.sign(grantWitnessPayload(payload, grantorSignature, nodeCrypto.sha256));
  return { ...grant, grantorSignature, witnessSignature };
}

/** @param content names the origin of the record that is revoked */
export function signRevocation(content: RevocationContent, revoker: Party): Signer {
  return { publicKey: revoker.publicKey, signature: revoker.sign(revocationPayload(content)) };
}

export function signEvent(content: EventContent, actor: Party): Signer {
  return { publicKey: actor.publicKey, signature: actor.sign(eventActorPayload(content)) };
}

/** What is to be signed, before it says who signs. */
type Unkeyed<Content> = Omit<Content, "subjectPublicKey" | "issuerPublicKey" | "grantorPublicKey" | "witnessPublicKey">;
