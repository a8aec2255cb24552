/** What claims and grants depend on: the queries that facts and reads share. */
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { StoreError } from "../postgres/errors.ts";
import type { SelectPart } from "../postgres/composed-statement.ts";
import { CLAIM_ANCHOR, CLAIM_BYTES } from "./claims.ts";
import { GRANT_ANCHOR, GRANT_BYTES } from "./grants.ts";
import type { PackedRecordRow } from "./recorded.ts";

/** A claim or a grant. */
export interface RecordRow extends PackedRecordRow {
  readonly what: "claim" | "grant";
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
 * Everything that the claims and grants of `named (sequence)` depend on, as CTEs: ancestors of grants to the root, both
 * claims of each, and of each lineage the newest claim at or before every one of `positions`. Each grant of a chain is
 * visited once, even if several grants below it are asked for.
 * @param named SELECT of the sequences asked for; those of other anchors are skipped
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

/** The rows that `relatedRecords` has found. */
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
