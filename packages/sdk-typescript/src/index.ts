/** Client and offline verifier of the event anchoring service. */
export { Client } from "./client.ts";
export type { BatchOptions, CallOptions, ClientOptions, WriteOptions } from "./client-options.ts";
export { ManyInterrupted } from "./create-many.ts";
export type { ManyEvents, ManyItem, ManyOptions } from "./create-many.ts";
export type { FollowQuestion, FollowedHead, HeldHead } from "./follow-heads.ts";
export type { EndpointResponse, FailedTry, SentRequest, Timing } from "./exchange.ts";
export { readers } from "./answer-reader.ts";
export type { Reader } from "./answer-reader.ts";
export { RawAnswer } from "./raw-request.ts";
export type { RawRequest } from "./raw-request.ts";
export {
  AnchoringError,
  ApiProblem,
  Cancelled,
  Conflict,
  ConnectionFailed,
  Forbidden,
  InvalidInput,
  NotFound,
  OutcomeUnknown,
  RateLimited,
  Rollback,
  SigningFailed,
  SplitView,
  TimedOut,
  Unauthorized,
  Unavailable,
  UnexpectedAnswer,
  Unprocessable,
  VerificationError,
} from "./errors.ts";
export type { ErrorContext, ProblemContext, ProblemItem, VerificationContext, VerificationStep } from "./errors.ts";
export type { Bytes32, Bytes64, Reference, RevocationReason } from "./inputs.ts";
export type { JsonBody, JsonValue } from "./json-body.ts";
export type {
  AnchorToVerify,
  AsOfInput,
  AsOfQuestion,
  ChainQuestion,
  ClaimFilter,
  ConsistencyQuestion,
  EventFilter,
  GrantFilter,
  LatestQuestion,
  PageInput,
  ProvableQuestion,
  VerifyEventQuestion,
} from "./query-inputs.ts";
export type {
  ClaimAnchorInput,
  EventInput,
  EventToCreate,
  GrantAnchorInput,
  RevocationInput,
} from "./signed-requests.ts";

export { PreparedClaimAnchor, prepareClaimAnchor } from "./prepare-claim.ts";
export type { ClaimAnchorContent } from "./prepare-claim.ts";
export { PreparedGrantAnchor, prepareGrantAnchor } from "./prepare-grant.ts";
export type { GrantAnchorContent } from "./prepare-grant.ts";
export { PreparedEventAnchor, prepareEventAnchor } from "./prepare-event.ts";
export type { EventAnchorContent, EventFields, SemanticAnchorInput } from "./prepare-event.ts";
export { PreparedRevocation, prepareRevocation } from "./prepare-revocation.ts";
export type { RevocationContent, RevocationFields } from "./prepare-revocation.ts";
export type { PreparedRequest } from "./prepared-request.ts";
export { fromWireNames, wireName } from "./wire-names.ts";
export { Payload } from "./payload.ts";
export type { SignerRole } from "./payload.ts";
export { signerOf } from "./signing.ts";
export type { Signer } from "./signing.ts";
export { LocalKey } from "./local-key.ts";

export { Receipt } from "./receipt.ts";
export { inspectReceipt, verifyReceipt } from "./verify-receipt.ts";
export type { ReceiptCheck, ReceiptReport, VerifiedReceipt } from "./verify-receipt.ts";
export { verifyCheckpoint, verifyConsistency } from "./verify-checkpoint.ts";
export type { TreeHead, VerifiedCheckpoint } from "./verify-checkpoint.ts";
export { addScopes, inspectBundle, verifyBundle } from "./verify-bundle.ts";
export type { BundleCheck } from "./verify-bundle.ts";
export { Scope } from "./scope.ts";
export { attributeTypeOf, parseNames } from "./names.ts";
export { checkNotOlder, extendTrustRoot, verifyTrustRoot } from "./verify-trust-root.ts";
export type { HighestSeen, TrustRootDocument, TrustRootInput } from "./verify-trust-root.ts";
export { checkCanaries, sha256, verifySignature } from "./crypto.ts";
export { Monitor } from "./monitor.ts";
export type {
  KnownOrigin,
  MonitorLook,
  MonitorOptions,
  MonitoredService,
  ObservedOrigin,
  WatchedLatest,
} from "./monitor.ts";
export type { Alarm, AlarmCode } from "./monitor-alarm.ts";
export { proofFromTiles } from "./proof-from-tiles.ts";
export type { FetchTile } from "./proof-from-tiles.ts";
export { FileMonitorStore } from "./file-monitor-store.ts";
export { MemoryMonitorStore } from "./monitor-store.ts";
export type { MonitorState, MonitorStore } from "./monitor-store.ts";
export type {
  BundleCheckCode,
  BundleOutcome,
  BundleVerification,
  NameFile,
  ProvedScope,
  ScopeValue,
} from "@event-anchoring/bundle";
export { ATTRIBUTE_TYPES } from "@event-anchoring/protocol";
export type { Leaf, ReceiptJson, ReceiptStep, TrustRootChain, Witnessing } from "@event-anchoring/protocol";

export { DEFAULT_RETRY, delayBeforeRetry, isPassing } from "./retry.ts";
export type { Outcome, RetryPolicy, RetryRule, RetrySituation } from "./retry.ts";
export { TransportFailure, fetchTransport } from "./transport.ts";
export type {
  Transport,
  TransportFailureKind,
  TransportRequest,
  TransportResponse,
  TransportStream,
} from "./transport.ts";

export type {
  Anchor,
  AnchorHeader,
  ClaimAnchor,
  EventAnchor,
  Finality,
  GenesisAnchor,
  GrantAnchor,
  KnownAnchor,
  RecordState,
  RevocationAnchor,
  SemanticAnchorAnswer,
  SignedEventAnchor,
  TrustRootAnchor,
  UnknownAnchor,
} from "./anchors.ts";
export { leavesOfBundle } from "./tiles.ts";
export type { EntriesPlace, TilePlace } from "./tiles.ts";
export type {
  ActiveClaim,
  ActiveGrant,
  Answered,
  BatchItem,
  BatchSummary,
  ConsistencyAnswer,
  ConsistencyWithPin,
  Created,
  CreatedBatch,
  CreatedEvent,
  Erased,
  EventList,
  FoundAnchor,
  ItemProblem,
  LatestAnchor,
  Revoked,
} from "./answers.ts";
export type {
  AsOfAnswer,
  CheckResult,
  ClaimHistory,
  DelegationHop,
  GrantHistory,
  HistoryItem,
  RecordEnd,
  RecordHistory,
  RevocationInView,
  Trace,
  TraceReason,
  Verdict,
  VerificationCheck,
  Verified,
  VerifiedBatch,
  VerifiedClaim,
  VerifiedGrant,
  VerifiedItem,
} from "./authority-answers.ts";
export type {
  Health,
  Limits,
  PeerCutOff,
  Readiness,
  RootSync,
  TrustRootAnswer,
  TrustRootVersion,
} from "./node-answers.ts";
