export { anchorToJson, kindName, limitsToJson } from "./anchor-json.ts";
export type { AnchorView, ClientEvent, FinalityName } from "./anchor-json.ts";
export { ANCHOR_KINDS, anchorSchema, receiptSchema } from "./anchor-schema.ts";
export type { AnchorJson, AnchorKindName, ReceiptAnswer } from "./anchor-schema.ts";
export {
  activeClaimSchema,
  activeGrantSchema,
  anchorAnswerSchema,
  consistencySchema,
  createdBatchSchema,
  createdSchema,
  erasedSchema,
  eventListSchema,
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
  LatestAnswer,
  RevokedAnswer,
} from "./answers.ts";
export {
  CHECK_CODES,
  TRACE_REASON_CODES,
  TRACE_VIOLATION_CODES,
  traceSchema,
  verifiedBatchSchema,
  verifiedClaimSchema,
  verifiedGrantSchema,
  verifiedSchema,
} from "./authority-answers.ts";
export type {
  AsOfAnswer,
  TraceAnswer,
  VerifiedAnswer,
  VerifiedBatchAnswer,
  VerifiedClaimAnswer,
  VerifiedGrantAnswer,
} from "./authority-answers.ts";
export { healthSchema, limitsSchema, openApiSchema, readySchema, trustRootSchema } from "./node-answers.ts";
export type { HealthAnswer, LimitsAnswer, ReadyAnswer, TrustRootAnswer } from "./node-answers.ts";
export { EXTENDED_PROBLEMS, erasedProblemSchema, noActiveProblemSchema, problemSchema } from "./problem-schema.ts";
export { openApiDocument } from "./openapi/document.ts";
export type { OpenApiDocument } from "./openapi/document.ts";
export { formatDelegationCursor, parseDigits } from "./fields.ts";
export type { AsOf, DelegationCursor } from "./fields.ts";
export { findJsonFault, jsonPointer, parseStrictJson } from "./json.ts";
export type { JsonFault, JsonFaultCode, JsonValue } from "./json.ts";
export { entriesPathSchema, originPathSchema, tilePathSchema } from "./log-requests.ts";
export type { EntriesPath, OriginPath, TileIndex, TilePath } from "./log-requests.ts";
export { DEFAULT_LIMIT_SETTINGS, LIMITS } from "./limits.ts";
export type { LimitSettings } from "./limits.ts";
export { parseBody, parsePath, parsePrefer, parseQuery } from "./parse.ts";
export type { Parsed, Preferences } from "./parse.ts";
export { PROBLEMS, PROBLEM_CODES, RETRYABLE_PROBLEMS, isProblemCode, problemBody } from "./problems.ts";
export type { Problem, ProblemBody, ProblemCode, ProblemItem, ProblemRow } from "./problems.ts";
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
  GrantQuery,
  RevokeRequest,
  VerifyClaimRequest,
  VerifyGrantRequest,
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
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "./requests.ts";
export type {
  AnchorPath,
  AnchorToVerify,
  ConsistencyQuery,
  CreateBatchRequest,
  CreateEventRequest,
  EventFilter,
  EventToAnchor,
  LatestQuery,
  ListQuery,
  TraceQuery,
  VerifyBatchRequest,
  VerifyEventRequest,
} from "./requests.ts";
export type { Signer } from "./signer.ts";
export { RFC_3339_MS_MAX, formatRfc3339, parseRfc3339 } from "./rfc3339.ts";
export { COMMON_PROBLEMS } from "./route.ts";
export type { Route, RouteTag, Scope } from "./route.ts";
export { ROUTES, routeOf, routerPath } from "./routes.ts";
export type { RouteId } from "./routes.ts";
export { RECORD_STATES } from "./wire.ts";
export type { RecordStateName } from "./wire.ts";
