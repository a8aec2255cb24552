/**
 * Relations between claims and grants: lineages, successors, endings, chains. Each row is compared with earlier rows,
 * which were judged already, and with columns that the first walk has compared with the leaves.
 */
import { claimEntry, grantEntry, lineageEntry } from "@event-anchoring/ledger";
import type { RecordSource } from "@event-anchoring/records";
import { DecodeError, LEAF_KIND, decodeLeaf, toAnchorId } from "@event-anchoring/protocol";
import type { GrantLeaf } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { recordRow } from "./anchor-rows.ts";
import type { Findings } from "./findings.ts";
import type { DerivedEntry } from "./state-tree-rows.ts";

const ID_BYTES = 32;
const CLIENT_BYTES = 16;

const FIRST_REVOCATION = (alias: string): string =>
  `(SELECT min(r.sequence) FROM state.revocations r WHERE r.target = ${alias}.sequence)`;

/** Columns that the tables of claims and grants do not repeat. */
interface RecordedRow {
  readonly sequence: number;
  /** null: the leaf is missing, which was reported. */
  readonly anchor_id: Uint8Array | null;
  readonly api_client_id: Uint8Array | null;
}

interface ClaimRow extends RecordedRow {
  readonly lineage: string;
  readonly superseded_at: string | null;
  readonly revoked_at: string | null;
  /** Sequence of its first revocation. */
  readonly first_revocation: number | null;
  /** The newest claim of the pair before this one; all null: none. */
  readonly before_lineage: string | null;
  readonly before_revocation: number | null;
  /** The next claim of the pair. */
  readonly next: number | null;
}

const CLAIMS = {
  name: "fsck_claim_relations",
  text: `SELECT c.sequence, c.lineage::text AS lineage, c.superseded_at::text AS superseded_at,
      c.revoked_at::text AS revoked_at, ${FIRST_REVOCATION("c")} AS first_revocation, a.anchor_id, a.api_client_id,
      p.lineage::text AS before_lineage, ${FIRST_REVOCATION("p")} AS before_revocation,
      (SELECT n.sequence FROM state.claims n
        WHERE n.pair_prefix = c.pair_prefix AND n.pair_hash = c.pair_hash AND n.sequence > c.sequence
        ORDER BY n.sequence LIMIT 1) AS next
    FROM (SELECT * FROM state.claims WHERE sequence >= $1 ORDER BY sequence LIMIT $2) AS c
    LEFT JOIN state.anchors a ON a.sequence = c.sequence
    LEFT JOIN LATERAL (
      SELECT b.sequence, b.lineage FROM state.claims b
      WHERE b.pair_prefix = c.pair_prefix AND b.pair_hash = c.pair_hash AND b.sequence < c.sequence
      ORDER BY b.sequence DESC LIMIT 1
    ) AS p ON true ORDER BY c.sequence`,
};

/** A record ends in favour of its successor, unless it was revoked before that came. */
function supersededAt(next: number | null, revocation: number | null): number | null {
  return next !== null && (revocation === null || revocation > next) ? next : null;
}

/** Who recorded it, and under which id; null: the row of the leaf is damaged, which was reported. */
function sourceOf({ anchor_id: id, api_client_id: client }: RecordedRow): RecordSource | null {
  const isWhole = id?.length === ID_BYTES && client?.length === CLIENT_BYTES;
  return isWhole ? { anchorId: toAnchorId(id), recordedBy: client } : null;
}

/** @returns the entries in the state tree that follow from the claim */
function judgeClaim(row: ClaimRow, findings: Findings): DerivedEntry[] {
  const { sequence, lineage, superseded_at, revoked_at } = row;
  const { first_revocation: revocation, before_lineage: lineageBefore, before_revocation: revocationBefore } = row;
  const continues = lineageBefore !== null && (revocationBefore === null || revocationBefore > sequence);
  findings.checked.claims += 1;
  const name = recordRow("claims", sequence);
  const derived = {
    lineage: continues ? lineageBefore : sequence,
    superseded_at: supersededAt(row.next, revocation),
    revoked_at: revocation,
  };
  findings.compare(name, { lineage, superseded_at, revoked_at }, derived);
  const source = sourceOf(row);
  if (source === null) return [];
  const ends = { supersededAt: derived.superseded_at, revokedAt: revocation };
  const claim = { ...source, ...ends, sequence, lineage: Number(derived.lineage) };
  const isNewest = ends.supersededAt === null;
  return [{ entry: claimEntry(claim), name }, ...(isNewest ? [{ entry: lineageEntry(claim), name }] : [])];
}

interface GrantRow extends RecordedRow {
  readonly grantor_lineage: string;
  readonly grantee_lineage: string;
  readonly links: string;
  readonly not_before_ms: string;
  readonly expires_ms: string;
  readonly superseded_at: string | null;
  readonly revoked_at: string | null;
  readonly leaf: Uint8Array | null;
  readonly claimed_grantor_lineage: string | null;
  readonly claimed_grantee_lineage: string | null;
  readonly parent: string | null;
  /** Links of the parent; null: there is none. */
  readonly parent_links: string | null;
  readonly parent_not_before_ms: string | null;
  readonly parent_expires_ms: string | null;
  readonly first_revocation: number | null;
  /** The next grant between the same lineages. */
  readonly next: number | null;
}

const GRANTS = {
  name: "fsck_grant_relations",
  text: `SELECT g.sequence, g.grantor_lineage::text AS grantor_lineage, g.grantee_lineage::text AS grantee_lineage,
      g.links::text AS links, g.not_before_ms::text AS not_before_ms, g.expires_ms::text AS expires_ms,
      g.superseded_at::text AS superseded_at, g.revoked_at::text AS revoked_at, a.leaf, a.anchor_id, a.api_client_id,
      grantor.lineage::text AS claimed_grantor_lineage, grantee.lineage::text AS claimed_grantee_lineage,
      g.parent::text AS parent, p.links::text AS parent_links, p.not_before_ms::text AS parent_not_before_ms,
      p.expires_ms::text AS parent_expires_ms, ${FIRST_REVOCATION("g")} AS first_revocation,
      (SELECT n.sequence FROM state.grants n
        WHERE n.grantee_lineage = g.grantee_lineage AND n.grantor_lineage = g.grantor_lineage
          AND n.sequence > g.sequence
        ORDER BY n.sequence LIMIT 1) AS next
    FROM (SELECT * FROM state.grants WHERE sequence >= $1 ORDER BY sequence LIMIT $2) AS g
    LEFT JOIN state.anchors a ON a.sequence = g.sequence
    LEFT JOIN state.claims grantor ON grantor.sequence = g.grantor_claim
    LEFT JOIN state.claims grantee ON grantee.sequence = g.grantee_claim
    LEFT JOIN state.grants p ON p.sequence = g.parent ORDER BY g.sequence`,
};

/** null: it is not a grant, which was reported. */
function grantLeafOf({ leaf }: GrantRow): GrantLeaf | null {
  if (leaf === null) return null;
  try {
    const decoded = decodeLeaf(leaf);
    return decoded.kind === LEAF_KIND.grant ? decoded : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** @returns the entries in the state tree that follow from the grant */
function judgeGrant(row: GrantRow, findings: Findings): DerivedEntry[] {
  const leaf = grantLeafOf(row);
  const { sequence, next, first_revocation: revocation } = row;
  findings.checked.grants += 1;
  if (leaf === null || (row.parent !== null && row.parent_links === null)) return [];
  const { grantor_lineage, grantee_lineage, links, not_before_ms, expires_ms, superseded_at, revoked_at } = row;
  const name = recordRow("grants", sequence);
  const derived = {
    grantor_lineage: row.claimed_grantor_lineage,
    grantee_lineage: row.claimed_grantee_lineage,
    links: Number(row.parent_links ?? 0) + 1,
    not_before_ms: leaf.notBefore === 0 ? (row.parent_not_before_ms ?? 0) : leaf.notBefore,
    expires_ms: leaf.expiresAt === 0 ? (row.parent_expires_ms ?? 0) : leaf.expiresAt,
    superseded_at: supersededAt(next, revocation),
    revoked_at: revocation,
  };
  const stated = { grantor_lineage, grantee_lineage, links, not_before_ms, expires_ms, superseded_at, revoked_at };
  findings.compare(name, stated, derived);
  const source = sourceOf(row);
  if (source === null) return [];
  const grant = {
    ...source,
    sequence,
    grantorLineage: Number(derived.grantor_lineage),
    granteeLineage: Number(derived.grantee_lineage),
    parent: row.parent === null ? null : Number(row.parent),
    links: derived.links,
    notBefore: Number(derived.not_before_ms),
    expiresAt: Number(derived.expires_ms),
    supersededAt: derived.superseded_at,
    revokedAt: revocation,
  };
  return [{ entry: grantEntry(grant), name }];
}

/** A step over one of the tables. */
export interface RecordsJudged {
  /** Where to continue; null: that was all. */
  readonly next: number | null;
  readonly entries: readonly DerivedEntry[];
}

function judgedOf(rows: readonly RecordedRow[], rowsMax: number, entries: readonly DerivedEntry[]): RecordsJudged {
  const last = rows.at(-1);
  return { next: last === undefined || rows.length < rowsMax ? null : last.sequence + 1, entries };
}

export async function judgeClaims(
  session: Reader,
  from: number,
  rowsMax: number,
  findings: Findings,
): Promise<RecordsJudged> {
  const rows = await session.read<ClaimRow>(CLAIMS, [from, rowsMax]);
  return judgedOf(
    rows,
    rowsMax,
    rows.flatMap((row) => judgeClaim(row, findings)),
  );
}

export async function judgeGrants(
  session: Reader,
  from: number,
  rowsMax: number,
  findings: Findings,
): Promise<RecordsJudged> {
  const rows = await session.read<GrantRow>(GRANTS, [from, rowsMax]);
  return judgedOf(
    rows,
    rowsMax,
    rows.flatMap((row) => judgeGrant(row, findings)),
  );
}
