/** An operation as the bytes that are proposed, signed where it says so. */
import type { ClaimInput, EventInput, GrantInput, RevocationInput } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { toAnchorId, toOriginFingerprint, utf8ToBytes } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { signClaim, signEvent, signGrant, signRevocation } from "@event-anchoring/testkit/records";
import type { Party } from "@event-anchoring/testkit/records";
import { NOWHERE } from "./operations.ts";
import type { ClaimOperation, EventOperation, GrantOperation, Reference, RevocationOperation } from "./operations.ts";

/** What the names of a history stand for in one ledger. */
export interface Names {
  origin(name: string): OriginFingerprint;
  /** Id of the leaf with this sequence. */
  anchorId(sequence: number): AnchorId;
  /** Origin of the leaf with this sequence. */
  originOf(sequence: number): OriginFingerprint;
  party(name: string): Party;
}

/** 32 bytes that only the name decides. */
export function bytesOf(name: string): Uint8Array {
  return nodeCrypto.sha256(utf8ToBytes(name));
}

const EMPTY = new Uint8Array(32);

export function idOf(reference: Reference, names: Names): AnchorId {
  if (reference === null) return toAnchorId(EMPTY);
  return reference === NOWHERE ? toAnchorId(bytesOf("nowhere")) : names.anchorId(reference);
}

/** Good in its shape, and made by nobody. */
export function forge(signature: Uint8Array): Uint8Array {
  return signature.map((byte, at) => (at === 40 ? byte ^ 1 : byte));
}

export function claimInputOf(claim: ClaimOperation, names: Names): ClaimInput {
  const content = {
    originFingerprint: names.origin(claim.origin),
    entityFingerprint: bytesOf(claim.entity),
    attributeType: claim.attributeType,
    attributeHash: bytesOf(claim.attribute),
    issuedAt: claim.issuedAt,
    expiresAt: claim.expiresAt,
  };
  const signed = signClaim(content, names.party(claim.subject), names.party(claim.issuer));
  if (claim.forged === "subject") return { ...signed, subjectSignature: forge(signed.subjectSignature) };
  return claim.forged === null ? signed : { ...signed, issuerSignature: forge(signed.issuerSignature) };
}

export function grantInputOf(grant: GrantOperation, names: Names): GrantInput {
  const content = {
    originFingerprint: names.origin(grant.origin),
    grantorClaimRef: idOf(grant.grantor, names),
    granteeClaimRef: idOf(grant.grantee, names),
    parentGrantRef: idOf(grant.parent, names),
    scopeHash: bytesOf(grant.scope),
    delegationDepth: grant.delegationDepth,
    issuedAt: grant.issuedAt,
    notBefore: grant.notBefore,
    expiresAt: grant.expiresAt,
  };
  const signed = signGrant(content, names.party(grant.grantorKey), names.party(grant.witnessKey));
  if (grant.forged === "grantor") return { ...signed, grantorSignature: forge(signed.grantorSignature) };
  return grant.forged === null ? signed : { ...signed, witnessSignature: forge(signed.witnessSignature) };
}

export function revocationInputOf(revocation: RevocationOperation, names: Names): RevocationInput {
  const { target, targetKind, reason, suspectSince, issuedAt, revoker, isForged, origin } = revocation;
  const targetAnchorId = idOf(target, names);
  const targetOriginFingerprint = target === NOWHERE ? names.origin("unknown") : names.originOf(target);
  const content = { targetAnchorId, reason, suspectSince, issuedAt };
  const signed =
    revoker === null
      ? null
      : signRevocation({ ...content, originFingerprint: targetOriginFingerprint }, names.party(revoker));
  return {
    ...content,
    targetKind,
    targetOriginFingerprint,
    originFingerprint: origin === null ? null : names.origin(origin),
    signer: signed !== null && isForged ? { ...signed, signature: forge(signed.signature) } : signed,
  };
}

export function eventInputOf(event: EventOperation, names: Names): EventInput {
  const content = {
    originFingerprint: names.origin(event.origin),
    eventHash: bytesOf(event.hash),
    semanticAnchor: {
      irisRef: idOf(event.iris, names),
      scrollRef: idOf(event.scroll, names),
      grantRef: idOf(event.grant, names),
      bondRef: idOf(event.bond, names),
      yieldRef: idOf(event.yield, names),
      eventDataHash: event.eventDataHash === null ? EMPTY : bytesOf(event.eventDataHash),
    },
  };
  const { clientEventId, actor: name, isForged } = event;
  const actor = name === null ? null : signEvent(content, names.party(name));
  return {
    ...content,
    clientEventId,
    clientEventSalt: clientEventId === null ? null : bytesOf(`salt ${clientEventId}`),
    actor: actor !== null && isForged ? { ...actor, signature: forge(actor.signature) } : actor,
  };
}

export function originNamed(origins: ReadonlyMap<string, OriginFingerprint>, name: string): OriginFingerprint {
  return origins.get(name) ?? toOriginFingerprint(bytesOf(`origin ${name}`));
}
