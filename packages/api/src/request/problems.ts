/** Which problem a client gets for an error within the node. */
import type { Problem, ProblemCode } from "@event-anchoring/api-contract";
import type { Rejection, RejectionCode } from "@event-anchoring/ledger";
import { StoreError } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { UnservedCode } from "../control-plane/control-plane.ts";
import { ProblemError } from "./problem-error.ts";

/**
 * The problem that a client gets for a rejection by the ledger. Rejections of operators' commands cannot come from a
 * route of this process: receiving one is a bug of ours.
 */
const REJECTION_PROBLEMS: Readonly<Record<RejectionCode, ProblemCode>> = {
  not_initialised: "not_initialised",
  api_key_invalid: "api_key_invalid",
  scope_missing: "scope_missing",
  origin_unknown: "origin_unknown",
  origin_mismatch: "origin_mismatch",
  signature_invalid: "signature_invalid",
  not_own_record: "not_own_record",
  client_event_id_conflict: "client_event_id_conflict",
  origin_closed: "origin_closed",
  reference_not_found: "reference_not_found",
  reference_wrong_kind: "reference_wrong_kind",
  issued_in_future: "issued_in_future",
  window_invalid: "window_invalid",
  window_outside_parent: "window_outside_parent",
  claim_conflict: "claim_conflict",
  claim_not_in_force: "claim_not_in_force",
  grant_not_in_force: "grant_not_in_force",
  grantor_key_mismatch: "grantor_key_mismatch",
  witness_is_grantor: "witness_is_grantor",
  parent_mismatch: "parent_mismatch",
  depth_exceeded: "depth_exceeded",
  batch_refused: "batch_refused",
  not_alone: "internal_error",
  trust_root_invalid: "internal_error",
  api_key_conflict: "internal_error",
  api_key_limit: "internal_error",
  api_key_unknown: "internal_error",
  operator_signature_missing: "internal_error",
  operator_unknown: "internal_error",
  operator_counter_used: "internal_error",
};

/** @param itemPointer RFC 6901 pointer of the item in the request body; "" when the body is the item */
export function rejectionProblem(rejection: Rejection, itemPointer = ""): Problem {
  const code = REJECTION_PROBLEMS[rejection.code] ?? "internal_error";
  if (code === "internal_error") return { code };
  const { pointer, detail } = rejection;
  if (pointer === undefined) return { code, detail };
  return { code, detail, errors: [{ pointer: itemPointer + pointer, code, detail }] };
}

const REFUSAL_PROBLEMS: Readonly<Record<UnservedCode, ProblemCode>> = {
  outcome_unknown: "outcome_unknown",
  overloaded: "overloaded",
  no_leader: "no_leader",
  certification_stalled: "certification_stalled",
  clock_unsafe: "clock_unsafe",
  not_initialised: "not_initialised",
  unavailable: "unavailable",
  fenced: "fenced",
  halted: "halted",
  storage_full: "storage_full",
  deadline_exceeded: "deadline_exceeded",
  too_large: "body_too_large",
  origin_contradicted: "origin_contradicted",
  state_not_signed: "state_not_signed",
};

function storeProblem(error: StoreError): Problem {
  // Corruption concerns the node: the answer says nothing about the record, least of all that it is absent.
  return { code: error.code === "full" ? "storage_full" : "unavailable" };
}

/** Express raises this for a path parameter that cannot be percent-decoded. */
function isBadEncoding(error: unknown): boolean {
  return error instanceof URIError || (error instanceof Error && "status" in error && error.status === 400);
}

/** The public answer to any error. Error texts are not sent to clients. */
export function problemOf(error: unknown): { problem: Problem; extension: object | null } {
  if (error instanceof ProblemError) return { problem: error.problem, extension: error.extension };
  if (error instanceof RefusedError) {
    const problem = { code: REFUSAL_PROBLEMS[error.code], retryAfterMs: error.retryAfterMs };
    return { problem, extension: null };
  }
  if (error instanceof StoreError) return { problem: storeProblem(error), extension: null };
  if (isBadEncoding(error)) {
    const item = { parameter: "path", code: "wrong_format", detail: "broken percent-encoding" };
    return { problem: { code: "invalid_request", errors: [item] }, extension: null };
  }
  return { problem: { code: "internal_error" }, extension: null };
}
