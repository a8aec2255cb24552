/** Claims, grants and revocations that their parties have signed. */
import {
  EMPTY_SEMANTIC_ANCHOR,
  ZERO_32,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  revocationPayload,
} from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import type {
  ClaimInput,
  Credential,
  EventInput,
  GrantInput,
  LeafWrite,
  RecordClaimCommand,
  RecordGrantCommand,
  RecordRevocationCommand,
  RevocationInput,
} from "@event-anchoring/ledger";
import { NODE_A, hash, sha256 } from "./cluster.ts";
import { CREDENTIAL, event } from "./ledger-harness.ts";
import type { LedgerHarness } from "./ledger-harness.ts";

const people = new Map<string, Signer>();

/** Whoever has this name: the same key every time. */
export function person(name: string): Signer {
  const signer = people.get(name) ?? createSigner(hash(`person ${name}`));
  people.set(name, signer);
  return signer;
}

export interface ClaimOptions extends Partial<
  Omit<ClaimInput, "subjectPublicKey" | "subjectSignature" | "issuerPublicKey" | "issuerSignature">
> {
  readonly credential?: Credential;
  readonly issuer?: string;
}

/** A claim about the entity that has the name of its subject, unless another is given. */
export function claim(subject: string, options: ClaimOptions = {}): RecordClaimCommand {
  const { credential = CREDENTIAL, issuer = "issuer", ...more } = options;
  const content = {
    originFingerprint: NODE_A.originFingerprint,
    entityFingerprint: hash(`entity ${subject}`),
    attributeType: 1,
    attributeHash: hash(`attribute of ${subject}`),
    issuedAt: 0,
    expiresAt: 0,
    subjectPublicKey: person(subject).publicKey,
    issuerPublicKey: person(issuer).publicKey,
    ...more,
  };
  const payload = claimPayload(content);
  const subjectSignature = person(subject).sign(payload);
  const issuerSignature = person(issuer).sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return { kind: "record_claim", credential, claim: { ...content, subjectSignature, issuerSignature } };
}

/** Somebody, and the claim by which they act. */
export interface Party {
  readonly name: string;
  readonly claim: LeafWrite;
}

export interface GrantOptions extends Partial<
  Omit<GrantInput, "grantorPublicKey" | "grantorSignature" | "witnessPublicKey" | "witnessSignature">
> {
  readonly credential?: Credential;
  readonly parent?: LeafWrite;
  readonly witness?: string;
  /** Who signs, if not the grantor. */
  readonly signedBy?: string;
}

export function grant(grantor: Party, grantee: Party, options: GrantOptions = {}): RecordGrantCommand {
  const { credential = CREDENTIAL, parent, witness = "witness", signedBy = grantor.name, ...more } = options;
  const content = {
    originFingerprint: NODE_A.originFingerprint,
    grantorClaimRef: grantor.claim.anchorId,
    granteeClaimRef: grantee.claim.anchorId,
    parentGrantRef: parent?.anchorId ?? ZERO_32,
    scopeHash: hash("scope"),
    delegationDepth: 3,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
    grantorPublicKey: person(signedBy).publicKey,
    witnessPublicKey: person(witness).publicKey,
    ...more,
  };
  const payload = grantPayload(content);
  const grantorSignature = person(signedBy).sign(payload);
  const witnessSignature = person(witness).sign(grantWitnessPayload(payload, grantorSignature, sha256));
  return { kind: "record_grant", credential, grant: { ...content, grantorSignature, witnessSignature } };
}

export interface RevocationOptions extends Partial<Omit<RevocationInput, "signer" | "targetAnchorId">> {
  readonly credential?: Credential;
  /** Which party signs; absent: none. */
  readonly by?: string;
  /** The origin that is signed, if not the target's. */
  readonly signedOrigin?: OriginFingerprint;
}

export function revocation(
  targetKind: "claim" | "grant",
  target: Pick<LeafWrite, "anchorId" | "originFingerprint">,
  options: RevocationOptions = {},
): RecordRevocationCommand {
  const { credential = CREDENTIAL, by, signedOrigin = target.originFingerprint, ...more } = options;
  const content = {
    targetKind,
    targetAnchorId: target.anchorId,
    targetOriginFingerprint: target.originFingerprint,
    originFingerprint: null,
    reason: 0,
    suspectSince: 0,
    issuedAt: 0,
    ...more,
  };
  const message = revocationPayload({ ...content, originFingerprint: signedOrigin });
  const signer = by === undefined ? null : { publicKey: person(by).publicKey, signature: person(by).sign(message) };
  return { kind: "record_revocation", credential, revocation: { ...content, signer } };
}

/** What an operator's act revokes: `ledger.run` has the operator sign it. */
export function operatorRevocation(
  targetKind: "claim" | "grant",
  target: Pick<LeafWrite, "anchorId" | "originFingerprint">,
  options: Omit<RevocationOptions, "credential" | "by"> = {},
): RecordRevocationCommand<null> {
  return { ...revocation(targetKind, target, options), credential: null };
}

/** An event that its actor has signed. */
export function signedEvent(label: string, actor: string, more: Partial<EventInput> = {}): EventInput {
  const unsigned = event(label, more);
  const { publicKey, sign } = person(actor);
  return { ...unsigned, actor: { publicKey, signature: sign(eventActorPayload(unsigned)) } };
}

/** References of an event that acts under a claim and a grant. */
export function acting(claimed: LeafWrite | null, granted: LeafWrite | null): EventInput["semanticAnchor"] {
  return {
    ...EMPTY_SEMANTIC_ANCHOR,
    irisRef: claimed?.anchorId ?? ZERO_32,
    grantRef: granted?.anchorId ?? ZERO_32,
  };
}

/** Claims of these names, each about an entity of its own. */
export function parties(ledger: LedgerHarness, names: readonly string[]): Party[] {
  return names.map((name) => ({ name, claim: ledger.acceptRecord(claim(name)) }));
}
