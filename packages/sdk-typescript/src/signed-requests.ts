/** From what a caller gives to a body that is signed and checked. */
import {
  LEAF_KIND,
  claimPayload,
  equalBytes,
  eventActorPayload,
  grantPayload,
  revocationPayload,
} from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import type { Bytes32, Bytes64, Reference, RevocationReason } from "./inputs.ts";
import { bytes32, bytes64, clientEventId, hex32, members } from "./inputs.ts";
import { InvalidInput } from "./errors.ts";
import type { LeafExpectation } from "./held.ts";
import type { JsonBody } from "./json-body.ts";
import { prepareClaimAnchor } from "./prepare-claim.ts";
import type { ClaimAnchorContent } from "./prepare-claim.ts";
import { prepareEventAnchor } from "./prepare-event.ts";
import type { SemanticAnchorInput } from "./prepare-event.ts";
import { prepareGrantAnchor } from "./prepare-grant.ts";
import type { GrantAnchorContent } from "./prepare-grant.ts";
import { prepareRevocation } from "./prepare-revocation.ts";
import type { Payload, SignerRole } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { randomUuid } from "./random-id.ts";
import { signWith } from "./signing.ts";
import type { Signer } from "./signing.ts";

/** A ClaimAnchor to create. Each party is a `…Signer`, or a public key with its signature. */
export interface ClaimAnchorInput {
  /** Default: the client's. */
  readonly originFingerprint?: Bytes32 | undefined;
  readonly entityFingerprint: Bytes32;
  /** A u32, or a text such as "0x1001". */
  readonly attributeType: number | string;
  readonly attributeHash: Bytes32;
  readonly subjectSigner?: Signer | undefined;
  readonly subjectPublicKey?: Bytes32 | undefined;
  readonly subjectSignature?: Bytes64 | undefined;
  readonly issuerSigner?: Signer | undefined;
  readonly issuerPublicKey?: Bytes32 | undefined;
  readonly issuerSignature?: Bytes64 | undefined;
  /** Unix milliseconds; absent or 0: not stated. */
  readonly issuedAt?: number | null | undefined;
  /** Unix milliseconds; absent or 0: never. */
  readonly expiresAt?: number | null | undefined;
}

/** A GrantAnchor to create. Each party is a `…Signer`, or a public key with its signature. */
export interface GrantAnchorInput {
  /** Default: the client's. */
  readonly originFingerprint?: Bytes32 | undefined;
  readonly grantorClaimRef: Bytes32;
  readonly granteeClaimRef: Bytes32;
  readonly scopeHash: Bytes32;
  readonly delegationDepth: number;
  readonly grantorSigner?: Signer | undefined;
  readonly grantorPublicKey?: Bytes32 | undefined;
  readonly grantorSignature?: Bytes64 | undefined;
  readonly witnessSigner?: Signer | undefined;
  readonly witnessPublicKey?: Bytes32 | undefined;
  readonly witnessSignature?: Bytes64 | undefined;
  readonly parentGrantRef?: Reference;
  /** Unix milliseconds; absent or 0: not stated. */
  readonly issuedAt?: number | null | undefined;
  /** Unix milliseconds; absent or 0: as the parent has it. */
  readonly notBefore?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
}

/** What an event says beside its hash. */
export interface EventInput {
  /** Default: the client's. */
  readonly originFingerprint?: Bytes32 | undefined;
  readonly semanticAnchor?: SemanticAnchorInput | null | undefined;
  /** 1 to 128 printable ASCII characters. Absent: a new one. null: none, and then nothing is ever sent twice. */
  readonly clientEventId?: string | null | undefined;
  /** Who acts, to sign the event. */
  readonly actorSigner?: Signer | undefined;
  readonly actorPublicKey?: Bytes32 | null | undefined;
  readonly actorSignature?: Bytes64 | null | undefined;
}

/** One event of a batch. */
export interface EventToCreate extends EventInput {
  readonly eventHash: Bytes32;
}

/** A revocation of the claim or grant that the call names. Unsigned it is of what the API client has recorded. */
export interface RevocationInput {
  readonly reason?: RevocationReason | null | undefined;
  /** Unix milliseconds from which earlier acts are shown as suspect; absent or 0: none. */
  readonly suspectSince?: number | null | undefined;
  readonly issuedAt?: number | null | undefined;
  /** Issuer or subject of a claim, grantor or witness of a grant. */
  readonly revokerSigner?: Signer | undefined;
  readonly revokerPublicKey?: Bytes32 | null | undefined;
  readonly revokerSignature?: Bytes64 | null | undefined;
  /** `originFingerprint` of the target, which a revoker signs. Absent: asked for. */
  readonly targetOriginFingerprint?: Bytes32 | undefined;
  /** As a PreparedRevocation has it: the same that the call names. */
  readonly targetAnchorId?: Bytes32 | undefined;
  /** Only if the target's origin is lost: the active one to write to. */
  readonly originFingerprint?: Bytes32 | undefined;
}

/** A body, and what its leaf has to say. */
export interface SignedRequest extends LeafExpectation {
  readonly body: JsonBody;
}

/** How one party signs. */
interface Party {
  readonly publicKey: Uint8Array;
  sign(payload: Payload): Promise<Uint8Array>;
}

/** null: the party is not there at all. @throws InvalidInput if it is neither a signer nor a key with its signature */
function partyOf(given: Readonly<Record<string, unknown>>, role: SignerRole): Party | null {
  const [signer, publicKey, signature] = [given[`${role}Signer`], given[`${role}PublicKey`], given[`${role}Signature`]];
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  if (isGiven(signer)) {
    if (isGiven(signature)) throw new InvalidInput(`${role}Signature`, `give it or ${role}Signer`);
    return signingParty(signer, role, publicKey);
  }
  if (!isGiven(publicKey) && !isGiven(signature)) return null;
  const key = bytes32(`${role}PublicKey`, publicKey);
  const bytes = bytes64(`${role}Signature`, signature);
  return { publicKey: key, sign: () => Promise.resolve(bytes) };
}

function signingParty(value: unknown, role: SignerRole, publicKey: unknown): Party {
  const signer = members(`${role}Signer`, value) as unknown as Signer;
  if (typeof signer.sign !== "function") throw new InvalidInput(`${role}Signer`, "has no function sign");
  const key = bytes32(`${role}Signer.publicKey`, signer.publicKey);
  const isOther =
    publicKey !== undefined && publicKey !== null && !equalBytes(key, bytes32(`${role}PublicKey`, publicKey));
  if (isOther) throw new InvalidInput(`${role}PublicKey`, `is not that of ${role}Signer`);
  return { publicKey: key, sign: (payload) => signWith(signer, payload) };
}

/** An input taken apart: who signs, and what is signed. */
interface Parted {
  /** In the order of the roles; null: not there at all. */
  readonly parties: readonly (Party | null)[];
  /** As the prepare functions take it: they refuse whatever they do not know. */
  readonly content: Readonly<Record<string, unknown>>;
}

function parted(name: string, input: unknown, roles: readonly SignerRole[]): Parted {
  const given = members(name, input);
  const parties = roles.map((role) => partyOf(given, role));
  const ofParties = roles.flatMap((role) => [`${role}Signer`, `${role}PublicKey`, `${role}Signature`]);
  const said = Object.entries(given).filter(([field]) => !ofParties.includes(field));
  const keys = roles.map((role, at) => [`${role}PublicKey`, parties[at]?.publicKey] as const);
  return { parties, content: Object.fromEntries<unknown>([...said, ...keys]) };
}

/** The same where both have to sign. */
function partedInTwo(input: unknown, roles: readonly [SignerRole, SignerRole]): Parted {
  const found = parted("input", input, roles);
  const missing = roles.find((_, at) => found.parties[at] === null);
  if (missing === undefined) return found;
  throw new InvalidInput(`${missing}PublicKey`, `expected it with ${missing}Signature, or ${missing}Signer`);
}

/** @throws SigningFailed */
async function signedBody(prepared: PreparedRequest, parties: readonly (Party | null)[]): Promise<JsonBody> {
  const signatures: Uint8Array[] = [];
  for (const party of parties) {
    const next = prepared.nextPayload(signatures);
    if (party !== null && next !== null) signatures.push(await party.sign(next));
  }
  return prepared.request(...signatures);
}

/** @throws InvalidInput, SigningFailed */
export async function claimRequest(input: ClaimAnchorInput, origin: Bytes32): Promise<SignedRequest> {
  const { parties, content } = partedInTwo(input, ["subject", "issuer"]);
  const prepared = prepareClaimAnchor({ ...content, originFingerprint: origin } as unknown as ClaimAnchorContent);
  const { bytes } = prepared.subjectPayload;
  return {
    body: await signedBody(prepared, parties),
    isRecordedBy: (leaf) => leaf.kind === LEAF_KIND.claim && equalBytes(claimPayload(leaf), bytes),
  };
}

/** @throws InvalidInput, SigningFailed */
export async function grantRequest(input: GrantAnchorInput, origin: Bytes32): Promise<SignedRequest> {
  const { parties, content } = partedInTwo(input, ["grantor", "witness"]);
  const prepared = prepareGrantAnchor({ ...content, originFingerprint: origin } as unknown as GrantAnchorContent);
  const { bytes } = prepared.grantorPayload;
  return {
    body: await signedBody(prepared, parties),
    isRecordedBy: (leaf) => leaf.kind === LEAF_KIND.grant && equalBytes(grantPayload(leaf), bytes),
  };
}

/**
 * @param chosenId its client event id; null: none
 * @throws InvalidInput, SigningFailed
 */
export async function eventRequest(
  eventHash: Bytes32,
  input: EventInput,
  origin: Bytes32,
  chosenId: string | null,
): Promise<SignedRequest> {
  const { parties, content } = parted("event", input, ["actor"]);
  const prepared = prepareEventAnchor({ ...content, originFingerprint: origin, eventHash, clientEventId: chosenId });
  // A replay may be in another origin, under an earlier signature: neither is content of an event.
  const { originFingerprint, actorPublicKey } = prepared.fields;
  const kind = actorPublicKey === null ? LEAF_KIND.event : LEAF_KIND.signedEvent;
  const isRecordedBy = (leaf: Leaf): boolean =>
    (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent) &&
    leaf.kind === kind &&
    equalBytes(eventActorPayload({ ...leaf, originFingerprint }), prepared.actorPayload.bytes);
  return { body: await signedBody(prepared, parties), isRecordedBy };
}

/**
 * @param targetOrigin asked only if somebody signs
 * @throws InvalidInput, SigningFailed
 */
export async function revocationRequest(
  targetAnchorId: Bytes32,
  input: RevocationInput,
  targetOrigin: () => Promise<Bytes32>,
): Promise<SignedRequest> {
  const { parties, content } = parted("revocation", input, ["revoker"]);
  const { originFingerprint, ...said } = content;
  const target = bytes32("anchorId", targetAnchorId);
  const { targetAnchorId: named, targetOriginFingerprint: known } = input;
  if (named !== undefined && !equalBytes(target, bytes32("targetAnchorId", named))) {
    throw new InvalidInput("targetAnchorId", "is not the anchor that the call names");
  }
  const isByOperator = parties[0] === null;
  const targetOriginFingerprint = isByOperator ? new Uint8Array(32) : (known ?? (await targetOrigin()));
  const prepared = prepareRevocation({ ...said, targetAnchorId: target, targetOriginFingerprint });
  const writesTo =
    originFingerprint === undefined ? {} : { origin_fingerprint: hex32("originFingerprint", originFingerprint) };
  const { bytes } = prepared.revokerPayload;
  const isRecordedBy = (leaf: Leaf): boolean =>
    leaf.kind === LEAF_KIND.revocation &&
    (leaf.authority === 0) === isByOperator &&
    equalBytes(revocationPayload({ ...leaf, originFingerprint: prepared.fields.targetOriginFingerprint }), bytes);
  return { body: { ...(await signedBody(prepared, parties)), ...writesTo }, isRecordedBy };
}

/** A new id unless one is given; null if the caller wants none. @throws InvalidInput */
export function chosenClientEventId(given: string | null | undefined): string | null {
  if (given === undefined) return randomUuid();
  return given === null ? null : clientEventId("clientEventId", given);
}
