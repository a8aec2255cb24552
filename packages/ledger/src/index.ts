/** What a committed command means: pure decisions over loaded facts. */
export { LIMITS } from "./limits.ts";
export { SCOPES } from "./command.ts";
export type {
  Certificate,
  Command,
  CommandKind,
  Cosignature,
  CreateApiKeyCommand,
  Credential,
  Entry,
  EventInput,
  GenesisCommand,
  GroupId,
  MarkCertifyPointCommand,
  ProposalGroup,
  RecordEventsCommand,
  Scope,
  TrustRootCommand,
} from "./command.ts";
export { decodeCommand, encodeCommand, scopesFromBits, scopesToBits } from "./command-codec.ts";
export {
  ENTRY_VERSION,
  decodeEntry,
  decodeGroup,
  decodeGroupId,
  encodeEntry,
  encodeGroup,
  encodeGroupId,
  readEntryHeader,
} from "./entry-codec.ts";
export type { EntryHeader, EntryToEncode } from "./entry-codec.ts";
export { fitsEntry, mayAppendLeaf, needsCertifyPoint, packEntry, waitingGroupOf, weightOf } from "./pack-entry.ts";
export type { PackedEntry, WaitingGroup, Weight } from "./pack-entry.ts";
export { LedgerHaltError } from "./halt.ts";
export type { HaltCode } from "./halt.ts";
export { REJECTION_CODES } from "./rejection.ts";
export type { Rejection, RejectionCode } from "./rejection.ts";
export { apiKeyIdOf, isLiveApiKey, keyIdHex } from "./api-key.ts";
export type { ApiKey } from "./api-key.ts";
export { NO_FACTS, clientEventKey, contentHashOf, factsNeeded } from "./facts.ts";
export type { AnchorFact, ClientEventFact, ClientEventQuery, Facts, FactsQuery } from "./facts.ts";
export { TileAccumulator, openTileWidth, tileLevelsAt } from "./tile-accumulator.ts";
export type { CompletedTile } from "./tile-accumulator.ts";
export { GroupIdMemory } from "./group-id-memory.ts";
export type { DecidedGroupId } from "./group-id-memory.ts";
export { emptyLedgerState, trustRootVersionAt, trustRootsOf } from "./state.ts";
export type { CertifiedHead, LedgerState, OriginState, TrustRootPosition } from "./state.ts";
export { EMPTY_STORED_LEDGER, restoreLedgerState } from "./stored-ledger.ts";
export type { StoredLedger, StoredOrigin, StoredTrustRoot } from "./stored-ledger.ts";
export type {
  CertificateWrite,
  ClientEventWrite,
  CommandOutcome,
  EntryDecision,
  EntryWrites,
  RecordOutcome,
  GroupOutcome,
  LeafWrite,
  OriginStatusWrite,
  TileWrite,
  TrustRootPositionWrite,
  TrustRootWrite,
} from "./decision.ts";
export { decideEntry } from "./decide.ts";
export type { CommittedEntry } from "./decide.ts";
export { advance } from "./advance.ts";
export { encodeWrites, nextEffect } from "./effect.ts";
export type { AsOf, Check, CheckResult, VerificationResult } from "./checks.ts";
export { EVENT_CHECKS, verifyEvent } from "./verification.ts";
export type { EventCheckCode, EventVerificationInput, LoadedLeaf } from "./verification.ts";
export { rememberVerdicts } from "./verdict-memo.ts";
export { traceEvent } from "./trace.ts";
export type {
  AuthorityVerdict,
  DelegationBoundary,
  DelegationHop,
  RecordState,
  Trace,
  TraceActor,
  TraceInput,
  TraceReason,
  TraceReasonCode,
  TraceReference,
  TraceViolation,
  ViolationCode,
} from "./trace.ts";
export type { OriginStatus } from "@event-anchoring/protocol";
