/** Claims, grants, revocations and signed events as clients make them, and the requests that record them. */
import { createdSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import type { ClaimInput, EventInput, GrantInput, RevocationInput } from "@event-anchoring/ledger";
import { EMPTY_SEMANTIC_ANCHOR, ZERO_32, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import {
  claimBody,
  eventBody,
  grantBody,
  partyOf,
  revocationBody,
  signClaim,
  signEvent,
  signGrant,
  signRevocation,
} from "@event-anchoring/testkit/records";
import type { Answer, Harness } from "./api-harness.ts";
import { seedOf } from "./fake-cluster.ts";

export const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);

/** A running API and the origin of its node. */
export type Service = Pick<Harness, "origin" | "send">;

/** What every wire body is to a test: fields to be replaced one by one. */
export type Body = Readonly<Record<string, unknown>>;

function originOf(service: Service, origin?: string) {
  return toOriginFingerprint(hexToBytes(origin ?? service.origin, 32));
}

export interface ClaimChoices {
  readonly origin?: string;
  /** Names the subject's key. */
  readonly subject?: string;
  readonly issuer?: string;
  readonly attributeType?: number;
  readonly attributeHash?: Uint8Array;
  readonly issuedAt?: number;
  readonly expiresAt?: number;
}

/** A claim about the entity of a label, whose subject is of the same label unless another is chosen. */
export function claimAbout(service: Service, entity: string, choices: ClaimChoices = {}): ClaimInput {
  const content = {
    originFingerprint: originOf(service, choices.origin),
    entityFingerprint: seedOf(`entity ${entity}`),
    attributeType: choices.attributeType ?? 1,
    attributeHash: choices.attributeHash ?? seedOf("attribute"),
    issuedAt: choices.issuedAt ?? 0,
    expiresAt: choices.expiresAt ?? 0,
  };
  return signClaim(content, partyOf(choices.subject ?? entity), partyOf(choices.issuer ?? "issuer"));
}

export interface GrantChoices {
  readonly origin?: string;
  readonly grantorClaim: string;
  readonly granteeClaim: string;
  /** Names the grantor's key. */
  readonly grantor: string;
  readonly witness?: string;
  readonly parent?: string;
  readonly depth?: number;
  readonly issuedAt?: number;
  readonly notBefore?: number;
  readonly expiresAt?: number;
}

export function grantOf(service: Service, choices: GrantChoices): GrantInput {
  const content = {
    originFingerprint: originOf(service, choices.origin),
    grantorClaimRef: hexToBytes(choices.grantorClaim, 32),
    granteeClaimRef: hexToBytes(choices.granteeClaim, 32),
    parentGrantRef: choices.parent === undefined ? ZERO_32 : hexToBytes(choices.parent, 32),
    scopeHash: seedOf("scope"),
    delegationDepth: choices.depth ?? 0,
    issuedAt: choices.issuedAt ?? 0,
    notBefore: choices.notBefore ?? 0,
    expiresAt: choices.expiresAt ?? 0,
  };
  return signGrant(content, partyOf(choices.grantor), partyOf(choices.witness ?? "witness"));
}

export interface RevocationChoices {
  /** Names the revoker's key; none: by the API key alone. */
  readonly revoker?: string;
  /** Origin that is signed, if not the target's. */
  readonly signedOrigin?: string;
  readonly namedOrigin?: string;
  readonly reason?: number;
  readonly suspectSince?: number;
  readonly issuedAt?: number;
}

export function revocationOf(target: AnchorJson, choices: RevocationChoices = {}): Body {
  const signed = {
    originFingerprint: toOriginFingerprint(hexToBytes(choices.signedOrigin ?? target.origin_fingerprint, 32)),
    targetAnchorId: toAnchorId(hexToBytes(target.anchor_id, 32)),
    reason: choices.reason ?? 0,
    suspectSince: choices.suspectSince ?? 0,
    issuedAt: choices.issuedAt ?? 0,
  };
  const revocation: Pick<RevocationInput, "originFingerprint" | "reason" | "suspectSince" | "issuedAt" | "signer"> = {
    ...signed,
    originFingerprint:
      choices.namedOrigin === undefined ? null : toOriginFingerprint(hexToBytes(choices.namedOrigin, 32)),
    signer: choices.revoker === undefined ? null : signRevocation(signed, partyOf(choices.revoker)),
  };
  return revocationBody(revocation);
}

/** An event that its actor has signed. */
export function signedEvent(
  service: Service,
  actor: string,
  choices: { eventHash?: Uint8Array; semanticAnchor?: Partial<SemanticAnchor>; clientEventId?: string } = {},
): Body {
  const content = {
    originFingerprint: originOf(service),
    eventHash: choices.eventHash ?? seedOf("event"),
    semanticAnchor: { ...EMPTY_SEMANTIC_ANCHOR, ...choices.semanticAnchor },
  };
  const event: Omit<EventInput, "clientEventSalt"> = {
    ...content,
    clientEventId: choices.clientEventId ?? null,
    actor: signEvent(content, partyOf(actor)),
  };
  return eventBody(event);
}

export function postClaim(service: Service, claim: ClaimInput, replaced: Body = {}): Promise<Answer> {
  return service.send("POST", "/v1/claim-anchors", { ...claimBody(claim), ...replaced });
}

export function postGrant(service: Service, grant: GrantInput, replaced: Body = {}): Promise<Answer> {
  return service.send("POST", "/v1/grant-anchors", { ...grantBody(grant), ...replaced });
}

/** The anchor of a write that must succeed. */
export async function anchorOf(answer: Promise<Answer>): Promise<AnchorJson> {
  const { status, json, text } = await answer;
  if (status !== 200 && status !== 201 && status !== 202) throw new Error(`${status}: ${text}`);
  return createdSchema.parse(json).anchor;
}

/** A claim about an entity, recorded. */
export function claimed(service: Service, entity: string, choices: ClaimChoices = {}): Promise<AnchorJson> {
  return anchorOf(postClaim(service, claimAbout(service, entity, choices)));
}

export function granted(service: Service, choices: GrantChoices): Promise<AnchorJson> {
  return anchorOf(postGrant(service, grantOf(service, choices)));
}
