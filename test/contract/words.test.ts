import { describe, expect, test } from "@jest/globals";
import {
  CHECK_CODES,
  LIMITS,
  PROBLEM_CODES,
  RECORD_STATES,
  TRACE_REASON_CODES,
  TRACE_VIOLATION_CODES,
} from "@event-anchoring/api-contract";
import { LIMITS as LEDGER_LIMITS, REJECTION_CODES } from "@event-anchoring/ledger";
import { CLAIM_CHECKS, EVENT_CHECKS, GRANT_CHECKS, TRACE_LIMITS } from "@event-anchoring/records";
import type { AuthorityReasonCode, RecordState, ViolationCode } from "@event-anchoring/records";

// The contract may not import the ledger, so it says the ledger's words again. Here both are held together.

/** The compiler asks for every word of the union, and for no other. */
type Every<Word extends string> = Readonly<Record<Word, true>>;

const REASONS: Every<AuthorityReasonCode> = {
  not_an_event: true,
  iris_ref_empty: true,
  grant_ref_empty: true,
  reference_wrong_kind: true,
  records_not_loaded: true,
  actor_not_grantee: true,
  actor_key_mismatch: true,
  claim_revoked: true,
  claim_superseded: true,
  claim_expired: true,
  grant_revoked: true,
  grant_superseded: true,
  grant_not_yet_valid: true,
  grant_expired: true,
  grantor_claim_revoked: true,
  grantee_claim_revoked: true,
  grantor_not_in_force: true,
  grantee_not_in_force: true,
};

const VIOLATIONS: Every<ViolationCode> = {
  parent_link_broken: true,
  reference_missing: true,
  reference_wrong_kind: true,
  actor_signature_invalid: true,
  actor_key_mismatch: true,
  record_differs: true,
  signature_invalid: true,
  grantor_key_mismatch: true,
  witness_is_grantor: true,
  delegation_broken: true,
};

const STATES: Every<RecordState> = { active: true, superseded: true, revoked: true, expired: true };

/** Codes of operators' commands, and of the ledger's own order: no route of the API sends what they refuse. */
const NOT_OF_CLIENTS = [
  "not_alone",
  "operator_signature_missing",
  "operator_unknown",
  "operator_counter_used",
  "trust_root_invalid",
  "api_key_conflict",
  "api_key_limit",
  "api_key_unknown",
];

describe("the words of the contract are the ledger's", () => {
  test("checks", () => {
    expect(new Set<string>(CHECK_CODES)).toEqual(new Set<string>([...EVENT_CHECKS, ...CLAIM_CHECKS, ...GRANT_CHECKS]));
  });

  test("reasons, violations and states", () => {
    expect([...TRACE_REASON_CODES].sort()).toEqual(Object.keys(REASONS).sort());
    expect([...TRACE_VIOLATION_CODES].sort()).toEqual(Object.keys(VIOLATIONS).sort());
    expect([...RECORD_STATES].sort()).toEqual(Object.keys(STATES).sort());
  });

  test("every rejection of a client's command is a problem", () => {
    const missing = REJECTION_CODES.filter((code) => !PROBLEM_CODES.some((each) => each === code));
    expect(missing).toEqual(NOT_OF_CLIENTS);
  });

  test("limits that both know are the same", () => {
    expect(LIMITS.delegationLinksMax).toBe(LEDGER_LIMITS.delegationLinksMax);
    expect(LIMITS.batchItemsMax).toBe(LEDGER_LIMITS.batchEventsMax);
    expect(LIMITS.batchSignedItemsMax).toBe(LEDGER_LIMITS.entrySignedCommandsMax);
    expect(LIMITS.clientEventIdCharsMax).toBe(LEDGER_LIMITS.clientEventIdCharsMax);
    expect(LIMITS.traceDelegationMax).toBe(TRACE_LIMITS.delegationMax);
    expect(LIMITS.possibleParentsMax).toBe(TRACE_LIMITS.possibleParentsMax);
  });
});
