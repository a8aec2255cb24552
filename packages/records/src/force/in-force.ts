/**
 * Whether a claim or a grant is in force at a position. Pure, iterative, and the same for deciding a command, verifying
 * a request and tracing the past. docs/PROTOCOL.md, "In force".
 */
import type { AnchorId } from "@event-anchoring/protocol";
import type { AsOf } from "../book/as-of.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** How a record has ended, if it has. */
export type RecordState = "active" | "superseded" | "revoked" | "expired";

export type ForceFaultCode =
  | "claim_revoked"
  | "claim_superseded"
  | "claim_expired"
  | "grant_revoked"
  | "grant_superseded"
  | "grant_not_yet_valid"
  | "grant_expired"
  /** The claim that a grant names for its grantor (grantee) is revoked. */
  | "grantor_claim_revoked"
  | "grantee_claim_revoked"
  /** No claim of the grantor's (grantee's) lineage is in force. */
  | "grantor_not_in_force"
  | "grantee_not_in_force";

/** Why a record is not in force. */
export interface ForceFault {
  readonly code: ForceFaultCode;
  /** The record at fault: a claim, or a grant of the chain. */
  readonly anchorId: AnchorId;
  /** Where it ended: the sequence of the revocation, or of the record that superseded it; null if time ended it. */
  readonly sequence: number | null;
}

/** Whether an event at a sequence (null: none) has happened by a position. */
function hasHappened(sequence: number | null, at: AsOf): sequence is number {
  return sequence !== null && sequence <= at.sequence;
}

function isPast(expiresAt: number, at: AsOf): boolean {
  return expiresAt !== 0 && at.timeMs >= expiresAt;
}

/** A revocation outweighs a supersession, and either outweighs time. */
export function claimStateAt(claim: ClaimRecord, at: AsOf): RecordState {
  if (hasHappened(claim.revokedAt, at)) return "revoked";
  if (hasHappened(claim.supersededAt, at)) return "superseded";
  return isPast(claim.expiresAt, at) ? "expired" : "active";
}

/** Why a claim is not in force at a position, or null. */
export function claimFaultAt(claim: ClaimRecord, at: AsOf): ForceFault | null {
  const { anchorId, revokedAt, supersededAt } = claim;
  switch (claimStateAt(claim, at)) {
    case "active":
      return null;
    case "revoked":
      return { code: "claim_revoked", anchorId, sequence: revokedAt };
    case "superseded":
      return { code: "claim_superseded", anchorId, sequence: supersededAt };
    case "expired":
      return { code: "claim_expired", anchorId, sequence: null };
  }
}

function addOwnFaults(grant: GrantRecord, at: AsOf, faults: ForceFault[]): void {
  const { anchorId, revokedAt, supersededAt } = grant;
  if (hasHappened(revokedAt, at)) faults.push({ code: "grant_revoked", anchorId, sequence: revokedAt });
  else if (hasHappened(supersededAt, at)) faults.push({ code: "grant_superseded", anchorId, sequence: supersededAt });
  if (at.timeMs < grant.notBefore) faults.push({ code: "grant_not_yet_valid", anchorId, sequence: null });
  if (isPast(grant.expiresAt, at)) faults.push({ code: "grant_expired", anchorId, sequence: null });
}

/** Adds what is wrong on one side of a grant; false if a record is missing. */
function addPartyFaults(
  side: "grantor" | "grantee",
  grant: GrantRecord,
  at: AsOf,
  records: Records,
  faults: ForceFault[],
): boolean {
  const named = records.claim(grant[`${side}Claim`]);
  const newest = records.newestClaimOf(grant[`${side}Lineage`], at.sequence);
  if (named === null || newest === null) return false;
  const isRevoked = hasHappened(named.revokedAt, at);
  if (isRevoked) faults.push({ code: `${side}_claim_revoked`, anchorId: named.anchorId, sequence: named.revokedAt });
  const fault = claimFaultAt(newest, at);
  const isSaid = isRevoked && newest.sequence === named.sequence;
  if (fault !== null && !isSaid)
    faults.push({ code: `${side}_not_in_force`, anchorId: newest.anchorId, sequence: fault.sequence });
  return true;
}

/**
 * Adds why one link of a chain is not in force, its parent aside, to `faults`.
 * @returns false if a record was missing, so that a fault may be missing as well
 */
export function addLinkFaults(grant: GrantRecord, at: AsOf, records: Records, faults: ForceFault[]): boolean {
  addOwnFaults(grant, at, faults);
  const hasGrantor = addPartyFaults("grantor", grant, at, records, faults);
  return addPartyFaults("grantee", grant, at, records, faults) && hasGrantor;
}

/** A grant and the records that it depends on. */
export interface GrantForce {
  /** From the grant itself to the root, as far as records are loaded. */
  readonly chain: readonly GrantRecord[];
  /** Empty and complete: the grant is in force. In the order of the chain, the grant's own first. */
  readonly faults: readonly ForceFault[];
  /** False: a record was missing, so that a fault may be missing as well. */
  readonly isComplete: boolean;
}

/** Follows a grant to its root. */
export function grantForceAt(grant: GrantRecord, at: AsOf, records: Records): GrantForce {
  const chain: GrantRecord[] = [];
  const faults: ForceFault[] = [];
  let isComplete = true;
  for (let link: GrantRecord | null = grant; link !== null;) {
    chain.push(link);
    isComplete = addLinkFaults(link, at, records, faults) && isComplete;
    if (link.parent === null) break;
    // A parent is older than its child, so this ends.
    link = records.grant(link.parent);
    isComplete &&= link !== null;
  }
  return { chain, faults, isComplete };
}

const ENDED_BY: Readonly<Record<ForceFaultCode, RecordState>> = {
  claim_revoked: "revoked",
  claim_superseded: "superseded",
  claim_expired: "expired",
  grant_revoked: "revoked",
  grant_superseded: "superseded",
  grant_not_yet_valid: "active",
  grant_expired: "expired",
  grantor_claim_revoked: "revoked",
  grantee_claim_revoked: "revoked",
  grantor_not_in_force: "expired",
  grantee_not_in_force: "expired",
};

const STATE_ORDER: readonly RecordState[] = ["revoked", "superseded", "expired"];

/**
 * The state of a grant, including the records that it depends on: it is revoked if any grant of its chain or a claim
 * that they name is, superseded if any grant of its chain is, expired if time or the end of a lineage has ended it. A
 * grant whose window has not begun has not ended: it is active, and not in force.
 */
export function grantStateOf(force: GrantForce): RecordState {
  const states = new Set(force.faults.map(({ code }) => ENDED_BY[code]));
  return STATE_ORDER.find((state) => states.has(state)) ?? "active";
}

/** The fault that gives a grant its state, the nearest to it if there are several; null while it is active. */
export function grantEndOf(force: GrantForce): ForceFault | null {
  const state = grantStateOf(force);
  return state === "active" ? null : (force.faults.find(({ code }) => ENDED_BY[code] === state) ?? null);
}
