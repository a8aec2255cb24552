/** What parties sign, and the requests that it becomes: on the SDK, as every client makes them. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { ClaimInput, EventInput, GrantInput, RevocationInput, Signer } from "@event-anchoring/ledger";
import { REVOCATION_REASONS, bytesToHex, revocationPayload, utf8ToBytes } from "@event-anchoring/protocol";
import type { ClaimContent, EventContent, GrantContent, RevocationContent } from "@event-anchoring/protocol";
import { PreparedClaimAnchor, PreparedEventAnchor, PreparedGrantAnchor } from "@event-anchoring/sdk";
import type { PreparedRequest } from "@event-anchoring/sdk";

export type JsonBody = Readonly<Record<string, unknown>>;

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

/** Content to be signed, without the signers' keys. */
type Unkeyed<Content> = Omit<Content, "subjectPublicKey" | "issuerPublicKey" | "grantorPublicKey" | "witnessPublicKey">;

/** A claim that both of its parties have signed, the subject first. */
export function signClaim(content: Unkeyed<ClaimContent>, subject: Party, issuer: Party): ClaimInput {
  const keys = { subjectPublicKey: subject.publicKey, issuerPublicKey: issuer.publicKey };
  const prepared = new PreparedClaimAnchor({ ...content, ...keys });
  const subjectSignature = subject.sign(prepared.subjectPayload.bytes);
  const issuerSignature = issuer.sign(prepared.issuerPayload(subjectSignature).bytes);
  return { ...prepared.fields, subjectSignature, issuerSignature };
}

/** A grant that both of its parties have signed, the grantor first. */
export function signGrant(content: Unkeyed<GrantContent>, grantor: Party, witness: Party): GrantInput {
  const keys = { grantorPublicKey: grantor.publicKey, witnessPublicKey: witness.publicKey };
  const prepared = new PreparedGrantAnchor({ ...content, ...keys });
  const grantorSignature = grantor.sign(prepared.grantorPayload.bytes);
  const witnessSignature = witness.sign(prepared.witnessPayload(grantorSignature).bytes);
  return { ...prepared.fields, grantorSignature, witnessSignature };
}

/** @param content names the origin of the record that is revoked, and any number of a reason */
export function signRevocation(content: RevocationContent, revoker: Party): Signer {
  return { publicKey: revoker.publicKey, signature: revoker.sign(revocationPayload(content)) };
}

export function signEvent(content: EventContent, actor: Party): Signer {
  const prepared = new PreparedEventAnchor({ ...content, clientEventId: null, actorPublicKey: actor.publicKey });
  return { publicKey: actor.publicKey, signature: actor.sign(prepared.actorPayload.bytes) };
}

export function claimBody(claim: ClaimInput): JsonBody {
  return bodyOf(new PreparedClaimAnchor({ ...claim }), claim.subjectSignature, claim.issuerSignature);
}

export function grantBody(grant: GrantInput): JsonBody {
  return bodyOf(new PreparedGrantAnchor({ ...grant }), grant.grantorSignature, grant.witnessSignature);
}

export function eventBody({ actor, ...event }: Omit<EventInput, "clientEventSalt">): JsonBody {
  const prepared = new PreparedEventAnchor({ ...event, actorPublicKey: actor?.publicKey ?? null });
  return actor === null ? prepared.unsigned : bodyOf(prepared, actor.signature);
}

type RevocationSent = Pick<RevocationInput, "originFingerprint" | "reason" | "suspectSince" | "issuedAt" | "signer">;

/** An unknown reason is sent as its number. */
export function revocationBody(revocation: RevocationSent): JsonBody {
  const { originFingerprint, reason, suspectSince, issuedAt, signer } = revocation;
  return {
    ...(originFingerprint === null ? {} : { origin_fingerprint: bytesToHex(originFingerprint) }),
    reason: REVOCATION_REASONS[reason] ?? String(reason),
    suspect_since: suspectSince,
    issued_at: issuedAt,
    ...(signer === null
      ? {}
      : { revoker_public_key: bytesToHex(signer.publicKey), revoker_signature: bytesToHex(signer.signature) }),
  };
}

/** Signatures are taken as they are: what is sent may be meant to be refused. */
function bodyOf({ unsigned, signingOrder }: PreparedRequest, ...signatures: readonly Uint8Array[]): JsonBody {
  const signed = signatures.map((bytes, at) => [`${signingOrder[at] ?? ""}_signature`, bytesToHex(bytes)] as const);
  return { ...unsigned, ...Object.fromEntries(signed) };
}
