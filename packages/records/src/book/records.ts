/**
 * Claims, grants and their endings, as the rules see them. Records are derived from leaves, in the order of their
 * sequences: with the leaves they can be derived again, except for who recorded them. docs/PROTOCOL.md, "Lineages".
 */
import { ByteWriter, LEAF_KIND, assertNever, bytesToHex, concatBytes, isZero } from "@event-anchoring/protocol";
import type {
  AnchorId,
  ClaimLeaf,
  GrantLeaf,
  Leaf,
  OriginFingerprint,
  RevocationLeaf,
  Sha256,
} from "@event-anchoring/protocol";

/** What the ledger knows of a claim or a grant besides its leaf. */
export interface RecordSource {
  readonly anchorId: AnchorId;
  /** 16 bytes: the API client that recorded it; null: not known, since leaves do not hold it. */
  readonly recordedBy: Uint8Array | null;
}

/** One claim: a link of its lineage. */
export interface ClaimRecord extends RecordSource {
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
  /** 32 bytes. */
  readonly entityFingerprint: Uint8Array;
  /** u32. */
  readonly attributeType: number;
  readonly subjectPublicKey: Uint8Array;
  readonly issuerPublicKey: Uint8Array;
  /** Unix milliseconds, 0 = never. */
  readonly expiresAt: number;
  /** Sequence of the first claim of its lineage. */
  readonly lineage: number;
  /** Sequence of the claim that superseded it; null: none. */
  readonly supersededAt: number | null;
  /** Sequence of the first revocation of it; null: none. */
  readonly revokedAt: number | null;
}

/** One grant. It refers to claims and grants by their sequences. */
export interface GrantRecord extends RecordSource {
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
  readonly grantorClaim: number;
  readonly granteeClaim: number;
  /** Lineages of the two claims. */
  readonly grantorLineage: number;
  readonly granteeLineage: number;
  /** Entities of the two claims, 32 bytes each. */
  readonly grantorFingerprint: Uint8Array;
  readonly granteeFingerprint: Uint8Array;
  /** null: a root grant. */
  readonly parent: number | null;
  /** Grants from the root to this one, both included: 1 for a root grant. */
  readonly links: number;
  /** How many further hops may be granted below. */
  readonly delegationDepth: number;
  /** Unix milliseconds; an unset bound is inherited from the parent; 0 = not bounded by it either. */
  readonly notBefore: number;
  readonly expiresAt: number;
  readonly grantorPublicKey: Uint8Array;
  readonly witnessPublicKey: Uint8Array;
  /** Sequence of the grant between the same lineages that superseded it; null: none. */
  readonly supersededAt: number | null;
  /** Sequence of the first revocation of it; null: none. */
  readonly revokedAt: number | null;
}

/** What the rules of force look up. */
export interface Records {
  claim(sequence: number): ClaimRecord | null;
  grant(sequence: number): GrantRecord | null;
  /** The newest claim of a lineage whose sequence is at most `upTo`. */
  newestClaimOf(lineage: number, upTo: number): ClaimRecord | null;
}

/** Further look-ups of deciding: the record that a new one would supersede. */
export interface RecordIndex extends Records {
  /** The newest claim of a pair. @param pairHash claimPairHash */
  newestClaimOfPair(pairHash: Uint8Array): ClaimRecord | null;
  /** The newest grant between two lineages. */
  newestGrantBetween(grantorLineage: number, granteeLineage: number): GrantRecord | null;
}

/** How a record has ended, if it has. */
export type RecordEnds = Pick<ClaimRecord, "supersededAt" | "revokedAt">;

/** Which record has ended. */
export interface EndedRecord {
  readonly kind: "claim" | "grant";
  readonly sequence: number;
}

/** Names a pair (entity_fingerprint, attribute_type): H(entity ‖ u32). Local to a node's look-ups; never signed. */
export function claimPairHash(
  claim: { readonly entityFingerprint: Uint8Array; readonly attributeType: number },
  sha256: Sha256,
): Uint8Array {
  return sha256(new ByteWriter(36).bytes(claim.entityFingerprint, 32).u32(claim.attributeType).finish());
}

/** Names the two entities of a grant: H(grantor ‖ grantee). Local to a node's look-ups; never signed. */
export function grantPartiesHash(
  grant: { readonly grantorFingerprint: Uint8Array; readonly granteeFingerprint: Uint8Array },
  sha256: Sha256,
): Uint8Array {
  return sha256(concatBytes(grant.grantorFingerprint, grant.granteeFingerprint));
}

/** A new claim continues the lineage of the pair's newest claim, unless that one is revoked. */
function continuesLineage(newest: ClaimRecord | null): newest is ClaimRecord {
  return newest !== null && newest.revokedAt === null;
}

/** Who recorded it. Always known, except in a book made from leaves alone. */
export function recorderOf({ recordedBy, sequence }: Pick<ClaimRecord, "recordedBy" | "sequence">): Uint8Array {
  if (recordedBy === null) throw new RangeError(`the API client that recorded sequence ${sequence} is not known`);
  return recordedBy;
}

function claimRecordOf(leaf: ClaimLeaf, source: RecordSource, newest: ClaimRecord | null): ClaimRecord {
  return {
    anchorId: source.anchorId,
    recordedBy: source.recordedBy,
    originFingerprint: leaf.originFingerprint,
    sequence: leaf.sequence,
    entityFingerprint: leaf.entityFingerprint,
    attributeType: leaf.attributeType,
    subjectPublicKey: leaf.subjectPublicKey,
    issuerPublicKey: leaf.issuerPublicKey,
    expiresAt: leaf.expiresAt,
    lineage: continuesLineage(newest) ? newest.lineage : leaf.sequence,
    supersededAt: null,
    revokedAt: null,
  };
}

/** The records that a grant names. */
export interface GrantParties {
  readonly grantor: ClaimRecord;
  readonly grantee: ClaimRecord;
  /** null: a root grant. */
  readonly parent: GrantRecord | null;
}

function grantRecordOf(leaf: GrantLeaf, source: RecordSource, parties: GrantParties): GrantRecord {
  const { grantor, grantee, parent } = parties;
  return {
    anchorId: source.anchorId,
    recordedBy: source.recordedBy,
    originFingerprint: leaf.originFingerprint,
    sequence: leaf.sequence,
    grantorClaim: grantor.sequence,
    granteeClaim: grantee.sequence,
    grantorLineage: grantor.lineage,
    granteeLineage: grantee.lineage,
    grantorFingerprint: grantor.entityFingerprint,
    granteeFingerprint: grantee.entityFingerprint,
    parent: parent?.sequence ?? null,
    links: (parent?.links ?? 0) + 1,
    delegationDepth: leaf.delegationDepth,
    // A bound of the grant's own lies inside the parent's, so the narrower one always applies.
    notBefore: leaf.notBefore === 0 ? (parent?.notBefore ?? 0) : leaf.notBefore,
    expiresAt: leaf.expiresAt === 0 ? (parent?.expiresAt ?? 0) : leaf.expiresAt,
    grantorPublicKey: leaf.grantorPublicKey,
    witnessPublicKey: leaf.witnessPublicKey,
    supersededAt: null,
    revokedAt: null,
  };
}

/** What a leaf has added to a book. */
export type AppendedRecord =
  | { readonly kind: "claim"; readonly record: ClaimRecord }
  | { readonly kind: "grant"; readonly record: GrantRecord }
  /** By sequence: the revocation, and the claim or grant that it revokes. */
  | { readonly kind: "revocation"; readonly sequence: number; readonly target: number }
  /** It names a claim or a grant that the book does not hold: nothing was added. */
  | { readonly kind: "dangling"; readonly missing: AnchorId }
  /** No claim, grant or revocation. */
  | { readonly kind: "other" };

const NOTHING: RecordIndex = {
  claim: () => null,
  grant: () => null,
  newestClaimOf: () => null,
  newestClaimOfPair: () => null,
  newestGrantBetween: () => null,
};

function lineagesKey(grantorLineage: number, granteeLineage: number): string {
  return `${grantorLineage}:${granteeLineage}`;
}

/**
 * Derives records from leaves, in order, on top of a base of known records. For an entry that is being decided the base
 * is the tables; for a rebuild, or a bundle that is judged offline, it is empty.
 */
export class RecordBook implements RecordIndex {
  readonly #base: RecordIndex;
  readonly #sha256: Sha256;
  readonly #claims = new Map<number, ClaimRecord>();
  readonly #grants = new Map<number, GrantRecord>();
  /** Records of the base that ended here, with their endings. */
  readonly #endedClaims = new Map<number, ClaimRecord>();
  readonly #endedGrants = new Map<number, GrantRecord>();
  /** Sequences of the claims that were added, by lineage, ascending. */
  readonly #lineages = new Map<number, number[]>();
  /** Records that ended here, in the order of their endings. */
  readonly #endedInOrder: EndedRecord[] = [];
  readonly #pairs = new Map<string, number>();
  readonly #between = new Map<string, number>();
  /** Sequences of records added leaf by leaf, by the hex of the anchor id. */
  readonly #sequences = new Map<string, number>();

  constructor(sha256: Sha256, base: RecordIndex = NOTHING) {
    this.#sha256 = sha256;
    this.#base = base;
  }

  claim(sequence: number): ClaimRecord | null {
    return this.#claims.get(sequence) ?? this.#claimAfter(this.#base.claim(sequence));
  }

  grant(sequence: number): GrantRecord | null {
    return this.#grants.get(sequence) ?? this.#grantAfter(this.#base.grant(sequence));
  }

  newestClaimOf(lineage: number, upTo: number): ClaimRecord | null {
    const added = this.#lineages.get(lineage) ?? [];
    for (let at = added.length - 1; at >= 0; at--) {
      const sequence = added[at];
      if (sequence !== undefined && sequence <= upTo) return this.claim(sequence);
    }
    return this.#claimAfter(this.#base.newestClaimOf(lineage, upTo));
  }

  newestClaimOfPair(pairHash: Uint8Array): ClaimRecord | null {
    const added = this.#pairs.get(bytesToHex(pairHash));
    return added === undefined ? this.#claimAfter(this.#base.newestClaimOfPair(pairHash)) : this.claim(added);
  }

  newestGrantBetween(grantorLineage: number, granteeLineage: number): GrantRecord | null {
    const added = this.#between.get(lineagesKey(grantorLineage, granteeLineage));
    if (added !== undefined) return this.grant(added);
    return this.#grantAfter(this.#base.newestGrantBetween(grantorLineage, granteeLineage));
  }

  /** A claim or a grant that `append` has added. */
  find(anchorId: Uint8Array): ClaimRecord | GrantRecord | null {
    return this.#findClaim(anchorId) ?? this.#findGrant(anchorId);
  }

  #findClaim(anchorId: Uint8Array): ClaimRecord | null {
    const sequence = this.#sequences.get(bytesToHex(anchorId));
    return sequence === undefined ? null : (this.#claims.get(sequence) ?? null);
  }

  #findGrant(anchorId: Uint8Array): GrantRecord | null {
    const sequence = this.#sequences.get(bytesToHex(anchorId));
    return sequence === undefined ? null : (this.#grants.get(sequence) ?? null);
  }

  /**
   * Derives a record from a leaf that the ledger has accepted: nothing is judged. For a book with an empty base.
   * @param leaf of any kind, in ascending order of sequences
   */
  append(leaf: Leaf, source: RecordSource): AppendedRecord {
    switch (leaf.kind) {
      case LEAF_KIND.claim:
        this.#sequences.set(bytesToHex(source.anchorId), leaf.sequence);
        return { kind: "claim", record: this.addClaim(leaf, source) };
      case LEAF_KIND.grant:
        return this.#appendGrant(leaf, source);
      case LEAF_KIND.revocation:
        return this.#appendRevocation(leaf);
      case LEAF_KIND.genesis:
      case LEAF_KIND.event:
      case LEAF_KIND.trustRoot:
      case LEAF_KIND.signedEvent:
        return { kind: "other" };
      default:
        return assertNever(leaf);
    }
  }

  #appendGrant(leaf: GrantLeaf, source: RecordSource): AppendedRecord {
    const grantor = this.#findClaim(leaf.grantorClaimRef);
    if (grantor === null) return { kind: "dangling", missing: leaf.grantorClaimRef as AnchorId };
    const grantee = this.#findClaim(leaf.granteeClaimRef);
    if (grantee === null) return { kind: "dangling", missing: leaf.granteeClaimRef as AnchorId };
    const isRoot = isZero(leaf.parentGrantRef);
    const parent = isRoot ? null : this.#findGrant(leaf.parentGrantRef);
    if (!isRoot && parent === null) return { kind: "dangling", missing: leaf.parentGrantRef as AnchorId };
    this.#sequences.set(bytesToHex(source.anchorId), leaf.sequence);
    return { kind: "grant", record: this.addGrant(leaf, source, { grantor, grantee, parent }) };
  }

  #appendRevocation({ targetAnchorId, sequence }: RevocationLeaf): AppendedRecord {
    const claim = this.#findClaim(targetAnchorId);
    const target = claim ?? this.#findGrant(targetAnchorId);
    if (target === null) return { kind: "dangling", missing: targetAnchorId };
    this.revoke(claim === null ? "grant" : "claim", target.sequence, sequence);
    return { kind: "revocation", sequence, target: target.sequence };
  }

  /** Adds a claim as the newest of its pair. */
  addClaim(leaf: ClaimLeaf, source: RecordSource): ClaimRecord {
    const pairHash = claimPairHash(leaf, this.#sha256);
    const newest = this.newestClaimOfPair(pairHash);
    const record = claimRecordOf(leaf, source, newest);
    if (continuesLineage(newest)) this.#endClaim(newest, { supersededAt: record.sequence });
    this.#claims.set(record.sequence, record);
    this.#pairs.set(bytesToHex(pairHash), record.sequence);
    const links = this.#lineages.get(record.lineage);
    if (links === undefined) this.#lineages.set(record.lineage, [record.sequence]);
    else links.push(record.sequence);
    return record;
  }

  /** Adds a grant, which supersedes an older one between the same lineages. */
  addGrant(leaf: GrantLeaf, source: RecordSource, parties: GrantParties): GrantRecord {
    const record = grantRecordOf(leaf, source, parties);
    const { grantorLineage, granteeLineage } = record;
    const older = this.newestGrantBetween(grantorLineage, granteeLineage);
    if (older !== null && older.revokedAt === null) this.#endGrant(older, { supersededAt: record.sequence });
    this.#grants.set(record.sequence, record);
    this.#between.set(lineagesKey(grantorLineage, granteeLineage), record.sequence);
    return record;
  }

  /** The first revocation counts; a later one changes nothing. @param sequence of the revocation's leaf */
  revoke(kind: "claim" | "grant", target: number, sequence: number): void {
    const claim = kind === "claim" ? this.claim(target) : null;
    const grant = kind === "grant" ? this.grant(target) : null;
    if (claim === null && grant === null) throw new RangeError(`no ${kind} has sequence ${target}`);
    if (claim?.revokedAt === null) this.#endClaim(claim, { revokedAt: sequence });
    if (grant?.revokedAt === null) this.#endGrant(grant, { revokedAt: sequence });
  }

  /** Added claims with their endings, in the order of sequences. */
  addedClaims(): ClaimRecord[] {
    return [...this.#claims.values()];
  }

  addedGrants(): GrantRecord[] {
    return [...this.#grants.values()];
  }

  /** Records of the base that have ended here, with their endings, ascending by sequence. */
  endedClaims(): ClaimRecord[] {
    return bySequence(this.#endedClaims.values());
  }

  endedGrants(): GrantRecord[] {
    return bySequence(this.#endedGrants.values());
  }

  /** Endings after the first `seen` ones, oldest first. A record may end twice: superseded, and revoked. */
  endedSince(seen: number): readonly EndedRecord[] {
    return this.#endedInOrder.slice(seen);
  }

  #claimAfter(claim: ClaimRecord | null): ClaimRecord | null {
    return claim === null ? null : (this.#endedClaims.get(claim.sequence) ?? claim);
  }

  #grantAfter(grant: GrantRecord | null): GrantRecord | null {
    return grant === null ? null : (this.#endedGrants.get(grant.sequence) ?? grant);
  }

  #endClaim(claim: ClaimRecord, ends: Partial<RecordEnds>): void {
    const { sequence } = claim;
    this.#endedInOrder.push({ kind: "claim", sequence });
    const records = this.#claims.has(sequence) ? this.#claims : this.#endedClaims;
    records.set(sequence, { ...claim, ...ends });
  }

  #endGrant(grant: GrantRecord, ends: Partial<RecordEnds>): void {
    const { sequence } = grant;
    this.#endedInOrder.push({ kind: "grant", sequence });
    const records = this.#grants.has(sequence) ? this.#grants : this.#endedGrants;
    records.set(sequence, { ...grant, ...ends });
  }
}

function bySequence<Ended extends ClaimRecord | GrantRecord>(records: Iterable<Ended>): Ended[] {
  return [...records].sort((a, b) => a.sequence - b.sequence);
}
