/** Claims and grants in the state tables, and the questions about what they hang on that facts and reads share. */
import type { ClaimRecord, GrantRecord } from "@event-anchoring/ledger";
import { toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { Columns, SelectPart } from "./sql-parts.ts";

interface RecordRow {
  readonly sequence: number;
  readonly anchor_id: Uint8Array;
  readonly origin_fingerprint: Uint8Array;
  readonly expires_ms: number;
  readonly superseded_at: number | null;
  readonly revoked_at: number | null;
}

export interface ClaimRow extends RecordRow {
  readonly what: "claim";
  readonly lineage: number;
  readonly entity_fingerprint: Uint8Array;
  readonly attribute_type: number;
  readonly subject_key: Uint8Array;
  readonly issuer_key: Uint8Array;
}

export interface GrantRow extends RecordRow {
  readonly what: "grant";
  readonly grantor_claim: number;
  readonly grantee_claim: number;
  readonly grantor_lineage: number;
  readonly grantee_lineage: number;
  readonly grantor_fingerprint: Uint8Array;
  readonly grantee_fingerprint: Uint8Array;
  readonly parent: number | null;
  readonly links: number;
  readonly delegation_depth: number;
  readonly not_before_ms: number;
  readonly grantor_key: Uint8Array;
  readonly witness_key: Uint8Array;
}

function columnsOf(table: string, names: readonly string[]): Columns {
  return Object.fromEntries(names.map((name) => [name, `${table}.${name}`]));
}

const ANCHOR: Columns = { anchor_id: "a.anchor_id", origin_fingerprint: "o.origin_fingerprint" };

/** Columns of ClaimRow, of `state.claims c` and CLAIM_ANCHOR. */
export const CLAIM_COLUMNS: Columns = {
  ...ANCHOR,
  ...columnsOf("c", ["sequence", "expires_ms", "superseded_at", "revoked_at", "lineage", "entity_fingerprint"]),
  ...columnsOf("c", ["attribute_type", "subject_key", "issuer_key"]),
};

/** Columns of GrantRow, of `state.grants g` and GRANT_ANCHOR. */
export const GRANT_COLUMNS: Columns = {
  ...ANCHOR,
  ...columnsOf("g", ["sequence", "expires_ms", "superseded_at", "revoked_at", "grantor_claim", "grantee_claim"]),
  ...columnsOf("g", ["grantor_lineage", "grantee_lineage", "grantor_fingerprint", "grantee_fingerprint", "parent"]),
  ...columnsOf("g", ["links", "delegation_depth", "not_before_ms", "grantor_key", "witness_key"]),
};

export const CLAIM_ANCHOR = `JOIN state.anchors a ON a.sequence = c.sequence
  JOIN state.origins o ON o.origin = a.origin`;

export const GRANT_ANCHOR = `JOIN state.anchors a ON a.sequence = g.sequence
  JOIN state.origins o ON o.origin = a.origin`;

export function toClaimRecord(row: ClaimRow): ClaimRecord {
  return {
    anchorId: toAnchorId(row.anchor_id),
    originFingerprint: toOriginFingerprint(row.origin_fingerprint),
    sequence: row.sequence,
    entityFingerprint: row.entity_fingerprint,
    attributeType: row.attribute_type,
    subjectPublicKey: row.subject_key,
    issuerPublicKey: row.issuer_key,
    expiresAt: row.expires_ms,
    lineage: row.lineage,
    supersededAt: row.superseded_at,
    revokedAt: row.revoked_at,
  };
}

export function toGrantRecord(row: GrantRow): GrantRecord {
  return {
    anchorId: toAnchorId(row.anchor_id),
    originFingerprint: toOriginFingerprint(row.origin_fingerprint),
    sequence: row.sequence,
    grantorClaim: row.grantor_claim,
    granteeClaim: row.grantee_claim,
    grantorLineage: row.grantor_lineage,
    granteeLineage: row.grantee_lineage,
    grantorFingerprint: row.grantor_fingerprint,
    granteeFingerprint: row.grantee_fingerprint,
    parent: row.parent,
    links: row.links,
    delegationDepth: row.delegation_depth,
    notBefore: row.not_before_ms,
    expiresAt: row.expires_ms,
    grantorPublicKey: row.grantor_key,
    witnessPublicKey: row.witness_key,
    supersededAt: row.superseded_at,
    revokedAt: row.revoked_at,
  };
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
    columns: CLAIM_COLUMNS,
    from: `FROM related_claims r JOIN state.claims c ON c.sequence = r.sequence ${CLAIM_ANCHOR}`,
  },
  {
    what: "grant",
    columns: GRANT_COLUMNS,
    from: `FROM chain JOIN state.grants g ON g.sequence = chain.sequence ${GRANT_ANCHOR}`,
  },
];
