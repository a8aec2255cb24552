/** Claims, grants and their endings, derived from the leaves of a snapshot and from those already written. */
import { contentHashOfRecord } from "@event-anchoring/ledger";
import { RecordBook, claimPairHash } from "@event-anchoring/records";
import type { ContentWrite, EntryWrites, Facts, GrantPartiesQuery, RevocationWrite } from "@event-anchoring/ledger";
import type { ClaimRecord, GrantRecord, RecordSource } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, assertNever, bytesToHex, isZero, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, ClaimLeaf, GrantLeaf, Leaf, RevocationLeaf } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadFacts } from "../ledger/facts.ts";
import type { StoredFactsQuery } from "../ledger/facts.ts";
import type { OriginNumbers } from "../tables/origin-numbers.ts";

const { sha256 } = nodeCrypto;

/** A leaf that claims and grants are derived from. */
export interface RecordLeaf {
  readonly leaf: ClaimLeaf | GrantLeaf | RevocationLeaf;
  readonly anchorId: AnchorId;
  /** 16 bytes: the API client that recorded a claim or a grant; null for a revocation. */
  readonly recordedBy: Uint8Array | null;
}

export function isRecordLeaf(leaf: Leaf): leaf is ClaimLeaf | GrantLeaf | RevocationLeaf {
  return leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant || leaf.kind === LEAF_KIND.revocation;
}

export type RecordWrites = Pick<
  EntryWrites,
  "contents" | "claims" | "grants" | "endedClaims" | "endedGrants" | "revocations"
>;

/**
 * True if a grant names a claim that is not written yet. The newest grant can be looked up only between lineages of
 * written claims. No entry holds both, so this does not split an entry.
 */
export function namesOneOf(leaf: GrantLeaf, claims: ReadonlySet<string>): boolean {
  return claims.has(bytesToHex(leaf.grantorClaimRef)) || claims.has(bytesToHex(leaf.granteeClaimRef));
}

/** The facts that the leaves depend on. */
function factsOf(leaves: readonly RecordLeaf[]): StoredFactsQuery {
  const pairs = new Map<string, Uint8Array>();
  const named = new Map<string, AnchorId>();
  const parties: GrantPartiesQuery[] = [];
  const name = (reference: Uint8Array): AnchorId => {
    const anchorId = toAnchorId(reference);
    named.set(bytesToHex(anchorId), anchorId);
    return anchorId;
  };
  for (const { leaf } of leaves) {
    switch (leaf.kind) {
      case LEAF_KIND.claim: {
        const pairHash = claimPairHash(leaf, sha256);
        pairs.set(bytesToHex(pairHash), pairHash);
        break;
      }
      case LEAF_KIND.grant:
        parties.push({ grantorClaim: name(leaf.grantorClaimRef), granteeClaim: name(leaf.granteeClaimRef) });
        if (!isZero(leaf.parentGrantRef)) name(leaf.parentGrantRef);
        break;
      case LEAF_KIND.revocation:
        name(leaf.targetAnchorId);
        break;
      default:
        assertNever(leaf);
    }
  }
  const recordsAlone = [...named.values()];
  const claimPairs = [...pairs.values()];
  return { clientEvents: [], anchors: [], contents: [], claimPairs, records: [], grantParties: parties, recordsAlone };
}

/**
 * Leaf by leaf, in order. Nothing is judged: the cluster has accepted these leaves. A reference to a missing leaf is
 * refused.
 */
class RecordDerivation {
  readonly #facts: Facts;
  readonly #book: RecordBook;
  /** Sequences of the records added here, by the hex of the anchor id. */
  readonly #added = new Map<string, number>();
  readonly #contents: ContentWrite[] = [];
  readonly #revocations: RevocationWrite[] = [];

  constructor(facts: Facts) {
    this.#facts = facts;
    this.#book = new RecordBook(sha256, facts.records);
  }

  add({ leaf, anchorId, recordedBy }: RecordLeaf): void {
    const { originFingerprint, sequence } = leaf;
    const targets = { find: (target: Uint8Array) => this.#claim(target) ?? this.#grant(target) };
    const contentHash = contentHashOfRecord(leaf, targets, sha256);
    if (contentHash === null) throw dangling(leaf);
    this.#contents.push({ anchorId, originFingerprint, sequence, contentHash });
    switch (leaf.kind) {
      case LEAF_KIND.claim:
        this.#book.addClaim(leaf, { anchorId, recordedBy });
        break;
      case LEAF_KIND.grant:
        this.#addGrant(leaf, { anchorId, recordedBy });
        break;
      case LEAF_KIND.revocation:
        this.#revoke(leaf);
        break;
      default:
        assertNever(leaf);
    }
    this.#added.set(bytesToHex(anchorId), sequence);
  }

  #sequenceOf(reference: Uint8Array): number {
    const key = bytesToHex(reference);
    return this.#added.get(key) ?? this.#facts.anchors.get(key)?.sequence ?? -1;
  }

  #claim(reference: Uint8Array): ClaimRecord | null {
    return this.#book.claim(this.#sequenceOf(reference));
  }

  #grant(reference: Uint8Array): GrantRecord | null {
    return this.#book.grant(this.#sequenceOf(reference));
  }

  #addGrant(leaf: GrantLeaf, source: RecordSource): void {
    const grantor = this.#claim(leaf.grantorClaimRef);
    const grantee = this.#claim(leaf.granteeClaimRef);
    const parent = this.#grant(leaf.parentGrantRef);
    if (grantor === null || grantee === null || (parent === null && !isZero(leaf.parentGrantRef))) throw dangling(leaf);
    this.#book.addGrant(leaf, source, { grantor, grantee, parent });
  }

  #revoke({ targetAnchorId, sequence }: RevocationLeaf): void {
    const claim = this.#claim(targetAnchorId);
    const target = this.#sequenceOf(targetAnchorId);
    this.#book.revoke(claim === null ? "grant" : "claim", target, sequence);
    this.#revocations.push({ sequence, target });
  }

  writes(): RecordWrites {
    return {
      contents: this.#contents,
      claims: this.#book.addedClaims(),
      grants: this.#book.addedGrants(),
      endedClaims: this.#book.endedClaims(),
      endedGrants: this.#book.endedGrants(),
      revocations: this.#revocations,
    };
  }
}

function dangling(leaf: Leaf): StoreError {
  return new StoreError("snapshot_refused", `leaf ${leaf.sequence} names a claim or a grant that is not before it`);
}

/**
 * At most one SELECT.
 * @param leaves in the order of sequences; none names a claim among them (namesOneOf), all before them are written
 * @throws StoreError `snapshot_refused`
 */
export async function deriveRecords(
  session: Reader,
  leaves: readonly RecordLeaf[],
  numbers: OriginNumbers,
): Promise<RecordWrites> {
  const derivation = new RecordDerivation(await loadFacts(session, factsOf(leaves), numbers));
  for (const leaf of leaves) derivation.add(leaf);
  return derivation.writes();
}
