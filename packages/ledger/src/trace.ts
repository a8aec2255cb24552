/**
 * From an anchor back to who acted, who delegated and within what bounds. Bounded, iterative, and a function of the
 * rows that are handed in. docs/PROTOCOL.md, "Tracing".
 */
import { LEAF_KIND, bytesToHex, decodeLeaf, isZero } from "@event-anchoring/protocol";
import type { AnchorId, Crypto, EventLeaf, Leaf, LeafKind, SignedEventLeaf } from "@event-anchoring/protocol";
import type { CheckResult } from "./checks.ts";
import { REFERENCE_RULES } from "./facts.ts";
import type { AnchorFact } from "./facts.ts";
import { parentFault } from "./anchor-checks.ts";
import type { LoadedLeaf } from "./anchor-checks.ts";
import { checkActorSignature } from "./verification.ts";

/** `unknown`: a reference that the verdict needs is empty, or the anchor is no event. */
export type AuthorityVerdict = boolean | "unknown";

export type TraceReasonCode =
  /** Verdicts are about events. */
  | "not_an_event"
  | "iris_ref_empty"
  | "grant_ref_empty"
  /** The records that would decide were not among the rows. */
  | "records_not_loaded";

export interface TraceReason {
  readonly code: TraceReasonCode;
  /** The record at fault, if there is one. */
  readonly anchorId: AnchorId | null;
  readonly sequence: number | null;
}

export type RecordState = "active" | "superseded" | "revoked" | "expired";

export interface TraceActor {
  /** The claim that iris_ref names. */
  readonly claim: LoadedLeaf | null;
  readonly state: RecordState | null;
  readonly actorSignature: CheckResult;
}

/** One hop of the delegation, from the grant the event names towards the root. */
export interface DelegationHop {
  readonly grant: LoadedLeaf;
  readonly grantorClaim: LoadedLeaf;
  readonly granteeClaim: LoadedLeaf;
  readonly witnessPublicKey: Uint8Array;
  readonly witnessIsGrantee: boolean;
}

/** How far the delegation reaches. Times are Unix milliseconds, 0 = unbounded. */
export interface DelegationBoundary {
  readonly scopeHash: Uint8Array;
  readonly depth: { readonly granted: number; readonly used: number; readonly left: number };
  readonly window: { readonly notBefore: number; readonly expiresAt: number };
}

export type ViolationCode =
  /** A leaf does not follow the one before it. */
  | "parent_link_broken"
  /** A leaf names an anchor that does not exist, or is not older than itself. */
  | "reference_missing"
  | "reference_wrong_kind"
  | "actor_signature_invalid";

/** Something that the rules exclude: a row was altered, or a rule was broken when it was written. */
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

export interface TraceInput {
  readonly anchor: LoadedLeaf;
  /** By hex, those of the anchor's references that exist. */
  readonly references: ReadonlyMap<string, AnchorFact>;
  /** Leaves of the same origin before the anchor, deepest first, without gaps; as many as are shown. */
  readonly parents: readonly LoadedLeaf[];
  /** The leaf before the last of `parents` (before the anchor if there are none), if it is not itself shown. */
  readonly beforeParents: LoadedLeaf | null;
}

export interface Trace {
  readonly leaf: Leaf;
  readonly authorisedAtAction: AuthorityVerdict;
  readonly authorisedNow: AuthorityVerdict;
  /** Why a verdict is not true. */
  readonly reasons: readonly TraceReason[];
  readonly actor: TraceActor;
  /** Leaf to root. */
  readonly delegation: readonly DelegationHop[];
  readonly boundary: DelegationBoundary | null;
  readonly rootAuthority: CheckResult;
  readonly possibleParents: readonly AnchorId[];
  readonly revocations: readonly LoadedLeaf[];
  readonly violations: readonly TraceViolation[];
  /** The non-empty ones, in field order. */
  readonly references: readonly TraceReference[];
}

type AnyEventLeaf = EventLeaf | SignedEventLeaf;

function isEvent(leaf: Leaf): leaf is AnyEventLeaf {
  return leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
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

/** Holds every leaf that is shown against the one before it. */
function linkViolations(input: TraceInput, crypto: Crypto): TraceViolation[] {
  const shown = [input.anchor, ...input.parents];
  return shown.flatMap((child, position): TraceViolation[] => {
    const before = shown[position + 1] ?? input.beforeParents;
    const leaf = decodeLeaf(child.bytes);
    // Beyond the page there is nothing to hold the last leaf against.
    if (before === null && position === shown.length - 1 && input.parents.length > 0) return [];
    const fault = parentFault(leaf, before, crypto);
    return fault === null ? [] : [{ code: "parent_link_broken", anchorId: child.anchorId, detail: fault }];
  });
}

/** Which of the two references that a verdict needs are empty. */
function reasonsUnknown(leaf: Leaf): TraceReason[] {
  const nowhere = { anchorId: null, sequence: null };
  if (!isEvent(leaf)) return [{ code: "not_an_event", ...nowhere }];
  const reasons: TraceReason[] = [];
  if (isZero(leaf.semanticAnchor.irisRef)) reasons.push({ code: "iris_ref_empty", ...nowhere });
  if (isZero(leaf.semanticAnchor.grantRef)) reasons.push({ code: "grant_ref_empty", ...nowhere });
  return reasons.length === 0 ? [{ code: "records_not_loaded", ...nowhere }] : reasons;
}

/**
 * Traces an anchor of any kind.
 * @throws DecodeError if a row that is shown is no leaf: a corrupt row is never shown as a record
 */
export function traceEvent(input: TraceInput, crypto: Crypto): Trace {
  const { anchorId, bytes } = input.anchor;
  const leaf = decodeLeaf(bytes);
  const signature = checkActorSignature(leaf, crypto);
  const references = traceReferences(leaf, input.references);
  const violations = [...linkViolations(input, crypto), ...referenceViolations(anchorId, references)];
  if (signature.result === "fail")
    violations.push({ code: "actor_signature_invalid", anchorId, detail: signature.detail });
  return {
    leaf,
    authorisedAtAction: "unknown",
    authorisedNow: "unknown",
    reasons: reasonsUnknown(leaf),
    actor: { claim: null, state: null, actorSignature: signature.result },
    delegation: [],
    boundary: null,
    rootAuthority: "not_checked",
    possibleParents: [],
    revocations: [],
    violations,
    references,
  };
}
