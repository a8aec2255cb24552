/** Claims and grants in the state tables, and the questions about what they hang on that facts and reads share. */
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { ByteReader, DecodeError, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";
import type { SelectPart } from "../postgres/statement-parts.ts";

/** A claim or a grant. */
export interface RecordRow {
  readonly what: "claim" | "grant";
  /** All its columns: with thousands of links, reading each one by itself takes longer than finding them. */
  readonly record: Uint8Array | null;
}

/** u64; null as 0, everything else one higher. */
function nullable(sql: string): string {
  return `int8send(coalesce(${sql} + 1, 0))`;
}

function readNullable(reader: ByteReader): number | null {
  const value = reader.u64();
  return value === 0 ? null : value - 1;
}

/** What readClaim reads, of `state.claims c` and CLAIM_ANCHOR. */
export const CLAIM_BYTES = [
  "a.anchor_id",
  "o.origin_fingerprint",
  "int8send(c.sequence)",
  "a.api_client_id",
  "c.entity_fingerprint",
  "int8send(c.attribute_type)",
  "c.subject_key",
  "c.issuer_key",
  "int8send(c.expires_ms)",
  "int8send(c.lineage)",
  nullable("c.superseded_at"),
  nullable("c.revoked_at"),
].join(" || ");

function readClaim(reader: ByteReader): ClaimRecord {
  return {
    anchorId: toAnchorId(reader.bytes(32)),
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    sequence: reader.u64(),
    recordedBy: reader.bytes(16),
    entityFingerprint: reader.bytes(32),
    attributeType: reader.u64(),
    subjectPublicKey: reader.bytes(32),
    issuerPublicKey: reader.bytes(32),
    expiresAt: reader.u64(),
    lineage: reader.u64(),
    supersededAt: readNullable(reader),
    revokedAt: readNullable(reader),
  };
}

/** What readGrant reads, of `state.grants g` and GRANT_ANCHOR. */
export const GRANT_BYTES = [
  "a.anchor_id",
  "o.origin_fingerprint",
  "int8send(g.sequence)",
  "a.api_client_id",
  "int8send(g.grantor_claim)",
  "int8send(g.grantee_claim)",
  "int8send(g.grantor_lineage)",
  "int8send(g.grantee_lineage)",
  "g.grantor_fingerprint",
  "g.grantee_fingerprint",
  nullable("g.parent"),
  "int8send(g.links)",
  "int8send(g.delegation_depth)",
  "int8send(g.not_before_ms)",
  "int8send(g.expires_ms)",
  "g.grantor_key",
  "g.witness_key",
  nullable("g.superseded_at"),
  nullable("g.revoked_at"),
].join(" || ");

function readGrant(reader: ByteReader): GrantRecord {
  return {
    anchorId: toAnchorId(reader.bytes(32)),
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    sequence: reader.u64(),
    recordedBy: reader.bytes(16),
    grantorClaim: reader.u64(),
    granteeClaim: reader.u64(),
    grantorLineage: reader.u64(),
    granteeLineage: reader.u64(),
    grantorFingerprint: reader.bytes(32),
    granteeFingerprint: reader.bytes(32),
    parent: readNullable(reader),
    links: reader.u64(),
    delegationDepth: reader.u64(),
    notBefore: reader.u64(),
    expiresAt: reader.u64(),
    grantorPublicKey: reader.bytes(32),
    witnessPublicKey: reader.bytes(32),
    supersededAt: readNullable(reader),
    revokedAt: readNullable(reader),
  };
}

/** Outer joins: a record without its anchor is damage, and not a record less. */
export const CLAIM_ANCHOR = `LEFT JOIN state.anchors a ON a.sequence = c.sequence
  LEFT JOIN state.origins o ON o.origin = a.origin`;

export const GRANT_ANCHOR = `LEFT JOIN state.anchors a ON a.sequence = g.sequence
  LEFT JOIN state.origins o ON o.origin = a.origin`;

function readRow<Found>(bytes: Uint8Array | null, read: (reader: ByteReader) => Found): Found {
  if (bytes === null) throw new StoreError("corrupt", "the row of a claim or a grant has a hole");
  const reader = new ByteReader(bytes);
  try {
    const found = read(reader);
    reader.finish();
    return found;
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new StoreError("corrupt", "the row of a claim or a grant cannot be decoded", { cause });
  }
}

/** @throws StoreError `corrupt` */
export function toClaimRecord({ record }: Pick<RecordRow, "record">): ClaimRecord {
  return readRow(record, readClaim);
}

/** @throws StoreError `corrupt` */
export function toGrantRecord({ record }: Pick<RecordRow, "record">): GrantRecord {
  return readRow(record, readGrant);
}

/** @throws StoreError `corrupt` if something is missing that these grants were loaded with: `relatedRecords` */
export function assertWhole(claims: readonly ClaimRecord[], grants: readonly GrantRecord[]): void {
  const loaded = new Set([...claims, ...grants].map(({ sequence }) => sequence));
  for (const { sequence, parent, grantorClaim, granteeClaim } of grants) {
    const isWhole = loaded.has(grantorClaim) && loaded.has(granteeClaim) && (parent === null || loaded.has(parent));
    if (!isWhole) throw new StoreError("corrupt", `grant ${sequence} names a claim or a grant that is missing`);
  }
}

/**
 * Everything that the claims and grants of `named (sequence)` hang on, as CTEs: ancestors of grants to the root, both
 * claims of each, and of each lineage the newest claim at or before every one of `positions`. Of a chain each grant is
 * visited once, whatever is asked for below it.
 * @param named SELECT of the sequences asked for; those of other anchors are passed over
 * @param positions an array of bigint, as SQL
 */
export function relatedRecords(named: string, positions: string): string {
  return `named (sequence) AS MATERIALIZED (${named}),
    chain (sequence, parent, grantor_claim, grantee_claim, grantor_lineage, grantee_lineage) AS (
      SELECT g.sequence, g.parent, g.grantor_claim, g.grantee_claim, g.grantor_lineage, g.grantee_lineage
      FROM named n JOIN state.grants g ON g.sequence = n.sequence
      UNION
      SELECT g.sequence, g.parent, g.grantor_claim, g.grantee_claim, g.grantor_lineage, g.grantee_lineage
      FROM chain JOIN state.grants g ON g.sequence = chain.parent
    ),
    lineages (lineage) AS (
      SELECT grantor_lineage FROM chain UNION SELECT grantee_lineage FROM chain
      UNION SELECT c.lineage FROM named n JOIN state.claims c ON c.sequence = n.sequence
    ),
    related_claims (sequence) AS (
      SELECT sequence FROM named UNION SELECT grantor_claim FROM chain UNION SELECT grantee_claim FROM chain
      UNION SELECT newest.sequence FROM lineages, unnest(${positions}) AS p (position), LATERAL (
        SELECT c.sequence FROM state.claims c WHERE c.lineage = lineages.lineage AND c.sequence <= p.position
        ORDER BY c.sequence DESC LIMIT 1
      ) AS newest
    )`;
}

/** The rows of what `relatedRecords` has found. */
export const RELATED_RECORDS: readonly SelectPart[] = [
  {
    what: "claim",
    columns: { record: CLAIM_BYTES },
    from: `FROM related_claims r JOIN state.claims c ON c.sequence = r.sequence ${CLAIM_ANCHOR}`,
  },
  {
    what: "grant",
    columns: { record: GRANT_BYTES },
    from: `FROM chain JOIN state.grants g ON g.sequence = chain.sequence ${GRANT_ANCHOR}`,
  },
];
