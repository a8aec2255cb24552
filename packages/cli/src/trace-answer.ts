/** The parts of GET /v1/event-anchors/{anchor_id}/trace that are shown to a person. docs/PROTOCOL.md, "Tracing". */
import {
  countAt,
  countOrNullAt,
  fieldsAt,
  fieldsOrNullAt,
  flagAt,
  listAt,
  textAt,
  textOrNullAt,
  wordAt,
} from "./answer-fields.ts";
import type { Fields } from "./answer-fields.ts";
import { CliError, EXIT } from "./cli-error.ts";

export type Verdict = boolean | "unknown";

/** A record as the trace shows it; hex in lower case. */
export interface ShownRecord {
  readonly anchorId: string;
  readonly kind: string;
  readonly sequence: number;
  readonly acceptedAt: string;
  /** Of claims and grants. */
  readonly state: string | null;
}

export interface ShownHop {
  readonly grant: ShownRecord;
  /** How many further hops the grant allowed below itself. */
  readonly delegationDepth: number;
  readonly grantorClaim: ShownRecord;
  readonly granteeClaim: ShownRecord;
  readonly witnessPublicKey: string;
  readonly isWitnessGrantee: boolean;
}

export interface ShownReason {
  readonly verdict: "at_action" | "now";
  readonly code: string;
  readonly anchorId: string | null;
  readonly sequence: number | null;
}

export interface ShownBoundary {
  readonly scopeHash: string;
  readonly granted: number;
  readonly used: number;
  readonly left: number;
  /** Unix milliseconds, 0 = not bounded. */
  readonly notBefore: number;
  readonly expiresAt: number;
}

export interface ShownRevocation {
  readonly sequence: number;
  readonly acceptedAt: string;
  readonly targetAnchorId: string;
  readonly reason: string;
  readonly authority: string;
  readonly isBeforeAction: boolean;
}

export interface ShownTrace {
  readonly anchor: ShownRecord;
  /** The subject of the actor's claim has signed. */
  readonly isActorProven: boolean;
  readonly authorisedAtAction: Verdict;
  readonly authorisedNow: Verdict;
  readonly isSuspect: boolean;
  readonly reasons: readonly ShownReason[];
  readonly actor: ShownRecord | null;
  readonly actorSignature: "pass" | "fail" | "not_checked";
  /** From the grant that the event names to the root grant. */
  readonly delegation: readonly ShownHop[];
  /** Hops towards the root that the answer leaves out. */
  readonly delegationOmitted: number;
  readonly boundary: ShownBoundary | null;
  readonly rootAuthority: string;
  readonly revocations: readonly ShownRevocation[];
  readonly violations: readonly { readonly code: string; readonly anchorId: string; readonly detail: string }[];
  /** Position that `now` means. */
  readonly asOf: { readonly sequence: number | null; readonly time: string };
}

/** @throws CliError `answer_malformed` */
export function readTrace(body: Fields): ShownTrace {
  const actor = fieldsAt(body, "actor");
  const claim = fieldsOrNullAt(actor, "claim");
  const asOf = fieldsAt(body, "as_of");
  return {
    anchor: readRecord(fieldsAt(body, "anchor")),
    isActorProven: flagAt(body, "actor_proven"),
    authorisedAtAction: verdictAt(body, "authorised_at_action"),
    authorisedNow: verdictAt(body, "authorised_now"),
    isSuspect: flagAt(body, "suspect"),
    reasons: listAt(body, "reasons", readReason),
    actor: claim === null ? null : { ...readRecord(claim), state: textOrNullAt(actor, "state") },
    actorSignature: wordAt(actor, "actor_signature", ["pass", "fail", "not_checked"]),
    delegation: listAt(body, "delegation", readHop),
    delegationOmitted: countAt(body, "delegation_omitted"),
    boundary: readBoundary(fieldsOrNullAt(body, "boundary")),
    rootAuthority: textAt(body, "root_authority"),
    revocations: listAt(body, "revocations", readRevocation),
    violations: listAt(body, "violations", (item) => ({
      code: textAt(item, "code"),
      anchorId: textAt(item, "anchor_id"),
      detail: textAt(item, "detail"),
    })),
    asOf: { sequence: countOrNullAt(asOf, "sequence"), time: textAt(asOf, "time") },
  };
}

function verdictAt(body: Fields, name: string): Verdict {
  const value = body[name];
  if (value === true || value === false || value === "unknown") return value;
  throw new CliError(EXIT.unavailable, "answer_malformed", `the service's answer has no verdict at ${name}`);
}

function readRecord(anchor: Fields): ShownRecord {
  return {
    anchorId: textAt(anchor, "anchor_id"),
    kind: textAt(anchor, "kind"),
    sequence: countAt(anchor, "sequence"),
    acceptedAt: textAt(anchor, "accepted_at"),
    state: textOrNullAt(anchor, "state"),
  };
}

function readReason(reason: Fields): ShownReason {
  return {
    verdict: wordAt(reason, "verdict", ["at_action", "now"]),
    code: textAt(reason, "code"),
    anchorId: textOrNullAt(reason, "anchor_id"),
    sequence: countOrNullAt(reason, "sequence"),
  };
}

function readHop(hop: Fields): ShownHop {
  const grant = fieldsAt(hop, "grant");
  return {
    grant: readRecord(grant),
    delegationDepth: countAt(grant, "delegation_depth"),
    grantorClaim: readRecord(fieldsAt(hop, "grantor_claim")),
    granteeClaim: readRecord(fieldsAt(hop, "grantee_claim")),
    witnessPublicKey: textAt(hop, "witness_public_key"),
    isWitnessGrantee: flagAt(hop, "witness_is_grantee"),
  };
}

function readBoundary(boundary: Fields | null): ShownBoundary | null {
  if (boundary === null) return null;
  const depth = fieldsAt(boundary, "depth");
  const window = fieldsAt(boundary, "window");
  return {
    scopeHash: textAt(boundary, "scope_hash"),
    granted: countAt(depth, "granted"),
    used: countAt(depth, "used"),
    left: countAt(depth, "left"),
    notBefore: countAt(window, "not_before"),
    expiresAt: countAt(window, "expires_at"),
  };
}

function readRevocation(item: Fields): ShownRevocation {
  const anchor = fieldsAt(item, "anchor");
  return {
    sequence: countAt(anchor, "sequence"),
    acceptedAt: textAt(anchor, "accepted_at"),
    targetAnchorId: textAt(item, "target_anchor_id"),
    reason: textAt(anchor, "reason"),
    authority: textAt(anchor, "authority"),
    isBeforeAction: flagAt(item, "before_action"),
  };
}
