/**
 * The meaning of recorded claims, grants and events: what is in force, the checks of an anchor, the trace of an act.
 */
export type { AsOf } from "./book/as-of.ts";
export { LoadedRecords } from "./book/loaded-records.ts";
export { RecordBook, claimPairHash, grantPartiesHash, recorderOf } from "./book/records.ts";
export type {
  ClaimRecord,
  GrantParties,
  GrantRecord,
  RecordEnds,
  RecordIndex,
  RecordSource,
  Records,
} from "./book/records.ts";
export { REFERENCE_RULES } from "./book/references.ts";
export type { AnchorFact } from "./book/references.ts";
export { authorityOverClaim, authorityOverGrant } from "./book/revocation-authority.ts";
export type { RevocationAuthority } from "./book/revocation-authority.ts";
export { claimSignatures, grantSignatures, signaturesOfLeaf } from "./book/signatures.ts";
export type { SignatureToVerify } from "./book/signatures.ts";
export {
  RECORD_STATE_KIND,
  decodeStatedClaim,
  decodeStatedGrant,
  encodeStatedClaim,
  encodeStatedGrant,
} from "./book/state-values.ts";
export type { StatedClaim, StatedGrant } from "./book/state-values.ts";
export { RecordStates, chainOf } from "./force/chain-force.ts";
export { addLinkFaults, claimFaultAt, claimStateAt, grantEndOf, grantForceAt, grantStateOf } from "./force/in-force.ts";
export type { ForceFault, RecordState } from "./force/in-force.ts";
export { leavesInView, recordsInView, targetsInView } from "./force/records-in-view.ts";
export type { RecordsInView } from "./force/records-in-view.ts";
export { parentFault } from "./judge/anchor-checks.ts";
export type { AnchorEvidence, LoadedLeaf } from "./judge/anchor-checks.ts";
export type { AuthorityReasonCode, AuthorityVerdict } from "./judge/authority.ts";
export type { Check, CheckResult, VerificationResult } from "./judge/checks.ts";
export { DelegationJudge } from "./judge/delegation.ts";
export { LeafRows } from "./judge/leaf-rows.ts";
export { parentViolations, traceEvent } from "./judge/trace.ts";
export type { PossibleParents, Trace, TraceInput, ViolationCode } from "./judge/trace.ts";
export { TRACE_LIMITS } from "./judge/traced-delegation.ts";
export type { ShownRecord, TracedDelegation } from "./judge/traced-delegation.ts";
export { rememberVerdicts } from "./judge/verdict-memo.ts";
export type { SignedMessage, VerdictMemo } from "./judge/verdict-memo.ts";
export { CLAIM_CHECKS, verifyClaim } from "./judge/verify-claim.ts";
export { EVENT_CHECKS, isEvent, verifyEvent } from "./judge/verify-event.ts";
export { GRANT_CHECKS, verifyGrant } from "./judge/verify-grant.ts";
