/** Whether an act was authorised: the question that the ledger exists to answer. docs/PROTOCOL.md, "Authority". */
import { LEAF_KIND, bytesToHex, equalBytes, isZero, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, ClaimLeaf, GrantLeaf, Leaf } from "@event-anchoring/protocol";
import { chainOf, linkForceAt } from "../force/chain-force.ts";
import type { AsOf } from "../book/as-of.ts";
import { parentLinkFault } from "./delegation.ts";
import type { AnchorFact } from "../book/references.ts";
import { claimFaultAt } from "../force/in-force.ts";
import type { ForceFault, ForceFaultCode } from "../force/in-force.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";
import { isEvent } from "./verify-event.ts";

/** `unknown`: a reference that the verdict needs is empty, a record is missing, or the anchor is not an event. */
export type AuthorityVerdict = boolean | "unknown";

export type AuthorityReasonCode =
  | ForceFaultCode
  /** Verdicts are about events. */
  | "not_an_event"
  | "iris_ref_empty"
  | "grant_ref_empty"
  | "reference_wrong_kind"
  /** A record that the verdict needs is not among the rows, or contradicts its leaf. */
  | "records_not_loaded"
  /** The actor's claim is not of the grantee's lineage. */
  | "actor_not_grantee"
  /** The signer of the event is not the subject of its iris claim. */
  | "actor_key_mismatch";

/** Why a verdict is not true. */
export interface AuthorityReason {
  readonly code: AuthorityReasonCode;
  /** The record at fault, if there is one. */
  readonly anchorId: AnchorId | null;
  /** Where it ended, or its position; null if time ended it, or there is none. */
  readonly sequence: number | null;
}

export interface Authority {
  readonly verdict: AuthorityVerdict;
  readonly reasons: readonly AuthorityReason[];
}

/** The most reasons given for one verdict: a root that has ended may end ten thousand links. */
const REASONS_MAX = 100;

/** The records that an event names as its authority. */
export interface ActorRecords {
  /** The claim that iris_ref names; null: empty, or not loaded. */
  readonly iris: ClaimRecord | null;
  /** The grant that grant_ref names. */
  readonly grant: GrantRecord | null;
  /** Why there is nothing to judge; empty: both are there. */
  readonly missing: readonly AuthorityReason[];
  /** The event is signed with another key than the iris claim's, so it is not the act of that subject. Else null. */
  readonly foreignKey: AuthorityReason | null;
}

function nowhere(code: AuthorityReasonCode): AuthorityReason {
  return { code, anchorId: null, sequence: null };
}

type Found<R> =
  | { readonly record: R; readonly missing: null }
  | { readonly record: null; readonly missing: AuthorityReason };

/** The record that a reference of an event names. */
function recordOf<R extends ClaimRecord | GrantRecord>(
  anchorId: AnchorId,
  fact: AnchorFact | undefined,
  kind: (ClaimLeaf | GrantLeaf)["kind"],
  lookUp: (sequence: number) => R | null,
): Found<R> {
  const missing: AuthorityReason = { code: "records_not_loaded", anchorId, sequence: null };
  if (fact === undefined) return { record: null, missing };
  const { sequence } = fact;
  if (fact.kind !== kind) return { record: null, missing: { code: "reference_wrong_kind", anchorId, sequence } };
  const record = lookUp(sequence);
  if (record === null || !equalBytes(record.anchorId, anchorId))
    return { record: null, missing: { ...missing, sequence } };
  return { record, missing: null };
}

/**
 * The records that an event's iris_ref and grant_ref name.
 * @param references by the hex of their ids, those of the event's references that exist
 */
export function actorRecordsOf(
  leaf: Leaf,
  references: ReadonlyMap<string, AnchorFact>,
  records: Records,
): ActorRecords {
  if (!isEvent(leaf)) return { iris: null, grant: null, missing: [nowhere("not_an_event")], foreignKey: null };
  const irisRef = toAnchorId(leaf.semanticAnchor.irisRef);
  const grantRef = toAnchorId(leaf.semanticAnchor.grantRef);
  const fact = (id: AnchorId): AnchorFact | undefined => {
    const found = references.get(bytesToHex(id));
    return found !== undefined && found.sequence < leaf.sequence ? found : undefined;
  };
  const iris: Found<ClaimRecord> = isZero(irisRef)
    ? { record: null, missing: nowhere("iris_ref_empty") }
    : recordOf(irisRef, fact(irisRef), LEAF_KIND.claim, (sequence) => records.claim(sequence));
  const grant: Found<GrantRecord> = isZero(grantRef)
    ? { record: null, missing: nowhere("grant_ref_empty") }
    : recordOf(grantRef, fact(grantRef), LEAF_KIND.grant, (sequence) => records.grant(sequence));
  const missing = [iris.missing, grant.missing].filter((reason) => reason !== null);
  return { iris: iris.record, grant: grant.record, missing, foreignKey: foreignKeyOf(leaf, iris.record) };
}

function foreignKeyOf(leaf: Leaf, iris: ClaimRecord | null): AuthorityReason | null {
  if (leaf.kind !== LEAF_KIND.signedEvent || iris === null) return null;
  if (equalBytes(leaf.actorPublicKey, iris.subjectPublicKey)) return null;
  return { code: "actor_key_mismatch", anchorId: iris.anchorId, sequence: iris.sequence };
}

/** Missing records decide first: only a reference of the wrong kind is known to authorise nothing. */
function verdictWithout(missing: readonly AuthorityReason[]): AuthorityVerdict {
  return missing.every(({ code }) => code === "reference_wrong_kind") ? false : "unknown";
}

function reasonOf({ code, anchorId, sequence }: ForceFault): AuthorityReason {
  return { code, anchorId, sequence };
}

/** The faults of all links, as many as are reported. */
function chainFaults(grant: GrantRecord, at: AsOf, records: Records): { faults: ForceFault[]; isComplete: boolean } {
  const chain = chainOf(grant, records);
  const faults: ForceFault[] = [];
  let { isComplete } = chain;
  for (const link of chain.links) {
    const force = linkForceAt(link, at, records);
    isComplete &&= force.isComplete && parentLinkFault(link, records) === null;
    if (faults.length < REASONS_MAX) faults.push(...force.faults);
  }
  return { faults, isComplete };
}

/**
 * Whether an act is covered at a position: the actor's claim and the grant are in force there, the grant with every
 * link to its root, the actor is the grantee, and the event is not signed by another key.
 * @param isBelieved false: a record contradicts its leaf, so that no verdict can rest on it
 */
export function judgeAuthority(actor: ActorRecords, at: AsOf, records: Records, isBelieved: boolean): Authority {
  const { iris, grant, missing, foreignKey } = actor;
  const reasons: AuthorityReason[] = foreignKey === null ? [] : [foreignKey];
  if (iris === null || grant === null) {
    const isForeign = foreignKey !== null && isBelieved;
    return { verdict: isForeign ? false : verdictWithout(missing), reasons: [...reasons, ...missing] };
  }
  const ended = claimFaultAt(iris, at);
  if (ended !== null) reasons.push(reasonOf(ended));
  if (iris.lineage !== grant.granteeLineage)
    reasons.push({ code: "actor_not_grantee", anchorId: iris.anchorId, sequence: iris.sequence });
  const { faults, isComplete } = chainFaults(grant, at, records);
  reasons.push(...faults.map(reasonOf));
  const told = reasons.slice(0, REASONS_MAX);
  if (isComplete && isBelieved) return { verdict: reasons.length === 0, reasons: told };
  return { verdict: "unknown", reasons: [nowhere("records_not_loaded"), ...told] };
}
