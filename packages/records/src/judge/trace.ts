/**
 * From an anchor back to who acted, who delegated and within what bounds. Bounded, iterative, and a function of the
 * given rows. docs/PROTOCOL.md, "Tracing".
 */
import { LEAF_KIND, bytesToHex, decodeLeaf, isZero } from "@event-anchoring/protocol";
import type { AnchorId, Crypto, Leaf, LeafKind } from "@event-anchoring/protocol";
import { parentFault } from "./anchor-checks.ts";
import type { LoadedLeaf } from "./anchor-checks.ts";
import { actorRecordsOf, judgeAuthority } from "./authority.ts";
import type { ActorRecords, AuthorityReason, AuthorityVerdict } from "./authority.ts";
import { RecordStates, chainOf } from "../force/chain-force.ts";
import type { GrantChain } from "../force/chain-force.ts";
import type { AsOf } from "../book/as-of.ts";
import type { CheckResult } from "./checks.ts";
import { DelegationJudge, parentLinkFault } from "./delegation.ts";
import type { DelegationFaultCode } from "./delegation.ts";
import { REFERENCE_RULES } from "../book/references.ts";
import type { AnchorFact } from "../book/references.ts";
import type { RecordState } from "../force/in-force.ts";
import { LeafRows } from "./leaf-rows.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";
import { recordsInView } from "../force/records-in-view.ts";
import { RecordViewer, TRACE_LIMITS, traceDelegation } from "./traced-delegation.ts";
import type { TracedDelegation } from "./traced-delegation.ts";
import { checkActorIsIrisSubject, checkActorSignature, isEvent } from "./verify-event.ts";
import { rootAuthorityOf } from "./verify-grant.ts";

export interface TraceReason extends AuthorityReason {
  /** The verdict that is not true for this reason. */
  readonly verdict: "at_action" | "now";
}

export interface TraceActor {
  /** The claim that iris_ref names. */
  readonly claim: LoadedLeaf | null;
  /** The state of that claim, as of the requested position. */
  readonly state: RecordState | null;
  /** `fail` also if the good signature is of another key than the claim's subject. */
  readonly actorSignature: CheckResult;
}

/** How far the delegation reaches. Times are Unix milliseconds, 0 = unbounded. */
export interface DelegationBoundary {
  /** The scope of the grant that the event names. */
  readonly scopeHash: Uint8Array;
  readonly depth: {
    /** Hops that the root grant allows below itself. */
    readonly granted: number;
    /** Hops below the root grant that the chain has. */
    readonly used: number;
    /** Hops that may be granted below the grant that the event names. */
    readonly left: number;
  };
  readonly window: { readonly notBefore: number; readonly expiresAt: number };
}

export type ViolationCode =
  /** A leaf does not follow the one before it. */
  | "parent_link_broken"
  /** A leaf names an anchor that does not exist, or is not older than itself. */
  | "reference_missing"
  | "reference_wrong_kind"
  | "actor_signature_invalid"
  /** The signer of the event is not the subject of its iris claim. */
  | "actor_key_mismatch"
  | DelegationFaultCode;

/** A state that the rules exclude: a row was altered, or a rule was broken when it was written. */
export interface TraceViolation {
  readonly code: ViolationCode;
  readonly anchorId: AnchorId;
  readonly detail: string;
}

export interface TraceReference {
  /** Wire name, such as `iris_ref`. */
  readonly field: string;
  readonly anchorId: AnchorId;
  readonly exists: boolean;
  readonly kind: LeafKind | null;
}

export interface TraceRevocation extends LoadedLeaf {
  readonly targetAnchorId: AnchorId;
  /** It was recorded before the traced anchor was accepted. */
  readonly isBeforeAction: boolean;
}

/** Grants that may have given the root grantor its authority, and the records that their force depends on. */
export interface PossibleParents {
  readonly grants: readonly GrantRecord[];
  readonly records: Records;
}

export interface TraceInput {
  readonly anchor: LoadedLeaf;
  /** By hex, those of the anchor's references that exist. */
  readonly references: ReadonlyMap<string, AnchorFact>;
  /** Leaves of the same origin before the anchor, deepest first, without gaps; as many as are shown. */
  readonly parents: readonly LoadedLeaf[];
  /** The leaf before the last of `parents` (before the anchor if there are none), if it is not itself shown. */
  readonly beforeParents: LoadedLeaf | null;
  readonly asOf: AsOf;
  /**
   * The claim and the grant that the event names (for another kind: the anchor itself) with all that they depend on,
   * and for each lineage its newest claim at the position of the anchor and at `asOf`.
   */
  readonly records: Records;
  /** The leaves of the records in view, with their endings up to `asOf`: leavesInView. */
  readonly leaves: readonly LoadedLeaf[];
  /** Revocations up to `asOf` of the records in view: targetsInView. */
  readonly revocations: readonly LoadedLeaf[];
  /** Claims whose lineages the caller trusts to grant without a parent; null: not asked. */
  readonly trustedRoots: readonly ClaimRecord[] | null;
  readonly possibleParents: PossibleParents;
}

export interface Trace {
  readonly leaf: Leaf;
  /**
   * The subject of the iris claim has signed the event. False: only the client that recorded the event says that it
   * acted.
   */
  readonly isActorProven: boolean;
  readonly authorisedAtAction: AuthorityVerdict;
  readonly authorisedNow: AuthorityVerdict;
  /** Why a verdict is not true: first those of the action, then those of now. */
  readonly reasons: readonly TraceReason[];
  readonly actor: TraceActor;
  readonly delegation: TracedDelegation;
  readonly boundary: DelegationBoundary | null;
  readonly rootAuthority: CheckResult;
  /** Ascending by sequence. */
  readonly possibleParents: readonly AnchorId[];
  /** Ascending by sequence. */
  readonly revocations: readonly TraceRevocation[];
  /** A revocation in view is suspect since a time not after the event's. Changes no verdict. */
  readonly isSuspect: boolean;
  /** Those of the anchor and its parents, of its references, of its actor, of the delegation from leaf to root. */
  readonly violations: readonly TraceViolation[];
  /** The non-empty ones, in field order. */
  readonly references: readonly TraceReference[];
}

/** The last segment of a pointer is the wire name. */
function wireName(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf("/") + 1);
}

function traceReferences(leaf: Leaf, facts: ReadonlyMap<string, AnchorFact>): TraceReference[] {
  if (!isEvent(leaf)) return [];
  return REFERENCE_RULES.flatMap(({ field, pointer }) => {
    const anchorId = leaf.semanticAnchor[field] as AnchorId;
    if (isZero(anchorId)) return [];
    const fact = facts.get(bytesToHex(anchorId));
    const exists = fact !== undefined && fact.sequence < leaf.sequence;
    return [{ field: wireName(pointer), anchorId, exists, kind: exists ? fact.kind : null }];
  });
}

function referenceViolations(anchorId: AnchorId, references: readonly TraceReference[]): TraceViolation[] {
  return references.flatMap(({ field, exists, kind }): TraceViolation[] => {
    if (!exists) return [{ code: "reference_missing", anchorId, detail: `${field} names no older anchor` }];
    const wanted = REFERENCE_RULES.find(({ pointer }) => wireName(pointer) === field)?.kind ?? null;
    if (wanted === null || wanted === kind) return [];
    return [{ code: "reference_wrong_kind", anchorId, detail: `${field} names an anchor of kind ${kind}` }];
  });
}

/**
 * Compares leaves of one origin with one another.
 * @param leaves deepest first, without gaps
 * @param before the leaf before the last of them; null: it is not loaded, and the last one is compared with nothing
 * unless it is the only one
 * @throws DecodeError if a row is no leaf
 */
export function parentViolations(
  leaves: readonly LoadedLeaf[],
  before: LoadedLeaf | null,
  crypto: Crypto,
): TraceViolation[] {
  return leaves.flatMap((child, position): TraceViolation[] => {
    const parent = leaves[position + 1] ?? before;
    if (parent === null && leaves.length > 1) return [];
    const fault = parentFault(decodeLeaf(child.bytes), parent, crypto);
    return fault === null ? [] : [{ code: "parent_link_broken", anchorId: child.anchorId, detail: fault }];
  });
}

function boundaryOf(chain: GrantChain | null, leaves: LeafRows): DelegationBoundary | null {
  const grant = chain?.links[0];
  const root = chain?.links.at(-1);
  if (chain === null || grant === undefined || root === undefined || !chain.isComplete) return null;
  const leaf = leaves.at(grant.sequence)?.leaf;
  if (leaf?.kind !== LEAF_KIND.grant) return null;
  return {
    scopeHash: leaf.scopeHash,
    depth: { granted: root.delegationDepth, used: chain.links.length - 1, left: grant.delegationDepth },
    window: { notBefore: grant.notBefore, expiresAt: grant.expiresAt },
  };
}

type AnyRecord = ClaimRecord | GrantRecord;

interface RevocationsInView {
  /** Ascending by sequence. */
  readonly revocations: readonly TraceRevocation[];
  readonly isSuspect: boolean;
  /** Records that lack their revocation. */
  readonly violations: readonly TraceViolation[];
}

/** Revocations of records in view, up to a position. Other revocations are left out. */
function traceRevocations(leaf: Leaf, rows: LeafRows, targets: readonly AnyRecord[], at: AsOf): RevocationsInView {
  const byId = new Map(targets.map((target) => [bytesToHex(target.anchorId), target]));
  const revocations: TraceRevocation[] = [];
  const violations: TraceViolation[] = [];
  let isSuspect = false;
  for (const { leaf: revocation, anchorId, bytes } of rows.all()) {
    if (revocation.kind !== LEAF_KIND.revocation || revocation.sequence > at.sequence) continue;
    const { targetAnchorId, suspectSince, sequence } = revocation;
    const target = byId.get(bytesToHex(targetAnchorId));
    if (target === undefined) continue;
    revocations.push({ anchorId, bytes, targetAnchorId, isBeforeAction: sequence < leaf.sequence });
    isSuspect ||= suspectSince !== 0 && suspectSince <= leaf.acceptedMs;
    if (target.revokedAt !== null && target.revokedAt <= sequence) continue;
    const detail = `its record does not know that ${bytesToHex(anchorId)} revokes it`;
    violations.push({ code: "record_differs", anchorId: targetAnchorId, detail });
  }
  return { revocations, isSuspect, violations };
}

interface JudgedActor {
  /** Faults of the actor's signature. */
  readonly violations: readonly TraceViolation[];
  /** `fail` also if the good signature is of another key than the claim's subject. */
  readonly signature: CheckResult;
  readonly isProven: boolean;
}

function judgeActor(anchorId: AnchorId, leaf: Leaf, iris: LoadedLeaf | null, crypto: Crypto): JudgedActor {
  const violations: TraceViolation[] = [];
  const signature = checkActorSignature(leaf, crypto);
  if (signature.result === "fail")
    violations.push({ code: "actor_signature_invalid", anchorId, detail: signature.detail });
  const subject = checkActorIsIrisSubject(leaf, iris, crypto);
  if (subject.result === "fail") violations.push({ code: "actor_key_mismatch", anchorId, detail: subject.detail });
  return {
    violations,
    signature: violations.length > 0 ? "fail" : signature.result,
    isProven: signature.result === "pass" && subject.result === "pass",
  };
}

function delegationViolations(
  iris: ClaimRecord | null,
  chain: GrantChain | null,
  judge: DelegationJudge,
  records: Records,
): TraceViolation[] {
  const links = chain?.links ?? [];
  const ofIris = iris === null ? null : judge.claimFault(iris.sequence);
  const found = [
    ...(ofIris === null ? [] : [ofIris]),
    ...links.slice(0, TRACE_LIMITS.delegationMax).flatMap((link) => judge.linkFaults(link)),
    ...links.slice(TRACE_LIMITS.delegationMax).flatMap((link) => parentLinkFault(link, records) ?? []),
  ];
  // A faulty claim that two links name is reported once.
  const distinct = new Map(
    found.map((fault) => [`${bytesToHex(fault.anchorId)} ${fault.code} ${fault.detail}`, fault]),
  );
  return [...distinct.values()];
}

/** Grants in force whose grantee is the root grantor. */
function possibleParentsOf(chain: GrantChain | null, { grants, records }: PossibleParents, at: AsOf): AnchorId[] {
  const root = chain?.links.at(-1);
  if (chain === null || root === undefined || !chain.isComplete) return [];
  const own = new Set(chain.links.map(({ sequence }) => sequence));
  const states = new RecordStates(records, at);
  return grants
    .filter((grant) => grant.sequence <= at.sequence && !own.has(grant.sequence))
    .filter((grant) => grant.granteeLineage === root.grantorLineage && states.isInForce(grant))
    .sort((a, b) => a.sequence - b.sequence)
    .slice(0, TRACE_LIMITS.possibleParentsMax)
    .map(({ anchorId }) => anchorId);
}

function reasonsOf(verdict: TraceReason["verdict"], reasons: readonly AuthorityReason[]): TraceReason[] {
  return reasons.map((reason) => ({ verdict, ...reason }));
}

/** The claim and the grant that a trace is about: those an event names, or the anchor itself. */
function subjectsOf(leaf: Leaf, actor: ActorRecords, records: Records): Pick<ActorRecords, "iris" | "grant"> {
  if (leaf.kind === LEAF_KIND.claim) return { iris: records.claim(leaf.sequence), grant: null };
  if (leaf.kind === LEAF_KIND.grant) return { iris: null, grant: records.grant(leaf.sequence) };
  return actor;
}

/** The records on the way that a revocation may concern. */
function targetsOf(
  { iris, grant }: Pick<ActorRecords, "iris" | "grant">,
  records: Records,
  positions: readonly AsOf[],
): AnyRecord[] {
  const shown = { claims: iris === null ? [] : [iris], grants: grant === null ? [] : [grant] };
  const { claims, grants } = recordsInView(shown, records, positions, TRACE_LIMITS.delegationMax);
  return [...claims, ...grants];
}

/**
 * Traces an anchor of any kind.
 * @throws DecodeError if the anchor or a parent that is shown is no leaf: a corrupt row is never shown as a record
 */
export function traceEvent(input: TraceInput, crypto: Crypto): Trace {
  const { anchor, records, asOf } = input;
  const { anchorId } = anchor;
  const leaf = decodeLeaf(anchor.bytes);
  const leaves = new LeafRows([anchor, ...input.leaves], crypto.sha256);
  const references = traceReferences(leaf, input.references);
  const actor = actorRecordsOf(leaf, input.references, records);
  const { iris, grant } = subjectsOf(leaf, actor, records);
  const chain = grant === null ? null : chainOf(grant, records);
  const viewer = new RecordViewer(leaves, records, asOf);
  const irisClaim = viewer.claim(actor.iris);
  const ofActor = judgeActor(anchorId, leaf, irisClaim, crypto);
  const position = { sequence: leaf.sequence, timeMs: leaf.acceptedMs };
  const targets = targetsOf({ iris, grant }, records, [position, asOf]);
  const revoked = traceRevocations(leaf, new LeafRows(input.revocations, crypto.sha256), targets, asOf);
  const judge = new DelegationJudge(records, leaves, asOf, crypto);
  const ofRecords = [...delegationViolations(iris, chain, judge, records), ...revoked.violations];
  const isBelieved = ofRecords.length === 0;
  const atAction = judgeAuthority(actor, position, records, isBelieved);
  const now = judgeAuthority(actor, asOf, records, isBelieved);
  return {
    leaf,
    isActorProven: ofActor.isProven,
    authorisedAtAction: atAction.verdict,
    authorisedNow: now.verdict,
    reasons: [...reasonsOf("at_action", atAction.reasons), ...reasonsOf("now", now.reasons)],
    actor: {
      claim: irisClaim,
      state: irisClaim?.state ?? null,
      actorSignature: ofActor.signature,
    },
    delegation: grant === null ? { hops: [], omitted: 0 } : traceDelegation(grant, { records, leaves }, asOf),
    boundary: boundaryOf(chain, leaves),
    rootAuthority: chain === null ? "not_checked" : rootAuthorityOf(chain, input.trustedRoots).result,
    possibleParents: possibleParentsOf(chain, input.possibleParents, asOf),
    revocations: revoked.revocations,
    isSuspect: revoked.isSuspect,
    violations: [
      ...parentViolations([anchor, ...input.parents], input.beforeParents, crypto),
      ...referenceViolations(anchorId, references),
      ...ofActor.violations,
      ...ofRecords,
    ],
    references,
  };
}
