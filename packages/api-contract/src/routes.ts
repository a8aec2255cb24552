/**
 * Every public route, and nothing that serves it. A route is one row: its path as the client writes it, who may call
 * it, what it takes, what it answers and how it can fail. The router is made of these rows.
 */
import type { z } from "zod";
import {
  anchorAnswerSchema,
  createdBatchSchema,
  createdSchema,
  healthSchema,
  latestSchema,
  limitsSchema,
  readySchema,
  receiptSchema,
  traceSchema,
  trustRootSchema,
  verifiedBatchSchema,
  verifiedSchema,
} from "./answers.ts";
import { LIMITS } from "./limits.ts";
import type { ProblemCode } from "./problems.ts";
import {
  anchorPathSchema,
  createBatchSchema,
  createEventSchema,
  emptyQuerySchema,
  latestQuerySchema,
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "./requests.ts";

export type Scope = "read" | "write" | "revoke" | "admin";

export interface Route {
  /** Name of the operation, for handlers and metrics. */
  readonly id: string;
  readonly method: "GET" | "POST";
  /** As on the wire: colons are literal, `{name}` is a parameter. */
  readonly path: string;
  readonly summary: string;
  /** null = public: no API key is asked for. */
  readonly scope: Scope | null;
  readonly pathSchema: z.ZodType | null;
  readonly querySchema: z.ZodType;
  /** null = the route takes no body. */
  readonly bodySchema: z.ZodType | null;
  readonly bodyBytesMax: number;
  readonly timeoutMs: number;
  /** Whether `Prefer: wait=` and `Prefer: respond-async` are honoured. */
  readonly isPreferring: boolean;
  /** Schemas of the good answers by status; null = not JSON or no body. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>;
  /** What it can answer beyond what every route can. */
  readonly problems: readonly ProblemCode[];
}

/** Any route can answer these. */
export const COMMON_PROBLEMS: readonly ProblemCode[] = [
  "http_invalid",
  "headers_too_large",
  "request_timeout",
  "route_not_found",
  "method_not_allowed",
  "invalid_request",
  "internal_error",
];

const AUTH_PROBLEMS: readonly ProblemCode[] = ["api_key_invalid", "scope_missing", "rate_limited"];
const BODY_PROBLEMS: readonly ProblemCode[] = ["media_type_unsupported", "body_too_large", "json_invalid"];
const NODE_PROBLEMS: readonly ProblemCode[] = [
  "deadline_exceeded",
  "overloaded",
  "no_leader",
  "certification_stalled",
  "not_initialised",
  "unavailable",
  "fenced",
];
const READ_PROBLEMS: readonly ProblemCode[] = [...AUTH_PROBLEMS, ...NODE_PROBLEMS];
const CREATE_EVENT_PROBLEMS: readonly ProblemCode[] = [
  ...AUTH_PROBLEMS,
  ...BODY_PROBLEMS,
  "client_event_id_invalid",
  "origin_unknown",
  "client_event_id_conflict",
  "origin_closed",
  "reference_not_found",
  "reference_wrong_kind",
  "outcome_unknown",
  ...NODE_PROBLEMS,
  "clock_unsafe",
  "storage_full",
];

interface RouteRow extends Pick<Route, "id" | "method" | "path" | "summary" | "answers"> {
  readonly scope?: Scope;
  readonly pathSchema?: z.ZodType;
  readonly querySchema?: z.ZodType;
  readonly bodySchema?: z.ZodType;
  readonly bodyBytesMax?: number;
  readonly timeoutMs?: number;
  readonly isPreferring?: boolean;
  readonly problems?: readonly ProblemCode[];
}

function route<const Row extends RouteRow>(row: Row): Route & Pick<Row, "id"> {
  return {
    scope: null,
    pathSchema: null,
    querySchema: emptyQuerySchema,
    bodySchema: null,
    bodyBytesMax: row.bodySchema === undefined ? 0 : LIMITS.bodyBytesMax,
    timeoutMs: LIMITS.readTimeoutMs,
    isPreferring: false,
    problems: [],
    ...row,
  };
}

const EVENT_ROUTES = [
  route({
    id: "createEventAnchor",
    method: "POST",
    path: "/v1/event-anchors",
    summary: "Create an event anchor",
    scope: "write",
    bodySchema: createEventSchema,
    timeoutMs: LIMITS.writeTimeoutMs,
    isPreferring: true,
    answers: { 200: createdSchema, 201: createdSchema, 202: createdSchema },
    problems: CREATE_EVENT_PROBLEMS,
  }),
  route({
    id: "createEventAnchors",
    method: "POST",
    path: "/v1/event-anchors/batch",
    summary: "Create event anchors in one batch",
    scope: "write",
    bodySchema: createBatchSchema,
    bodyBytesMax: LIMITS.batchBodyBytesMax,
    timeoutMs: LIMITS.batchTimeoutMs,
    isPreferring: true,
    answers: { 200: createdBatchSchema },
    problems: [...CREATE_EVENT_PROBLEMS, "batch_too_many_signatures", "batch_refused"],
  }),
  route({
    id: "verifyEventAnchor",
    method: "POST",
    path: "/v1/event-anchors:verify",
    summary: "Verify anchor integrity and depth",
    scope: "read",
    bodySchema: verifyEventSchema,
    answers: { 200: verifiedSchema },
    problems: [...READ_PROBLEMS, ...BODY_PROBLEMS, "as_of_future", "anchor_not_found"],
  }),
  route({
    id: "verifyEventAnchors",
    method: "POST",
    path: "/v1/event-anchors:batchVerify",
    summary: "Verify event anchors in one batch",
    scope: "read",
    bodySchema: verifyBatchSchema,
    bodyBytesMax: LIMITS.batchBodyBytesMax,
    timeoutMs: LIMITS.batchTimeoutMs,
    answers: { 200: verifiedBatchSchema },
    problems: [...READ_PROBLEMS, ...BODY_PROBLEMS, "as_of_future"],
  }),
  route({
    id: "getLatestEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/latest",
    summary: "Read the current latest anchor (the EEA) of one origin",
    scope: "read",
    querySchema: latestQuerySchema,
    answers: { 200: latestSchema },
    problems: [...READ_PROBLEMS, "origin_unknown", "no_anchor_yet", "from_size_ahead"],
  }),
  route({
    id: "getEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}",
    summary: "Read one anchor, of any kind, with its receipt",
    scope: "read",
    pathSchema: anchorPathSchema,
    answers: { 200: anchorAnswerSchema },
    problems: [...READ_PROBLEMS, "anchor_not_found"],
  }),
  route({
    id: "getReceipt",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}/receipt",
    summary: "Renew a receipt: JSON, or C2SP tlog-proof as text/plain",
    scope: "read",
    pathSchema: anchorPathSchema,
    answers: { 200: receiptSchema },
    problems: [...READ_PROBLEMS, "anchor_not_found"],
  }),
  route({
    id: "traceEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}/trace",
    summary: "Trace the chain of an anchor",
    scope: "read",
    pathSchema: anchorPathSchema,
    querySchema: traceQuerySchema,
    answers: { 200: traceSchema },
    problems: [...READ_PROBLEMS, "as_of_future", "anchor_not_found"],
  }),
] as const;

const PUBLIC_ROUTES = [
  route({
    id: "getTrustRoot",
    method: "GET",
    path: "/v1/trust-root",
    summary: "Read the chain of trust-root documents, which authenticates itself",
    answers: { 200: trustRootSchema },
    problems: NODE_PROBLEMS,
  }),
  route({
    id: "getLimits",
    method: "GET",
    path: "/v1/limits",
    summary: "Read every limit of this API",
    answers: { 200: limitsSchema },
  }),
  route({
    id: "getHealth",
    method: "GET",
    path: "/healthz",
    summary: "Node health, origin identifier and Prime RootTHK sync summary",
    answers: { 200: healthSchema },
  }),
  route({
    id: "getReadiness",
    method: "GET",
    path: "/readyz",
    summary: "Whether this node can serve, and which check fails if not",
    answers: { 200: readySchema, 503: readySchema },
  }),
] as const;

export const ROUTES = [...EVENT_ROUTES, ...PUBLIC_ROUTES] as const;

export type RouteId = (typeof ROUTES)[number]["id"];

const ROUTES_BY_ID: ReadonlyMap<string, Route> = new Map(ROUTES.map((row) => [row.id, row]));

export function routeOf(id: RouteId): Route {
  const found = ROUTES_BY_ID.get(id);
  if (found === undefined) throw new Error(`no route ${id}`);
  return found;
}

/**
 * A path in the router's own syntax. A colon begins a parameter there: unescaped, `/v1/event-anchors:verify` would
 * also match `/v1/event-anchorsXYZ` and swallow `:batchVerify`.
 */
export function routerPath(path: string): string {
  return path.replaceAll(":", "\\:").replaceAll(/\{([a-z_]+)\}/g, ":$1");
}
