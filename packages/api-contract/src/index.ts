export { anchorToJson, kindName, limitsToJson } from "./anchor-json.ts";
export type { AnchorView, ClientEvent, FinalityName } from "./anchor-json.ts";
export { anchorSchema, receiptSchema } from "./anchor-schema.ts";
export type { AnchorJson, ReceiptAnswer, SharedReceiptAnswer } from "./anchor-schema.ts";
export {
  activeClaimSchema,
  activeGrantSchema,
  anchorAnswerSchema,
  consistencySchema,
  createdBatchSchema,
  createdSchema,
  erasedSchema,
  eventListSchema,
  headEventSchema,
  latestSchema,
  refusedBatchSchema,
  revokedSchema,
} from "./answers.ts";
export type {
  ActiveClaimAnswer,
  ActiveGrantAnswer,
  AnchorAnswer,
  BatchItemResult,
  ConsistencyAnswer,
  CreatedAnswer,
  CreatedBatchAnswer,
  ErasedAnswer,
  EventListAnswer,
  HeadEvent,
  LatestAnswer,
  RevokedAnswer,
} from "./answers.ts";
export {
  CHECK_CODES,
  TRACE_REASON_CODES,
  TRACE_VIOLATION_CODES,
  recordHistorySchema,
  traceSchema,
  verifiedBatchSchema,
  verifiedClaimSchema,
  verifiedGrantSchema,
  verifiedSchema,
} from "./authority-answers.ts";
export type {
  AsOfAnswer,
  RecordEndAnswer,
  RecordHistoryAnswer,
  TraceAnswer,
  VerifiedAnswer,
  VerifiedBatchAnswer,
  VerifiedClaimAnswer,
  VerifiedGrantAnswer,
} from "./authority-answers.ts";
export type { ProofAnswer } from "./proof-answers.ts";
export { healthSchema, limitsSchema, openApiSchema, readySchema, trustRootSchema } from "./node-answers.ts";
export type { HealthAnswer, ReadyAnswer, TrustRootAnswer } from "./node-answers.ts";
export { EXTENDED_PROBLEMS, problemSchema } from "./problem-schema.ts";
export { formatDelegationCursor } from "./fields.ts";
export type { AsOf } from "./fields.ts";
export { findJsonFault, jsonPointer, parseStrictJson } from "./json.ts";
export { KEEPALIVE_TEXT, RETRY_TEXT, endEventText, headEventText } from "./event-stream.ts";
export {
  entriesPathSchema,
  feedQuerySchema,
  lastEventIdSchema,
  originPathSchema,
  tilePathSchema,
} from "./log-requests.ts";
export type { TilePath } from "./log-requests.ts";
export { DEFAULT_LIMIT_SETTINGS, LIMITS } from "./limits.ts";
export type { LimitSettings } from "./limits.ts";
export { parseBody, parsePath, parsePrefer, parseQuery } from "./parse.ts";
export type { Parsed } from "./parse.ts";
export { parseCreateBatch, parseCreateEvent, scanBatch, scanEvent } from "./plain-events.ts";
export { PROBLEMS, PROBLEM_CODES, RETRYABLE_PROBLEMS, isProblemCode, problemBody } from "./problems.ts";
export type { Problem, ProblemCode, ProblemItem } from "./problems.ts";
export {
  claimQuerySchema,
  createClaimSchema,
  createGrantSchema,
  grantQuerySchema,
  revokeSchema,
  verifyClaimSchema,
  verifyGrantSchema,
} from "./record-requests.ts";
export type {
  ClaimQuery,
  CreateClaimRequest,
  CreateGrantRequest,
  GrantFilter,
  GrantQuery,
  HistoryPage,
  RevokeRequest,
  VerifyClaimRequest,
} from "./record-requests.ts";
export {
  anchorPathSchema,
  consistencyQuerySchema,
  createBatchSchema,
  createEventSchema,
  docsAssetPathSchema,
  emptyBodySchema,
  emptyQuerySchema,
  latestQuerySchema,
  listQuerySchema,
  proofQuerySchema,
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "./requests.ts";
export type {
  AnchorToVerify,
  CreateEventRequest,
  EventFilter,
  EventToAnchor,
  ListQuery,
  TraceQuery,
} from "./requests.ts";
export { RFC_3339_MS_MAX, formatRfc3339, parseRfc3339 } from "./rfc3339.ts";
export { COMMON_PROBLEMS } from "./route.ts";
export type { Route } from "./route.ts";
export { ROUTES, routeOf, routerPath } from "./routes.ts";
export type { RouteId } from "./routes.ts";
export { RECORD_STATES } from "./wire.ts";
