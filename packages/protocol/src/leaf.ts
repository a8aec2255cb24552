/** The leaf: what an origin's tree is made of. docs/PROTOCOL.md, "Leaf". */
import { assertNever } from "./assert-never.ts";
import { equalBytes, isZero } from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";
import { ByteReader, ByteWriter, DecodeError } from "./encoding.ts";
import { toAnchorId, toOriginFingerprint } from "./ids.ts";
import type { AnchorId, OriginFingerprint } from "./ids.ts";
import { tag } from "./tags.ts";

export const LEAF_KIND = {
  genesis: 0,
  event: 1,
  claim: 2,
  grant: 3,
  revocation: 4,
  trustRoot: 5,
  signedEvent: 6,
} as const;

export type LeafKind = (typeof LEAF_KIND)[keyof typeof LEAF_KIND];

/** Bytes of a whole leaf, by kind. */
export const LEAF_BYTES: Readonly<Record<LeafKind, number>> = {
  [LEAF_KIND.genesis]: 179,
  [LEAF_KIND.event]: 371,
  [LEAF_KIND.claim]: 391,
  [LEAF_KIND.grant]: 463,
  [LEAF_KIND.revocation]: 261,
  [LEAF_KIND.trustRoot]: 151,
  [LEAF_KIND.signedEvent]: 467,
};

/** Why a record was revoked, in the order of their numbers 0 to 5. */
export const REVOCATION_REASONS = [
  "unspecified",
  "key_compromise",
  "superseded",
  "cessation",
  "privilege_withdrawn",
  "issued_in_error",
] as const;

/** By whose authority a record was revoked, in the order of their numbers 0 to 4. */
export const REVOCATION_AUTHORITIES = ["operator", "issuer", "subject", "grantor", "witness"] as const;

/** What every leaf begins with. */
export interface LeafHeader {
  readonly originFingerprint: OriginFingerprint;
  /** Position in the origin's tree, from 0; 0 if and only if the leaf is a genesis leaf. */
  readonly depth: number;
  /** Anchor id of the leaf before it in the same origin; zeros if and only if depth is 0. */
  readonly parentAnchorId: AnchorId;
  /** Position among the leaves of all origins, from 0. */
  readonly sequence: number;
  /** Unix milliseconds; never smaller than that of the leaf one lower in `sequence`. */
  readonly acceptedMs: number;
}

/** Six references of 32 bytes each; zeros mean that there is none. */
export interface SemanticAnchor {
  readonly irisRef: Uint8Array;
  readonly scrollRef: Uint8Array;
  readonly grantRef: Uint8Array;
  readonly bondRef: Uint8Array;
  readonly yieldRef: Uint8Array;
  readonly eventDataHash: Uint8Array;
}

export interface EventBody {
  readonly eventHash: Uint8Array;
  readonly semanticAnchor: SemanticAnchor;
  /** clientEventCommit of the client's id, or zeros. */
  readonly clientEventCommit: Uint8Array;
}

export interface GenesisBody {
  readonly clusterId: Uint8Array;
  readonly rootThk: Uint8Array;
}

export interface ClaimBody {
  readonly entityFingerprint: Uint8Array;
  /** u32. */
  readonly attributeType: number;
  readonly attributeHash: Uint8Array;
  /** Unix milliseconds, 0 = not stated. */
  readonly issuedAt: number;
  /** Unix milliseconds, 0 = never. */
  readonly expiresAt: number;
  readonly subjectPublicKey: Uint8Array;
  readonly subjectSignature: Uint8Array;
  readonly issuerPublicKey: Uint8Array;
  readonly issuerSignature: Uint8Array;
}

export interface GrantBody {
  readonly grantorClaimRef: Uint8Array;
  readonly granteeClaimRef: Uint8Array;
  /** Zeros for a root grant. */
  readonly parentGrantRef: Uint8Array;
  readonly scopeHash: Uint8Array;
  /** u32: how many further hops may be granted below. */
  readonly delegationDepth: number;
  /** Unix milliseconds, 0 = not stated (issuedAt) or inherited (the two bounds). */
  readonly issuedAt: number;
  readonly notBefore: number;
  readonly expiresAt: number;
  readonly grantorPublicKey: Uint8Array;
  readonly grantorSignature: Uint8Array;
  readonly witnessPublicKey: Uint8Array;
  readonly witnessSignature: Uint8Array;
}

export interface RevocationBody {
  readonly targetAnchorId: AnchorId;
  /** Index into REVOCATION_REASONS. */
  readonly reason: number;
  /** Unix milliseconds, 0 = not stated. */
  readonly suspectSince: number;
  readonly issuedAt: number;
  /** Index into REVOCATION_AUTHORITIES. */
  readonly authority: number;
  /** The revoker's public key; when authority is 0, clientRevoker(...) or operatorRevoker(...). */
  readonly revoker: Uint8Array;
  /** 64 zero bytes if and only if authority is 0. */
  readonly signature: Uint8Array;
}

export interface TrustRootBody {
  /** u32, from 1. */
  readonly version: number;
  readonly rootThk: Uint8Array;
}

export interface ActorBody {
  readonly actorPublicKey: Uint8Array;
  readonly actorSignature: Uint8Array;
}

export type GenesisLeaf = { readonly kind: typeof LEAF_KIND.genesis } & LeafHeader & GenesisBody;
export type EventLeaf = { readonly kind: typeof LEAF_KIND.event } & LeafHeader & EventBody;
export type ClaimLeaf = { readonly kind: typeof LEAF_KIND.claim } & LeafHeader & ClaimBody;
export type GrantLeaf = { readonly kind: typeof LEAF_KIND.grant } & LeafHeader & GrantBody;
export type RevocationLeaf = { readonly kind: typeof LEAF_KIND.revocation } & LeafHeader & RevocationBody;
export type TrustRootLeaf = { readonly kind: typeof LEAF_KIND.trustRoot } & LeafHeader & TrustRootBody;
export type SignedEventLeaf = { readonly kind: typeof LEAF_KIND.signedEvent } & LeafHeader & EventBody & ActorBody;

export type Leaf = GenesisLeaf | EventLeaf | ClaimLeaf | GrantLeaf | RevocationLeaf | TrustRootLeaf | SignedEventLeaf;

/** The semantic anchor of a request that has none. */
export const EMPTY_SEMANTIC_ANCHOR: SemanticAnchor = Object.freeze({
  irisRef: new Uint8Array(32),
  scrollRef: new Uint8Array(32),
  grantRef: new Uint8Array(32),
  bondRef: new Uint8Array(32),
  yieldRef: new Uint8Array(32),
  eventDataHash: new Uint8Array(32),
});

/** True if all six fields are zeros: such an anchor is answered as `null`. */
export function isEmptySemanticAnchor(anchor: SemanticAnchor): boolean {
  return (
    isZero(anchor.irisRef) &&
    isZero(anchor.scrollRef) &&
    isZero(anchor.grantRef) &&
    isZero(anchor.bondRef) &&
    isZero(anchor.yieldRef) &&
    isZero(anchor.eventDataHash)
  );
}

/** What holds for every leaf beyond its length; the first broken rule, or null. Both directions check it. */
function brokenRule(leaf: Leaf): string | null {
  const isGenesis = leaf.kind === LEAF_KIND.genesis;
  if (isGenesis !== (leaf.depth === 0)) return "depth is 0 if and only if the leaf is a genesis leaf";
  if (isGenesis !== isZero(leaf.parentAnchorId)) return "the parent is zeros if and only if depth is 0";
  if (leaf.kind === LEAF_KIND.trustRoot && leaf.version === 0) return "trust-root versions start at 1";
  if (leaf.kind === LEAF_KIND.revocation) {
    if (leaf.reason >= REVOCATION_REASONS.length) return "unknown revocation reason";
    if (leaf.authority >= REVOCATION_AUTHORITIES.length) return "unknown revocation authority";
    if ((leaf.authority === 0) !== isZero(leaf.signature)) return "an operator's signature is zeros, no other's is";
  }
  return null;
}

function writeEventBody(writer: ByteWriter, body: EventBody): void {
  writeSemanticHashes(writer.bytes(body.eventHash, 32), body.semanticAnchor).bytes(body.clientEventCommit, 32);
}

/** The six fields in their order on the wire; the payload an actor signs has them in the same order. */
export function writeSemanticHashes(writer: ByteWriter, anchor: SemanticAnchor): ByteWriter {
  return writer
    .bytes(anchor.irisRef, 32)
    .bytes(anchor.scrollRef, 32)
    .bytes(anchor.grantRef, 32)
    .bytes(anchor.bondRef, 32)
    .bytes(anchor.yieldRef, 32)
    .bytes(anchor.eventDataHash, 32);
}

function writeClaimBody(writer: ByteWriter, body: ClaimBody): void {
  writer
    .bytes(body.entityFingerprint, 32)
    .u32(body.attributeType)
    .bytes(body.attributeHash, 32)
    .u64(body.issuedAt)
    .u64(body.expiresAt)
    .bytes(body.subjectPublicKey, 32)
    .bytes(body.subjectSignature, 64)
    .bytes(body.issuerPublicKey, 32)
    .bytes(body.issuerSignature, 64);
}

function writeGrantBody(writer: ByteWriter, body: GrantBody): void {
  writer
    .bytes(body.grantorClaimRef, 32)
    .bytes(body.granteeClaimRef, 32)
    .bytes(body.parentGrantRef, 32)
    .bytes(body.scopeHash, 32)
    .u32(body.delegationDepth)
    .u64(body.issuedAt)
    .u64(body.notBefore)
    .u64(body.expiresAt)
    .bytes(body.grantorPublicKey, 32)
    .bytes(body.grantorSignature, 64)
    .bytes(body.witnessPublicKey, 32)
    .bytes(body.witnessSignature, 64);
}

function writeRevocationBody(writer: ByteWriter, body: RevocationBody): void {
  writer
    .bytes(body.targetAnchorId, 32)
    .u8(body.reason)
    .u64(body.suspectSince)
    .u64(body.issuedAt)
    .u8(body.authority)
    .bytes(body.revoker, 32)
    .bytes(body.signature, 64);
}

function writeBody(writer: ByteWriter, leaf: Leaf): void {
  switch (leaf.kind) {
    case LEAF_KIND.genesis:
      writer.bytes(leaf.clusterId, 32).bytes(leaf.rootThk, 32);
      return;
    case LEAF_KIND.event:
      writeEventBody(writer, leaf);
      return;
    case LEAF_KIND.claim:
      writeClaimBody(writer, leaf);
      return;
    case LEAF_KIND.grant:
      writeGrantBody(writer, leaf);
      return;
    case LEAF_KIND.revocation:
      writeRevocationBody(writer, leaf);
      return;
    case LEAF_KIND.trustRoot:
      writer.u32(leaf.version).bytes(leaf.rootThk, 32);
      return;
    case LEAF_KIND.signedEvent:
      writeEventBody(writer, leaf);
      writer.bytes(leaf.actorPublicKey, 32).bytes(leaf.actorSignature, 64);
      return;
    default:
      assertNever(leaf);
  }
}

/** The bytes of a leaf. @throws RangeError if a field has another length or range, or breaks a rule of its kind */
export function encodeLeaf(leaf: Leaf): Uint8Array {
  const broken = brokenRule(leaf);
  if (broken !== null) throw new RangeError(broken);
  const writer = new ByteWriter(LEAF_BYTES[leaf.kind])
    .bytes(tag("leaf"))
    .u8(leaf.kind)
    .bytes(leaf.originFingerprint, 32)
    .u64(leaf.depth)
    .bytes(leaf.parentAnchorId, 32)
    .u64(leaf.sequence)
    .u64(leaf.acceptedMs);
  writeBody(writer, leaf);
  return writer.finish();
}

function readEventBody(reader: ByteReader): EventBody {
  return {
    eventHash: reader.bytes(32),
    semanticAnchor: {
      irisRef: reader.bytes(32),
      scrollRef: reader.bytes(32),
      grantRef: reader.bytes(32),
      bondRef: reader.bytes(32),
      yieldRef: reader.bytes(32),
      eventDataHash: reader.bytes(32),
    },
    clientEventCommit: reader.bytes(32),
  };
}

function readClaimBody(reader: ByteReader): ClaimBody {
  return {
    entityFingerprint: reader.bytes(32),
    attributeType: reader.u32(),
    attributeHash: reader.bytes(32),
    issuedAt: reader.u64(),
    expiresAt: reader.u64(),
    subjectPublicKey: reader.bytes(32),
    subjectSignature: reader.bytes(64),
    issuerPublicKey: reader.bytes(32),
    issuerSignature: reader.bytes(64),
  };
}

function readGrantBody(reader: ByteReader): GrantBody {
  return {
    grantorClaimRef: reader.bytes(32),
    granteeClaimRef: reader.bytes(32),
    parentGrantRef: reader.bytes(32),
    scopeHash: reader.bytes(32),
    delegationDepth: reader.u32(),
    issuedAt: reader.u64(),
    notBefore: reader.u64(),
    expiresAt: reader.u64(),
    grantorPublicKey: reader.bytes(32),
    grantorSignature: reader.bytes(64),
    witnessPublicKey: reader.bytes(32),
    witnessSignature: reader.bytes(64),
  };
}

function readRevocationBody(reader: ByteReader): RevocationBody {
  return {
    targetAnchorId: toAnchorId(reader.bytes(32)),
    reason: reader.u8(),
    suspectSince: reader.u64(),
    issuedAt: reader.u64(),
    authority: reader.u8(),
    revoker: reader.bytes(32),
    signature: reader.bytes(64),
  };
}

function readBody(reader: ByteReader, kind: LeafKind, header: LeafHeader): Leaf {
  switch (kind) {
    case LEAF_KIND.genesis:
      return { kind, ...header, clusterId: reader.bytes(32), rootThk: reader.bytes(32) };
    case LEAF_KIND.event:
      return { kind, ...header, ...readEventBody(reader) };
    case LEAF_KIND.claim:
      return { kind, ...header, ...readClaimBody(reader) };
    case LEAF_KIND.grant:
      return { kind, ...header, ...readGrantBody(reader) };
    case LEAF_KIND.revocation:
      return { kind, ...header, ...readRevocationBody(reader) };
    case LEAF_KIND.trustRoot:
      return { kind, ...header, version: reader.u32(), rootThk: reader.bytes(32) };
    case LEAF_KIND.signedEvent: {
      const body = readEventBody(reader);
      return {
        kind,
        ...header,
        ...body,
        actorPublicKey: reader.bytes(32),
        actorSignature: reader.bytes(64),
      };
    }
    default:
      return assertNever(kind);
  }
}

function isLeafKind(kind: number): kind is LeafKind {
  return kind <= LEAF_KIND.signedEvent;
}

/**
 * Reads the bytes of a leaf, which may be attacker-controlled.
 * @throws DecodeError `truncated`, `tag_unknown`, `kind_unknown`, `length_wrong`, `integer_unsafe` or `value_invalid`
 */
export function decodeLeaf(bytes: Uint8Array): Leaf {
  const reader = new ByteReader(bytes);
  const leafTag = tag("leaf");
  if (!equalBytes(reader.view(leafTag.length), leafTag)) throw new DecodeError("tag_unknown", "not a leaf");
  const kind = reader.u8();
  if (!isLeafKind(kind)) throw new DecodeError("kind_unknown", `unknown leaf kind ${kind}`);
  if (bytes.length !== LEAF_BYTES[kind]) {
    throw new DecodeError("length_wrong", `a leaf of kind ${kind} has ${LEAF_BYTES[kind]} bytes, got ${bytes.length}`);
  }
  const header: LeafHeader = {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    depth: reader.u64(),
    parentAnchorId: toAnchorId(reader.bytes(32)),
    sequence: reader.u64(),
    acceptedMs: reader.u64(),
  };
  const leaf = readBody(reader, kind, header);
  reader.finish();
  const broken = brokenRule(leaf);
  if (broken !== null) throw new DecodeError("value_invalid", broken);
  return leaf;
}

/** H(0x00 ‖ leaf): the anchor id, which is also the RFC 6962 leaf hash. */
export function anchorIdOf(leafBytes: Uint8Array, sha256: Sha256): AnchorId {
  const prefixed = new Uint8Array(leafBytes.length + 1);
  prefixed.set(leafBytes, 1);
  return sha256(prefixed) as AnchorId;
}
