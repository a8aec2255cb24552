export { anchorToJson, kindName, limitsToJson } from "./anchor-json.ts";
export type { AnchorView, ClientEvent, FinalityName } from "./anchor-json.ts";
export {
  ANCHOR_KINDS,
  anchorAnswerSchema,
  anchorSchema,
  createdBatchSchema,
  createdSchema,
  healthSchema,
  latestSchema,
  limitsSchema,
  problemSchema,
  readySchema,
  receiptSchema,
  refusedBatchSchema,
  traceSchema,
  trustRootSchema,
  verifiedBatchSchema,
  verifiedSchema,
} from "./answers.ts";
export type {
  AnchorAnswer,
  AnchorJson,
  AnchorKindName,
  AsOfAnswer,
  BatchItemResult,
  CreatedAnswer,
  CreatedBatchAnswer,
  HealthAnswer,
  LatestAnswer,
  LimitsAnswer,
  ReadyAnswer,
  ReceiptAnswer,
  TraceAnswer,
  TrustRootAnswer,
  VerifiedAnswer,
  VerifiedBatchAnswer,
} from "./answers.ts";
export { parseDigits } from "./fields.ts";
export type { AsOf } from "./fields.ts";
export { findJsonFault, jsonPointer, parseStrictJson } from "./json.ts";
export type { JsonFault, JsonFaultCode, JsonValue } from "./json.ts";
export { DEFAULT_LIMIT_SETTINGS, LIMITS } from "./limits.ts";
export type { LimitSettings } from "./limits.ts";
export { parseBody, parsePath, parsePrefer, parseQuery } from "./parse.ts";
export type { Parsed, Preferences } from "./parse.ts";
export { PROBLEMS, PROBLEM_CODES, RETRYABLE_PROBLEMS, isProblemCode, problemBody } from "./problems.ts";
export type { Problem, ProblemBody, ProblemCode, ProblemItem, ProblemRow } from "./problems.ts";
export {
  anchorPathSchema,
  createBatchSchema,
  createEventSchema,
  emptyQuerySchema,
  latestQuerySchema,
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "./requests.ts";
export type {
  AnchorPath,
  AnchorToVerify,
  CreateBatchRequest,
  CreateEventRequest,
  EventToAnchor,
  LatestQuery,
  TraceQuery,
  VerifyBatchRequest,
  VerifyEventRequest,
} from "./requests.ts";
export { RFC_3339_MS_MAX, formatRfc3339, parseRfc3339 } from "./rfc3339.ts";
export { COMMON_PROBLEMS, ROUTES, routeOf, routerPath } from "./routes.ts";
export type { Route, RouteId, Scope } from "./routes.ts";
