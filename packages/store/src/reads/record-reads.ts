/** The api's queries about claims, grants and revocations: one statement each. */
import { LoadedRecords, claimPairHash, grantPartiesHash } from "@event-anchoring/records";
import type { AsOf, ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { concatBytes } from "@event-anchoring/protocol";
import { bigintArray, prefixArray } from "../postgres/binary-array.ts";
import type { Parameter } from "../postgres/connection.ts";
import { ANCHOR_COLUMNS } from "../tables/anchors.ts";
import { CLAIM_ANCHOR, CLAIM_BYTES, toClaimRecord } from "../tables/claims.ts";
import { GRANT_ANCHOR, GRANT_BYTES, toGrantRecord } from "../tables/grants.ts";
import { RELATED_RECORDS, assertWhole, relatedRecords } from "../tables/related-records.ts";
import type { RecordRow } from "../tables/related-records.ts";
import { unionOf } from "../postgres/composed-statement.ts";

/** A statement and its values; the statement's rows carry `applied_index` once they are read. */
export interface RecordQuery {
  readonly statement: { readonly name: string; readonly text: string };
  readonly values: readonly Parameter[];
}

/** `l` is always one row, so that an empty answer has an applied index too. */
export function withApplied(select: string, ctes = "", columns = "l.applied_index"): string {
  const found = `SELECT ${columns}, found.* FROM state.ledger l LEFT JOIN LATERAL`;
  return `${ctes} ${found} (${select}) AS found ON true`;
}

/** The position of the snapshot, beside its applied index. */
export const WITH_POSITION = "l.applied_index, l.next_sequence - 1 AS newest_sequence, l.last_accepted_ms";

const RECORDS = {
  name: "records",
  text: withApplied(
    unionOf(RELATED_RECORDS),
    `WITH RECURSIVE ${relatedRecords("SELECT DISTINCT unnest($1::bigint[])", "$2::bigint[]")}`,
  ),
};

/** @param sequences of claims and grants */
export function recordsQuery(sequences: readonly number[], positions: readonly number[]): RecordQuery {
  return { statement: RECORDS, values: [bigintArray(sequences), bigintArray(positions)] };
}

export function toLoadedRecords(rows: readonly RecordRow[]): LoadedRecords {
  const claims: ClaimRecord[] = [];
  const grants: GrantRecord[] = [];
  for (const row of rows) {
    if (row.what === "claim") claims.push(toClaimRecord(row));
    else grants.push(toGrantRecord(row));
  }
  assertWhole(claims, grants);
  return new LoadedRecords(claims, grants);
}

export const OF_PAIR = "c.pair_prefix = ($1::bigint[])[1] AND c.pair_hash = $2";

/** The values of OF_PAIR. */
export function pairValues(pair: {
  readonly entityFingerprint: Uint8Array;
  readonly attributeType: number;
}): readonly [Parameter, Parameter] {
  const pairHash = claimPairHash(pair, nodeCrypto.sha256);
  return [prefixArray([pairHash]), pairHash];
}

const NEWEST_CLAIM = {
  name: "newest_claim",
  text: withApplied(`
    SELECT 'claim' AS what, ${CLAIM_BYTES} AS record FROM state.claims c ${CLAIM_ANCHOR}
    WHERE ${OF_PAIR} ORDER BY c.sequence DESC LIMIT 1`),
};

export function newestClaimQuery(entityFingerprint: Uint8Array, attributeType: number): RecordQuery {
  return { statement: NEWEST_CLAIM, values: pairValues({ entityFingerprint, attributeType }) };
}

/** The two are compared as one text: no index of a single party is mistaken for that of both. */
export const BETWEEN =
  "g.parties_prefix = ($1::bigint[])[1] AND g.grantor_fingerprint || g.grantee_fingerprint = $2::bytea";

interface Parties {
  readonly grantorFingerprint: Uint8Array;
  readonly granteeFingerprint: Uint8Array;
}

/** The values of BETWEEN. */
export function betweenValues(parties: Parties): readonly [Parameter, Parameter] {
  const hash = grantPartiesHash(parties, nodeCrypto.sha256);
  return [prefixArray([hash]), concatBytes(parties.grantorFingerprint, parties.granteeFingerprint)];
}

const GRANTS_BETWEEN = {
  name: "grants_between",
  text: withApplied(
    `
    (SELECT 'standing' AS what, ${GRANT_BYTES} AS record FROM state.grants g ${GRANT_ANCHOR}
      WHERE ${BETWEEN} AND g.superseded_at IS NULL AND g.revoked_at IS NULL
      ORDER BY g.grantor_lineage, g.grantee_lineage LIMIT $3)
    UNION ALL
    (SELECT 'newest', ${GRANT_BYTES} AS record FROM state.grants g ${GRANT_ANCHOR}
      WHERE ${BETWEEN} ORDER BY g.sequence DESC LIMIT 1)`,
    "",
    WITH_POSITION,
  ),
};

/** A record, or a hole, beside the position of the snapshot. */
export interface RowWithPosition extends Omit<RecordRow, "what"> {
  readonly what: "standing" | "newest" | "claim" | "grant" | null;
  readonly newest_sequence: number;
  readonly last_accepted_ms: number;
}

export function grantsBetweenQuery(
  grantorFingerprint: Uint8Array,
  granteeFingerprint: Uint8Array,
  limit: number,
): RecordQuery {
  return { statement: GRANTS_BETWEEN, values: [...betweenValues({ grantorFingerprint, granteeFingerprint }), limit] };
}

/**
 * Any entity can grant to any other: this bounds how many grantors of one grantee are read, the oldest lineages first.
 */
const GRANTOR_LINEAGES_MAX = 1024;

/**
 * Grants to one lineage are visited by their grantors' lineages: of each only the newest can be in force, however often
 * it was granted anew.
 */
const GRANTS_TO = {
  name: "grants_to",
  text: withApplied(
    `SELECT 'grant' AS what, ${GRANT_BYTES} AS record
      FROM newest JOIN state.grants g ON g.sequence = newest.sequence ${GRANT_ANCHOR}
      WHERE (g.revoked_at IS NULL OR g.revoked_at > $2) AND g.not_before_ms <= $4
        AND (g.expires_ms = 0 OR g.expires_ms > $4) ORDER BY g.sequence LIMIT $3`,
    `WITH RECURSIVE grantors (lineage, visited) AS (
      (SELECT g.grantor_lineage, 1 FROM state.grants g WHERE g.grantee_lineage = $1
        ORDER BY g.grantor_lineage LIMIT 1)
      UNION ALL
      SELECT following.grantor_lineage, grantors.visited + 1 FROM grantors, LATERAL (
        SELECT g.grantor_lineage FROM state.grants g
        WHERE g.grantee_lineage = $1 AND g.grantor_lineage > grantors.lineage ORDER BY g.grantor_lineage LIMIT 1
      ) AS following WHERE grantors.visited < ${GRANTOR_LINEAGES_MAX}
    ),
    newest (sequence) AS (
      SELECT one.sequence FROM grantors, LATERAL (
        SELECT g.sequence FROM state.grants g
        WHERE g.grantee_lineage = $1 AND g.grantor_lineage = grantors.lineage AND g.sequence <= $2
        ORDER BY g.sequence DESC LIMIT 1
      ) AS one
    )`,
  ),
};

export function grantsToQuery(granteeLineage: number, at: AsOf, limit: number): RecordQuery {
  return { statement: GRANTS_TO, values: [granteeLineage, at.sequence, limit, at.timeMs] };
}

const REVOCATIONS_OF = {
  name: "revocations_of",
  text: withApplied(`
    SELECT ${ANCHOR_COLUMNS} FROM unnest($1::bigint[]) AS u (target), LATERAL (
      SELECT r.sequence FROM state.revocations r WHERE r.target = u.target AND r.sequence <= $2
      ORDER BY r.sequence LIMIT $3
    ) AS r JOIN state.anchors a ON a.sequence = r.sequence JOIN state.origins o ON o.origin = a.origin
    ORDER BY a.sequence LIMIT $3`),
};

export function revocationsQuery(targets: readonly number[], upTo: number, limit: number): RecordQuery {
  return { statement: REVOCATIONS_OF, values: [bigintArray([...new Set(targets)]), upTo, limit] };
}

const ANCHORS_BY_SEQUENCE = {
  name: "anchors_by_sequence",
  text: withApplied(`
    SELECT ${ANCHOR_COLUMNS} FROM unnest($1::bigint[]) AS u (sequence)
    JOIN state.anchors a ON a.sequence = u.sequence JOIN state.origins o ON o.origin = a.origin`),
};

export function anchorsBySequenceQuery(sequences: readonly number[]): RecordQuery {
  return { statement: ANCHORS_BY_SEQUENCE, values: [bigintArray([...new Set(sequences)])] };
}
