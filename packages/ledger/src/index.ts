/** What a committed command means: pure decisions over loaded facts. */
export { LIMITS } from "./entry/limits.ts";
export { SCOPES } from "./entry/command.ts";
export type {
  Certificate,
  ClaimInput,
  Command,
  Cosignature,
  CreateApiKeyCommand,
  Credential,
  EraseClientEventCommand,
  Entry,
  EventInput,
  GrantInput,
  GroupId,
  OperatorAct,
  OperatorActCommand,
  OperatorCommand,
  ProposalGroup,
  RecordClaimCommand,
  RecordEventsCommand,
  RecordGrantCommand,
  RecordRevocationCommand,
  RevocationInput,
  RevokeApiKeyCommand,
  RotateApiKeyCommand,
  Scope,
  Signer,
} from "./entry/command.ts";
export { decodeCommand, encodeCommand, isOperatorCommand } from "./entry/command-codec.ts";
export { scopesFromBits, scopesToBits } from "./entry/api-key-codec.ts";
export {
  decodeEntry,
  decodeGroup,
  decodeGroupId,
  encodeEntry,
  encodeGroup,
  encodeGroupId,
} from "./entry/entry-codec.ts";
export {
  fitsEntry,
  mayAppendLeaf,
  needsCertifyPoint,
  packEntry,
  sharesGroup,
  waitingGroupOf,
  weightOf,
} from "./entry/pack-entry.ts";
export type { Purpose, WaitingGroup, Weight } from "./entry/pack-entry.ts";
export { RELEASE_RULES, RULES_FIRST, RuleTable } from "./entry/rules.ts";
export type { Rules } from "./entry/rules.ts";
export { LedgerHaltError } from "./entry/halt.ts";
export { REJECTION_CODES } from "./decide/rejection.ts";
export type { Rejection, RejectionCode } from "./decide/rejection.ts";
export { apiKeyIdOf, isLiveApiKey, keyIdHex } from "./state/api-key.ts";
export type { ApiKey } from "./state/api-key.ts";
export { REFERENCE_RULES } from "./records/references.ts";
export { NO_FACTS, asksNothing, clientEventKey, factsNeeded } from "./decide/facts.ts";
export type { AnchorFact } from "./records/references.ts";
export type {
  ClientEventFact,
  ContentFact,
  Facts,
  FactsQuery,
  FoundAnchor,
  GrantPartiesQuery,
} from "./decide/facts.ts";
export { claimContentHash, contentHashOfRecord, eventContentHash, grantContentHash } from "./decide/content-hash.ts";
export { LoadedRecords } from "./records/loaded-records.ts";
export { RecordBook, claimPairHash, grantPartiesHash } from "./records/records.ts";
export type {
  AppendedRecord,
  ClaimRecord,
  GrantRecord,
  RecordEnds,
  RecordIndex,
  RecordSource,
  Records,
} from "./records/records.ts";
export { operatorActMessage, usedCounterIn, usedCounterText } from "./entry/operator-act.ts";
export type { ActPlace } from "./entry/operator-act.ts";
export { signaturesOf } from "./entry/command-signatures.ts";
export { authorityOverClaim, authorityOverGrant } from "./records/revocation-authority.ts";
export { signaturesOfLeaf } from "./records/signatures.ts";
export type { SignatureToVerify } from "./records/signatures.ts";
export { claimStateAt, grantForceAt, grantStateOf } from "./records/in-force.ts";
export type { RecordState } from "./records/in-force.ts";
export { TileAccumulator, openTileWidth, tileLevelsAt } from "./state/tile-accumulator.ts";
export type { CompletedTile } from "./state/tile-accumulator.ts";
export { LeafWalk, judgingVersion } from "./walk/leaf-walk.ts";
export type { LeafFault, WalkedLeaf, WalkedOrigin } from "./walk/leaf-walk.ts";
export type { DecidedGroupId } from "./state/group-id-memory.ts";
export { emptyLedgerState, trustRootVersionAt, trustRootsOf } from "./state/state.ts";
export type { CertifiedHead, LedgerState, OriginState, TrustRootPosition } from "./state/state.ts";
export { EMPTY_STORED_LEDGER, restoreLedgerState } from "./state/stored-ledger.ts";
export type { StoredLedger, StoredOrigin, StoredTrustRoot } from "./state/stored-ledger.ts";
export type {
  CertificateWrite,
  ClientEventWrite,
  CommandOutcome,
  ContentWrite,
  EntryDecision,
  EntryWrites,
  RecordOutcome,
  LeafWrite,
  RevocationWrite,
  TileWrite,
} from "./decide/decision.ts";
export { decideEntry } from "./decide/decide.ts";
export { advance } from "./decide/advance.ts";
export { encodeWrites } from "./decide/effect.ts";
export type { AsOf } from "./records/as-of.ts";
export type { Check, CheckResult, VerificationResult } from "./judge/checks.ts";
export { EVENT_CHECKS, verifyEvent } from "./judge/verify-event.ts";
export type { EventCheckCode, EventVerificationInput } from "./judge/verify-event.ts";
export { CLAIM_CHECKS, verifyClaim } from "./judge/verify-claim.ts";
export type { ClaimCheckCode, ClaimVerificationInput, RecordEvidence } from "./judge/verify-claim.ts";
export { GRANT_CHECKS, verifyGrant } from "./judge/verify-grant.ts";
export type { GrantCheckCode, GrantVerificationInput } from "./judge/verify-grant.ts";
export { RecordStates, chainOf } from "./records/chain-force.ts";
export { leavesInView, recordsInView, targetsInView } from "./records/records-in-view.ts";
export type { RecordsInView } from "./records/records-in-view.ts";
export type { AnchorEvidence, LoadedLeaf } from "./judge/anchor-checks.ts";
export { rememberVerdicts } from "./judge/verdict-memo.ts";
export type { SignedMessage, VerdictMemo } from "./judge/verdict-memo.ts";
export type { AuthorityReasonCode, AuthorityVerdict } from "./judge/authority.ts";
export { TRACE_LIMITS } from "./judge/traced-delegation.ts";
export type { ShownRecord, TracedDelegation } from "./judge/traced-delegation.ts";
export { parentViolations, traceEvent } from "./judge/trace.ts";
export type { PossibleParents, Trace, TraceInput, ViolationCode } from "./judge/trace.ts";
export { BUNDLE_FORMAT, BUNDLE_LIMITS, formatBundle } from "./bundle/format/bundle.ts";
export type { Bundle } from "./bundle/format/bundle.ts";
export { BundleError } from "./bundle/format/bundle-error.ts";
export type { BundleJson } from "./bundle/format/strict-json.ts";
export { parseBundle } from "./bundle/format/parse-bundle.ts";
export { BUNDLE_CHECKS, verifyBundle } from "./bundle/verify/verify-bundle.ts";
export type { BundleCheckCode, BundleInput, BundleOutcome, BundleVerification } from "./bundle/verify/verify-bundle.ts";
export { assembleBundle, completeUpTo, subtreesForPart, wantedOfTrace } from "./bundle/format/assemble-bundle.ts";
export type { OriginPart, TraceToBundle, TracedAnchor, WantedOfTrace } from "./bundle/format/assemble-bundle.ts";
export { verifyCheckpoint } from "./bundle/verify/verify-checkpoint.ts";
export {
  apiKeyEntry,
  claimEntry,
  erasureEntry,
  grantEntry,
  lineageEntry,
  operatorEntry,
  stateEntriesOf,
  stateLeafOf,
} from "./state-tree/state-entries.ts";
export type { StateEntry, StateWrites } from "./state-tree/state-entries.ts";
export { stateHeadOf } from "./state-tree/state-head-of.ts";
export {
  CLIENT_EVENT_PREFIX_BYTES,
  clientEventLookup,
  nextClientEventsHash,
  nextGroupIdsHash,
} from "./decide/running-hash.ts";
export type { ClientEventMark } from "./decide/running-hash.ts";
export {
  EMPTY_STATE_PAGE,
  StatePagesMissing,
  decodeStatePage,
  encodeStatePage,
  proveState,
  stateRootOf,
  updateStateTree,
} from "./state-tree/state-pages.ts";
export type { StatePage, StateSlot, StateTreeUpdate } from "./state-tree/state-pages.ts";
