/** What a committed command means: pure decisions over loaded facts. */
export { LIMITS } from "./limits.ts";
export { SCOPES } from "./command.ts";
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
} from "./command.ts";
export { decodeCommand, encodeCommand, isOperatorCommand } from "./command-codec.ts";
export { scopesFromBits, scopesToBits } from "./api-key-codec.ts";
export { decodeEntry, decodeGroup, decodeGroupId, encodeEntry, encodeGroup, encodeGroupId } from "./entry-codec.ts";
export {
  fitsEntry,
  mayAppendLeaf,
  needsCertifyPoint,
  packEntry,
  sharesGroup,
  waitingGroupOf,
  weightOf,
} from "./pack-entry.ts";
export type { Purpose, WaitingGroup, Weight } from "./pack-entry.ts";
export { RELEASE_RULES, RULES_FIRST, RuleTable } from "./rules.ts";
export type { Rules } from "./rules.ts";
export { LedgerHaltError } from "./halt.ts";
export { REJECTION_CODES } from "./rejection.ts";
export type { Rejection, RejectionCode } from "./rejection.ts";
export { apiKeyIdOf, isLiveApiKey, keyIdHex } from "./api-key.ts";
export type { ApiKey } from "./api-key.ts";
export { NO_FACTS, REFERENCE_RULES, asksNothing, clientEventKey, factsNeeded } from "./facts.ts";
export type {
  AnchorFact,
  ClientEventFact,
  ContentFact,
  Facts,
  FactsQuery,
  FoundAnchor,
  GrantPartiesQuery,
} from "./facts.ts";
export { claimContentHash, contentHashOfRecord, eventContentHash, grantContentHash } from "./content-hash.ts";
export { LoadedRecords } from "./loaded-records.ts";
export { RecordBook, claimPairHash, grantPartiesHash } from "./records.ts";
export type {
  AppendedRecord,
  ClaimRecord,
  GrantRecord,
  RecordEnds,
  RecordIndex,
  RecordSource,
  Records,
} from "./records.ts";
export { operatorActMessage, usedCounterIn, usedCounterText } from "./operator-act.ts";
export type { ActPlace } from "./operator-act.ts";
export { signaturesOf } from "./signatures.ts";
export { authorityOverClaim, authorityOverGrant } from "./revocation-authority.ts";
export { signaturesOfLeaf } from "./leaf-signatures.ts";
export type { SignatureToVerify } from "./signatures.ts";
export { claimStateAt, grantForceAt, grantStateOf } from "./in-force.ts";
export type { RecordState } from "./in-force.ts";
export { TileAccumulator, openTileWidth, tileLevelsAt } from "./tile-accumulator.ts";
export type { CompletedTile } from "./tile-accumulator.ts";
export type { DecidedGroupId } from "./group-id-memory.ts";
export { emptyLedgerState, trustRootVersionAt, trustRootsOf } from "./state.ts";
export type { CertifiedHead, LedgerState, OriginState, TrustRootPosition } from "./state.ts";
export { EMPTY_STORED_LEDGER, restoreLedgerState } from "./stored-ledger.ts";
export type { StoredLedger, StoredOrigin, StoredTrustRoot } from "./stored-ledger.ts";
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
} from "./decision.ts";
export { decideEntry } from "./decide.ts";
export { advance } from "./advance.ts";
export { encodeWrites } from "./effect.ts";
export type { AsOf, Check, CheckResult, VerificationResult } from "./checks.ts";
export { EVENT_CHECKS, verifyEvent } from "./verification.ts";
export type { EventCheckCode, EventVerificationInput } from "./verification.ts";
export { CLAIM_CHECKS, verifyClaim } from "./verify-claim.ts";
export type { ClaimCheckCode, ClaimVerificationInput, RecordEvidence } from "./verify-claim.ts";
export { GRANT_CHECKS, verifyGrant } from "./verify-grant.ts";
export type { GrantCheckCode, GrantVerificationInput } from "./verify-grant.ts";
export { RecordStates, chainOf } from "./chain-force.ts";
export { leavesInView, recordsInView, targetsInView } from "./records-in-view.ts";
export type { RecordsInView } from "./records-in-view.ts";
export type { AnchorEvidence, LoadedLeaf } from "./anchor-checks.ts";
export { rememberVerdicts } from "./verdict-memo.ts";
export type { SignedMessage, VerdictMemo } from "./verdict-memo.ts";
export type { AuthorityReasonCode, AuthorityVerdict } from "./authority.ts";
export { TRACE_LIMITS } from "./traced-delegation.ts";
export type { ShownRecord, TracedDelegation } from "./traced-delegation.ts";
export { parentViolations, traceEvent } from "./trace.ts";
export type { PossibleParents, Trace, TraceInput, ViolationCode } from "./trace.ts";
export { BUNDLE_FORMAT, BUNDLE_LIMITS, formatBundle } from "./bundle.ts";
export type { Bundle } from "./bundle.ts";
export { BundleError } from "./bundle-error.ts";
export type { BundleJson } from "./bundle-json.ts";
export { parseBundle } from "./parse-bundle.ts";
export { BUNDLE_CHECKS, verifyBundle } from "./verify-bundle.ts";
export type { BundleCheckCode, BundleInput, BundleOutcome, BundleVerification } from "./verify-bundle.ts";
export { assembleBundle, completeUpTo, subtreesForPart, wantedOfTrace } from "./assemble-bundle.ts";
export type { OriginPart, TraceToBundle, TracedAnchor, WantedOfTrace } from "./assemble-bundle.ts";
export { verifyCheckpoint } from "./checkpoint-verification.ts";
export {
  apiKeyEntry,
  claimEntry,
  erasureEntry,
  grantEntry,
  lineageEntry,
  operatorEntry,
  stateEntriesOf,
  stateLeafOf,
} from "./state-entries.ts";
export type { StateEntry, StateWrites } from "./state-entries.ts";
export { stateHeadOf } from "./state-head-of.ts";
export {
  CLIENT_EVENT_PREFIX_BYTES,
  clientEventLookup,
  nextClientEventsHash,
  nextGroupIdsHash,
} from "./running-hash.ts";
export type { ClientEventMark } from "./running-hash.ts";
export {
  EMPTY_STATE_PAGE,
  StatePagesMissing,
  decodeStatePage,
  encodeStatePage,
  proveState,
  stateRootOf,
  updateStateTree,
} from "./state-pages.ts";
export type { StatePage, StateSlot, StateTreeUpdate } from "./state-pages.ts";
