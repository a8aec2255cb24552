/** Whether the links of a delegation are genuine. docs/PROTOCOL.md, "Delegation". */
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, ClaimLeaf, Crypto, GrantLeaf } from "@event-anchoring/protocol";
import type { AsOf } from "../book/as-of.ts";
import type { LeafRows } from "./leaf-rows.ts";
import { judgeClaimRecord, judgeGrantRecord } from "./record-faults.ts";
import type { JudgedRecord } from "./record-faults.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";
import { claimSignatures, grantSignatures } from "../book/signatures.ts";
import type { SignatureToVerify } from "../book/signatures.ts";

export type DelegationFaultCode =
  /** A record contradicts its leaf, or the leaf is missing. */
  | "record_differs"
  /** A claim or a grant that its parties have not signed. */
  | "signature_invalid"
  | "grantor_key_mismatch"
  | "witness_is_grantor"
  /** A grant that does not follow from its parent. */
  | "delegation_broken";

/** A fault that no ledger would have accepted. */
export interface DelegationFault {
  readonly code: DelegationFaultCode;
  readonly anchorId: AnchorId;
  readonly detail: string;
}

function isInside(child: GrantRecord, parent: GrantRecord): boolean {
  const endsInside = parent.expiresAt === 0 || (child.expiresAt !== 0 && child.expiresAt <= parent.expiresAt);
  return child.notBefore >= parent.notBefore && endsInside;
}

/** How a grant does not follow from its parent, from the records alone. */
export function parentLinkFault(child: GrantRecord, records: Records): DelegationFault | null {
  if (child.parent === null) return null;
  const broken = (detail: string): DelegationFault => ({
    code: "delegation_broken",
    anchorId: child.anchorId,
    detail: `grant of sequence ${child.sequence}: ${detail}`,
  });
  if (child.parent >= child.sequence) return broken(`its parent has sequence ${child.parent}`);
  const parent = records.grant(child.parent);
  if (parent === null) return null;
  if (parent.granteeLineage !== child.grantorLineage)
    return broken(
      `its grantor is of lineage ${child.grantorLineage}, its parent's grantee of ${parent.granteeLineage}`,
    );
  if (child.delegationDepth >= parent.delegationDepth)
    return broken(`its delegation depth is ${child.delegationDepth}, its parent's ${parent.delegationDepth}`);
  if (!isInside(child, parent))
    return broken(
      `its window [${child.notBefore}, ${child.expiresAt}) is not inside [${parent.notBefore}, ${parent.expiresAt})`,
    );
  return null;
}

function hasEnded({ supersededAt, revokedAt }: ClaimRecord, at: AsOf): boolean {
  return [supersededAt, revokedAt].some((sequence) => sequence !== null && sequence <= at.sequence);
}

function isSamePair(a: ClaimRecord, b: ClaimRecord): boolean {
  return a.attributeType === b.attributeType && equalBytes(a.entityFingerprint, b.entityFingerprint);
}

function witnessKeyFault({ anchorId, grantorPublicKey, witnessPublicKey }: GrantRecord): DelegationFault | null {
  if (!equalBytes(grantorPublicKey, witnessPublicKey)) return null;
  return { code: "witness_is_grantor", anchorId, detail: "the witness is the grantor" };
}

/** Judges claims and grants over loaded rows, each of them once. */
export class DelegationJudge {
  readonly #records: Records;
  readonly #leaves: LeafRows;
  readonly #at: AsOf;
  readonly #crypto: Crypto;
  readonly #claims = new Map<number, DelegationFault | null>();

  /** @param leaves the leaves of the records and of their endings up to `at` */
  constructor(records: Records, leaves: LeafRows, at: AsOf, crypto: Crypto) {
    this.#records = records;
    this.#leaves = leaves;
    this.#at = at;
    this.#crypto = crypto;
  }

  claimRecord(record: ClaimRecord): JudgedRecord<ClaimLeaf> {
    return judgeClaimRecord(record, this.#leaves, this.#at);
  }

  grantRecord(record: GrantRecord): JudgedRecord<GrantLeaf> {
    return judgeGrantRecord(record, this.#records, this.#leaves, this.#at);
  }

  /** The record of a claim against its leaf, and its nested signatures; null: nothing is wrong, or it is not loaded. */
  claimFault(sequence: number): DelegationFault | null {
    const known = this.#claims.get(sequence);
    if (known !== undefined) return known;
    const fault = this.#judgeClaim(sequence);
    this.#claims.set(sequence, fault);
    return fault;
  }

  grantorClaimFault(grant: GrantRecord): DelegationFault | null {
    return this.#partyFault(grant.grantorClaim) ?? this.#keyFault(grant);
  }

  granteeClaimFault(grant: GrantRecord): DelegationFault | null {
    return this.#partyFault(grant.granteeClaim);
  }

  /** All faults of one link: in its record, its signatures, its claims, and how it follows from its parent. */
  linkFaults(grant: GrantRecord): DelegationFault[] {
    const { leaf, fault } = this.grantRecord(grant);
    const { anchorId, sequence } = grant;
    const record: DelegationFault | null = fault === null ? null : { code: "record_differs", anchorId, detail: fault };
    const [ofGrantor, ofWitness] = leaf === null ? [] : grantSignatures(leaf, this.#crypto.sha256);
    return [
      record,
      this.#signatureFault(anchorId, sequence, ofGrantor),
      this.#signatureFault(anchorId, sequence, ofWitness),
      witnessKeyFault(grant),
      this.grantorClaimFault(grant),
      this.granteeClaimFault(grant),
      parentLinkFault(grant, this.#records),
    ].filter((each) => each !== null);
  }

  #judgeClaim(sequence: number): DelegationFault | null {
    const record = this.#records.claim(sequence);
    if (record === null) return null;
    const { anchorId } = record;
    const { leaf, fault } = this.claimRecord(record);
    if (leaf === null) return { code: "record_differs", anchorId, detail: fault };
    for (const signature of claimSignatures(leaf, this.#crypto.sha256)) {
      const bad = this.#signatureFault(anchorId, sequence, signature);
      if (bad !== null) return bad;
    }
    return null;
  }

  /** A claim that a grant names, and the newest one of its lineage at the position. */
  #partyFault(sequence: number): DelegationFault | null {
    const fault = this.claimFault(sequence);
    if (fault !== null) return fault;
    const named = this.#records.claim(sequence);
    const newest = named === null ? null : this.#records.newestClaimOf(named.lineage, this.#at.sequence);
    if (named === null || newest === null || newest.sequence === named.sequence) return null;
    const { anchorId } = named;
    const differs = (detail: string): DelegationFault => ({ code: "record_differs", anchorId, detail });
    if (!hasEnded(named, this.#at)) return differs(`sequence ${newest.sequence} continues the claim of ${sequence}`);
    if (!isSamePair(named, newest)) return differs(`sequence ${newest.sequence} is of another pair than ${sequence}`);
    return this.claimFault(newest.sequence);
  }

  #signatureFault(
    anchorId: AnchorId,
    sequence: number,
    toVerify: SignatureToVerify | undefined,
  ): DelegationFault | null {
    if (toVerify === undefined) return null;
    const { publicKey, message, signature, pointer } = toVerify;
    if (this.#crypto.ed25519Verify(publicKey, message, signature)) return null;
    const detail = `sequence ${sequence}: ${pointer.slice(1)} is not one of key ${bytesToHex(publicKey)}`;
    return { code: "signature_invalid", anchorId, detail };
  }

  #keyFault({ anchorId, grantorClaim, grantorPublicKey }: GrantRecord): DelegationFault | null {
    const claim = this.#records.claim(grantorClaim);
    if (claim === null || equalBytes(claim.subjectPublicKey, grantorPublicKey)) return null;
    const detail = `the key is ${bytesToHex(grantorPublicKey)}, the claim's ${bytesToHex(claim.subjectPublicKey)}`;
    return { code: "grantor_key_mismatch", anchorId, detail };
  }
}
