/** Anchors as the service answers them. Hashes, ids and keys are 64 lower-case hex digits, signatures 128. */
import { REVOCATION_AUTHORITIES, REVOCATION_REASONS } from "@event-anchoring/protocol";
import {
  nullable,
  oneOf,
  optional,
  readCount,
  readFlag,
  readHex32,
  readHex64,
  readObject,
  readText,
  record,
  refuse,
} from "./answer-reader.ts";
import type { Reader } from "./answer-reader.ts";
import type { RevocationReason } from "./inputs.ts";
import { isWhatItShows } from "./shown-leaf.ts";

/** `committed`: durable on a majority of the nodes. `certified`: also co-signed by a quorum of them. */
export type Finality = "committed" | "certified";

/** How a claim or a grant has ended, if it has. */
export type RecordState = "active" | "superseded" | "revoked" | "expired";

/** What every anchor has. */
export interface AnchorHeader {
  /** The RFC 6962 leaf hash: the anchor's name, and what a receipt proves. */
  readonly anchorId: string;
  /** The origin in whose tree it is. */
  readonly originFingerprint: string;
  /** Leaf index in the tree of its origin. */
  readonly depth: number;
  /** Position among the leaves of all origins. */
  readonly sequence: number;
  /** The anchor one depth above; null for a genesis leaf. */
  readonly parentAnchorId: string | null;
  /** When the cluster accepted it, Unix milliseconds. */
  readonly acceptedMs: number;
  /** The same as RFC 3339. */
  readonly acceptedAt: string;
  readonly finality: Finality;
}

/** What an event refers to; what is empty is null. */
export interface SemanticAnchorAnswer {
  readonly irisRef: string | null;
  readonly scrollRef: string | null;
  readonly grantRef: string | null;
  readonly bondRef: string | null;
  readonly yieldRef: string | null;
  readonly eventDataHash: string | null;
}

interface EventFacts extends AnchorHeader {
  readonly eventHash: string;
  readonly semanticAnchor: SemanticAnchorAnswer | null;
  /** Commitment to the client event id; null if there was none. */
  readonly clientEventCommit: string | null;
  /** Shown to keys of the API client that wrote it, and to admin. */
  readonly clientEventId: string | null;
  /** Opens the commitment; shown to the same keys. */
  readonly clientEventSalt: string | null;
  /** True only of an event whose id and salt were erased, and to those who could have seen them. */
  readonly clientEventErased: boolean;
}

/** An unsigned event. */
export interface EventAnchor extends EventFacts {
  readonly kind: "event";
}

/** An event that its actor has signed. */
export interface SignedEventAnchor extends EventFacts {
  readonly kind: "signed_event";
  readonly actorPublicKey: string;
  readonly actorSignature: string;
}

/** An identity, signed by its subject and then by its issuer. */
export interface ClaimAnchor extends AnchorHeader {
  readonly kind: "claim";
  readonly state: RecordState;
  readonly entityFingerprint: string;
  readonly attributeType: number;
  readonly attributeHash: string;
  /** Unix milliseconds; 0: not stated. */
  readonly issuedAt: number;
  /** Unix milliseconds; 0: never. */
  readonly expiresAt: number;
  readonly subjectPublicKey: string;
  readonly subjectSignature: string;
  readonly issuerPublicKey: string;
  readonly issuerSignature: string;
}

/** A delegation, signed by its grantor and then by a witness. */
export interface GrantAnchor extends AnchorHeader {
  readonly kind: "grant";
  readonly state: RecordState;
  readonly grantorClaimRef: string;
  readonly granteeClaimRef: string;
  /** null: a root grant. */
  readonly parentGrantRef: string | null;
  readonly scopeHash: string;
  /** How many further hops may be granted below it. */
  readonly delegationDepth: number;
  /** Unix milliseconds; 0: not stated. */
  readonly issuedAt: number;
  /** Unix milliseconds; 0: as the parent has it, or unbounded. */
  readonly notBefore: number;
  readonly expiresAt: number;
  readonly grantorPublicKey: string;
  readonly grantorSignature: string;
  readonly witnessPublicKey: string;
  readonly witnessSignature: string;
}

/** The record of a revocation, kept for ever. */
export interface RevocationAnchor extends AnchorHeader {
  readonly kind: "revocation";
  readonly targetAnchorId: string;
  readonly reason: RevocationReason;
  /** Unix milliseconds; 0: none. */
  readonly suspectSince: number;
  readonly issuedAt: number;
  /** By whose authority it was revoked. */
  readonly authority: (typeof REVOCATION_AUTHORITIES)[number];
  /** The revoker's public key; if no party has signed, a hash of the API client, or of the operator's key. */
  readonly revoker: string;
  /** null if and only if the authority is `operator`. */
  readonly signature: string | null;
}

/** The first leaf of an origin. */
export interface GenesisAnchor extends AnchorHeader {
  readonly kind: "genesis";
  readonly clusterId: string;
  readonly rootThk: string;
}

/** From here on another version of the trust root judges this origin. */
export interface TrustRootAnchor extends AnchorHeader {
  readonly kind: "trust_root";
  readonly version: number;
  readonly rootThk: string;
}

/** An anchor of a kind that is younger than this version. */
export interface UnknownAnchor extends AnchorHeader {
  readonly kind: "unknown";
  readonly statedKind: string;
  /** All members by their wire names. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** A leaf of an origin's tree whose kind this version knows. */
export type KnownAnchor =
  | GenesisAnchor
  | EventAnchor
  | ClaimAnchor
  | GrantAnchor
  | RevocationAnchor
  | TrustRootAnchor
  | SignedEventAnchor;

/** A leaf of an origin's tree. `kind` says which. */
export type Anchor = KnownAnchor | UnknownAnchor;

export const readState: Reader<RecordState> = oneOf(["active", "superseded", "revoked", "expired"]);

const HEADER = {
  anchorId: readHex32,
  originFingerprint: readHex32,
  depth: readCount,
  sequence: readCount,
  parentAnchorId: nullable(readHex32),
  acceptedMs: readCount,
  acceptedAt: readText,
  finality: oneOf(["committed", "certified"]),
} as const;

const semanticAnchor = record<SemanticAnchorAnswer>({
  irisRef: nullable(readHex32),
  scrollRef: nullable(readHex32),
  grantRef: nullable(readHex32),
  bondRef: nullable(readHex32),
  yieldRef: nullable(readHex32),
  eventDataHash: nullable(readHex32),
});

const EVENT = {
  ...HEADER,
  eventHash: readHex32,
  semanticAnchor: nullable(semanticAnchor),
  clientEventCommit: nullable(readHex32),
  clientEventId: optional(readText),
  clientEventSalt: optional(readHex32),
  clientEventErased: (value: unknown, path: string): boolean => value !== undefined && readFlag(value, path),
} as const;

const BY_KIND: ReadonlyMap<unknown, Reader<KnownAnchor>> = new Map<unknown, Reader<KnownAnchor>>([
  ["event", record<EventAnchor>({ kind: oneOf(["event"]), ...EVENT })],
  [
    "signed_event",
    record<SignedEventAnchor>({
      kind: oneOf(["signed_event"]),
      ...EVENT,
      actorPublicKey: readHex32,
      actorSignature: readHex64,
    }),
  ],
  [
    "claim",
    record<ClaimAnchor>({
      kind: oneOf(["claim"]),
      ...HEADER,
      state: readState,
      entityFingerprint: readHex32,
      attributeType: readCount,
      attributeHash: readHex32,
      issuedAt: readCount,
      expiresAt: readCount,
      subjectPublicKey: readHex32,
      subjectSignature: readHex64,
      issuerPublicKey: readHex32,
      issuerSignature: readHex64,
    }),
  ],
  [
    "grant",
    record<GrantAnchor>({
      kind: oneOf(["grant"]),
      ...HEADER,
      state: readState,
      grantorClaimRef: readHex32,
      granteeClaimRef: readHex32,
      parentGrantRef: nullable(readHex32),
      scopeHash: readHex32,
      delegationDepth: readCount,
      issuedAt: readCount,
      notBefore: readCount,
      expiresAt: readCount,
      grantorPublicKey: readHex32,
      grantorSignature: readHex64,
      witnessPublicKey: readHex32,
      witnessSignature: readHex64,
    }),
  ],
  [
    "revocation",
    record<RevocationAnchor>({
      kind: oneOf(["revocation"]),
      ...HEADER,
      targetAnchorId: readHex32,
      reason: oneOf(REVOCATION_REASONS),
      suspectSince: readCount,
      issuedAt: readCount,
      authority: oneOf(REVOCATION_AUTHORITIES),
      revoker: readHex32,
      signature: nullable(readHex64),
    }),
  ],
  ["genesis", record<GenesisAnchor>({ kind: oneOf(["genesis"]), ...HEADER, clusterId: readHex32, rootThk: readHex32 })],
  [
    "trust_root",
    record<TrustRootAnchor>({ kind: oneOf(["trust_root"]), ...HEADER, version: readCount, rootThk: readHex32 }),
  ],
]);

const readHeader = record<AnchorHeader>(HEADER);

/** An anchor of whatever kind, whose id is the hash of what it shows. */
export const readAnchor: Reader<Anchor> = (value, path) => {
  const members = readObject(value, path);
  const statedKind = readText(members["kind"], `${path}.kind`);
  const read = BY_KIND.get(statedKind);
  const anchor: Anchor =
    read === undefined ? { kind: "unknown", statedKind, ...readHeader(value, path), members } : read(value, path);
  return isWhatItShows(anchor) ? anchor : refuse(path, "what its anchor_id is the hash of");
};

function anchorOf<Kind extends KnownAnchor["kind"]>(kinds: readonly Kind[]): Reader<Extract<Anchor, { kind: Kind }>> {
  const isOfKind = oneOf(kinds);
  return (value, path) => {
    isOfKind(readObject(value, path)["kind"], `${path}.kind`);
    return readAnchor(value, path) as Extract<Anchor, { kind: Kind }>;
  };
}

export const readClaimAnchor = anchorOf(["claim"]);
export const readGrantAnchor = anchorOf(["grant"]);
export const readRevocationAnchor = anchorOf(["revocation"]);
export const readEventAnchor = anchorOf(["event", "signed_event"]);
