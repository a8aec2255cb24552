/**
 * Whether the record of a claim or a grant agrees with its leaf. Records are rows that are derived once and read many
 * times; altering one alters what is in force, and no hash would notice.
 */
import { LEAF_KIND, bytesToHex, equalBytes, isZero } from "@event-anchoring/protocol";
import type { ClaimLeaf, GrantLeaf } from "@event-anchoring/protocol";
import type { AsOf } from "../book/as-of.ts";
import type { KnownLeaf, LeafRows } from "./leaf-rows.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** A record with its leaf, or why the record is not trusted. */
export type JudgedRecord<Found> =
  | { readonly leaf: Found; readonly fault: null }
  | { readonly leaf: null; readonly fault: string };

type Comparison = readonly [field: string, isSame: boolean];

function firstDifference(comparisons: readonly Comparison[]): string | null {
  return comparisons.find(([, isSame]) => !isSame)?.[0] ?? null;
}

function isSameAnchor(record: ClaimRecord | GrantRecord, row: KnownLeaf): boolean {
  return equalBytes(record.anchorId, row.anchorId) && equalBytes(record.originFingerprint, row.leaf.originFingerprint);
}

/** The leaf of a record, or why there is none. */
function rowOf(record: ClaimRecord | GrantRecord, leaves: LeafRows): KnownLeaf | string {
  const row = leaves.at(record.sequence);
  if (row === null) return `the leaf of sequence ${record.sequence} is missing`;
  if (isSameAnchor(record, row)) return row;
  return `the leaf of sequence ${record.sequence} hashes to ${bytesToHex(row.anchorId)}, its record names another`;
}

function differs(record: ClaimRecord | GrantRecord, field: string): string {
  return `the record of sequence ${record.sequence} differs from its leaf in ${field}`;
}

/** Why an ending that the record states is not genuine, or null. Endings after `at` are not checked. */
function endingFault(
  record: ClaimRecord | GrantRecord,
  kind: (ClaimLeaf | GrantLeaf)["kind"],
  leaves: LeafRows,
  at: AsOf,
): string | null {
  const { revokedAt, supersededAt, sequence } = record;
  if (revokedAt !== null && revokedAt <= at.sequence) {
    const leaf = leaves.at(revokedAt)?.leaf;
    const isRevocation =
      leaf?.kind === LEAF_KIND.revocation && equalBytes(leaf.targetAnchorId, record.anchorId) && revokedAt > sequence;
    if (!isRevocation) return `the record of sequence ${sequence} is revoked at ${revokedAt}, where nothing revokes it`;
  }
  if (supersededAt !== null && supersededAt <= at.sequence) {
    const isSuccessor = leaves.at(supersededAt)?.leaf.kind === kind && supersededAt > sequence;
    if (!isSuccessor)
      return `the record of sequence ${sequence} is superseded at ${supersededAt}, where nothing takes its place`;
  }
  return null;
}

/** Compares a claim's record with its leaf, and its endings up to a position with the leaves that made them. */
export function judgeClaimRecord(record: ClaimRecord, leaves: LeafRows, at: AsOf): JudgedRecord<ClaimLeaf> {
  const row = rowOf(record, leaves);
  if (typeof row === "string") return { leaf: null, fault: row };
  const { leaf } = row;
  if (leaf.kind !== LEAF_KIND.claim)
    return { leaf: null, fault: `the leaf of sequence ${record.sequence} is no claim` };
  const difference = firstDifference([
    ["entity_fingerprint", equalBytes(record.entityFingerprint, leaf.entityFingerprint)],
    ["attribute_type", record.attributeType === leaf.attributeType],
    ["subject_public_key", equalBytes(record.subjectPublicKey, leaf.subjectPublicKey)],
    ["issuer_public_key", equalBytes(record.issuerPublicKey, leaf.issuerPublicKey)],
    ["expires_at", record.expiresAt === leaf.expiresAt],
    ["its lineage", record.lineage <= record.sequence],
  ]);
  if (difference !== null) return { leaf: null, fault: differs(record, difference) };
  const fault = endingFault(record, LEAF_KIND.claim, leaves, at);
  return fault === null ? { leaf, fault } : { leaf: null, fault };
}

// A record that is not loaded is no fault of the one that names it.

function namesClaim(claim: ClaimRecord | null, reference: Uint8Array, lineage: number): boolean {
  return claim === null || (equalBytes(claim.anchorId, reference) && claim.lineage === lineage);
}

function namesParent(record: GrantRecord, parent: GrantRecord | null, leaf: GrantLeaf): boolean {
  if (record.parent === null) return isZero(leaf.parentGrantRef) && record.links === 1;
  return parent === null || (equalBytes(parent.anchorId, leaf.parentGrantRef) && record.links === parent.links + 1);
}

/** Whether a bound is the grant's own, or else the one it inherits. */
function isBound(bound: number, own: number, record: GrantRecord, ofParent: number | undefined): boolean {
  if (own !== 0) return bound === own;
  return record.parent === null ? bound === 0 : ofParent === undefined || bound === ofParent;
}

/** Compares a grant's record with its leaf and with the records it names. */
export function judgeGrantRecord(
  record: GrantRecord,
  records: Records,
  leaves: LeafRows,
  at: AsOf,
): JudgedRecord<GrantLeaf> {
  const row = rowOf(record, leaves);
  if (typeof row === "string") return { leaf: null, fault: row };
  const { leaf } = row;
  if (leaf.kind !== LEAF_KIND.grant)
    return { leaf: null, fault: `the leaf of sequence ${record.sequence} is no grant` };
  const grantor = records.claim(record.grantorClaim);
  const grantee = records.claim(record.granteeClaim);
  const parent = record.parent === null ? null : records.grant(record.parent);
  const difference = firstDifference([
    ["grantor_claim_ref", namesClaim(grantor, leaf.grantorClaimRef, record.grantorLineage)],
    ["grantee_claim_ref", namesClaim(grantee, leaf.granteeClaimRef, record.granteeLineage)],
    ["parent_grant_ref", namesParent(record, parent, leaf)],
    ["delegation_depth", record.delegationDepth === leaf.delegationDepth],
    ["not_before", isBound(record.notBefore, leaf.notBefore, record, parent?.notBefore)],
    ["expires_at", isBound(record.expiresAt, leaf.expiresAt, record, parent?.expiresAt)],
    ["grantor_public_key", equalBytes(record.grantorPublicKey, leaf.grantorPublicKey)],
    ["witness_public_key", equalBytes(record.witnessPublicKey, leaf.witnessPublicKey)],
  ]);
  if (difference !== null) return { leaf: null, fault: differs(record, difference) };
  const fault = endingFault(record, LEAF_KIND.grant, leaves, at);
  return fault === null ? { leaf, fault } : { leaf: null, fault };
}
