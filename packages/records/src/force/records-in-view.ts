/** The rows that an answer about claims and grants depends on: requested in bulk, before anything is judged. */
import { chainOf } from "./chain-force.ts";
import type { AsOf } from "../book/as-of.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** Claims and grants that an answer shows, or that those depend on. */
export interface RecordsInView {
  readonly claims: readonly ClaimRecord[];
  /** For chains: from the grant itself to the root, as far as is shown. */
  readonly grants: readonly GrantRecord[];
}

/**
 * @param shown the claims and grants that are asked about
 * @param hopsMax how many links of each chain are in view
 */
export function recordsInView(
  shown: RecordsInView,
  records: Records,
  positions: readonly AsOf[],
  hopsMax: number,
): RecordsInView {
  const claims = new Map<number, ClaimRecord>();
  const grants = new Map<number, GrantRecord>();
  const addClaim = (claim: ClaimRecord | null): void => {
    if (claim === null) return;
    claims.set(claim.sequence, claim);
    for (const { sequence } of positions) {
      const newest = records.newestClaimOf(claim.lineage, sequence);
      if (newest !== null) claims.set(newest.sequence, newest);
    }
  };
  shown.claims.forEach(addClaim);
  for (const grant of shown.grants)
    for (const link of chainOf(grant, records).links.slice(0, hopsMax)) {
      grants.set(link.sequence, link);
      addClaim(records.claim(link.grantorClaim));
      addClaim(records.claim(link.granteeClaim));
    }
  return { claims: [...claims.values()], grants: [...grants.values()] };
}

/** Sequences of the records in view, which are the targets of relevant revocations. Ascending, without repeats. */
export function targetsInView({ claims, grants }: RecordsInView): number[] {
  return ascending([...claims, ...grants].map(({ sequence }) => sequence));
}

/** Sequences of the leaves that these records, and their endings up to a position, are compared with. */
export function leavesInView(view: RecordsInView, at: AsOf): number[] {
  const endings = [...view.claims, ...view.grants]
    .flatMap(({ supersededAt, revokedAt }) => [supersededAt, revokedAt])
    .filter((sequence) => sequence !== null)
    .filter((sequence) => sequence <= at.sequence);
  return ascending([...targetsInView(view), ...endings]);
}

function ascending(sequences: readonly number[]): number[] {
  return [...new Set(sequences)].sort((a, b) => a - b);
}
