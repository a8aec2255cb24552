/** The one place where an answer or an error becomes bytes. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { PROBLEMS, RETRYABLE_PROBLEMS, problemBody } from "@event-anchoring/api-contract";
import type { Problem, ProblemCode } from "@event-anchoring/api-contract";
import type { CallContext } from "@event-anchoring/control-contract";
import type { Rejection, RejectionCode } from "@event-anchoring/ledger";
import { StoreError } from "@event-anchoring/store";
import { callFields } from "./call-fields.ts";
import { ProblemError } from "./problem-error.ts";
import { RefusedError } from "./ports.ts";
import type { Logger, UnservedCode } from "./ports.ts";

const RETRY_AFTER_DEFAULT_MS = 1000;

/** On every answer, whatever it says. */
const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

export type Headers = Readonly<Record<string, string>>;

/** Writes a whole answer. Once only; the second call for one response is a fault of ours. */
export function sendBytes(
  response: ServerResponse,
  status: number,
  mediaType: string,
  body: Uint8Array,
  headers: Headers = {},
): void {
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    "Content-Type": mediaType,
    "Content-Length": body.length,
    ...headers,
  });
  response.end(body);
}

export function sendText(
  response: ServerResponse,
  status: number,
  mediaType: string,
  text: string,
  headers: Headers = {},
): void {
  sendBytes(response, status, mediaType, Buffer.from(text, "utf8"), headers);
}

/** After these the connection cannot be used any more: what follows on it is not the next request. */
const CLOSING_PROBLEMS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "http_invalid",
  "headers_too_large",
  "request_timeout",
  "body_too_large",
]);

function problemHeaders(problem: Problem): Record<string, string> {
  const headers: Record<string, string> = {};
  if (RETRYABLE_PROBLEMS.has(problem.code)) {
    const afterMs = problem.retryAfterMs ?? RETRY_AFTER_DEFAULT_MS;
    headers["Retry-After"] = String(Math.max(1, Math.ceil(afterMs / 1000)));
  }
  if (problem.code === "api_key_invalid") headers["WWW-Authenticate"] = 'Bearer realm="event-anchoring"';
  if (CLOSING_PROBLEMS.has(problem.code)) headers["Connection"] = "close";
  return headers;
}

/** The bytes of a problem for a connection that has no response object, as one whole HTTP response. */
export function rawProblemResponse(code: ProblemCode, requestId: string): string {
  const body = JSON.stringify(problemBody({ code }, requestId));
  const { status } = PROBLEMS[code];
  const headers = {
    ...SECURITY_HEADERS,
    "Content-Type": "application/problem+json",
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Request-Id": requestId,
    ...problemHeaders({ code }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${PROBLEMS[code].title}`, ...lines, "", body].join("\r\n");
}

export function sendProblem(
  response: ServerResponse,
  problem: Problem,
  requestId: string,
  options: { extension?: object | null; headers?: Headers; status?: number } = {},
): void {
  const body = { ...problemBody(problem, requestId), ...options.extension };
  const headers = { ...problemHeaders(problem), ...options.headers };
  sendText(response, options.status ?? body.status, "application/problem+json", JSON.stringify(body), headers);
}

/** No status of HTTP, between a node and its gateway alone. */
const OVERLOADED_STATUS = 529;

/**
 * A gateway asks other nodes where one says 503. What one node has refused as too much must not be asked of the others,
 * too, and a gateway can tell the two apart by the status alone: it asks for one of its own, and clients get 503.
 */
function statusFor(request: IncomingMessage, code: ProblemCode): number {
  const isToldApart = code === "overloaded" && request.headers["x-overloaded-as"] === String(OVERLOADED_STATUS);
  return isToldApart ? OVERLOADED_STATUS : PROBLEMS[code].status;
}

/**
 * What the client is told of a rejection by the ledger. Rejections of operators' commands cannot come from a route of
 * this process: to receive one is a fault of ours.
 */
const REJECTION_PROBLEMS: Readonly<Record<RejectionCode, ProblemCode>> = {
  not_initialised: "not_initialised",
  api_key_invalid: "api_key_invalid",
  scope_missing: "scope_missing",
  origin_unknown: "origin_unknown",
  origin_mismatch: "origin_mismatch",
  signature_invalid: "signature_invalid",
  not_own_record: "not_own_record",
  client_event_id_conflict: "client_event_id_conflict",
  origin_closed: "origin_closed",
  reference_not_found: "reference_not_found",
  reference_wrong_kind: "reference_wrong_kind",
  issued_in_future: "issued_in_future",
  window_invalid: "window_invalid",
  window_outside_parent: "window_outside_parent",
  claim_conflict: "claim_conflict",
  claim_not_in_force: "claim_not_in_force",
  grant_not_in_force: "grant_not_in_force",
  grantor_key_mismatch: "grantor_key_mismatch",
  witness_is_grantor: "witness_is_grantor",
  parent_mismatch: "parent_mismatch",
  depth_exceeded: "depth_exceeded",
  batch_refused: "batch_refused",
  not_alone: "internal_error",
  trust_root_invalid: "internal_error",
  api_key_conflict: "internal_error",
  api_key_limit: "internal_error",
  api_key_unknown: "internal_error",
  operator_signature_missing: "internal_error",
  operator_unknown: "internal_error",
  operator_counter_used: "internal_error",
};

/** @param itemPointer RFC 6901 pointer of the item in the request body; "" when the body is the item */
export function rejectionProblem(rejection: Rejection, itemPointer = ""): Problem {
  const code = REJECTION_PROBLEMS[rejection.code] ?? "internal_error";
  if (code === "internal_error") return { code };
  const { pointer, detail } = rejection;
  if (pointer === undefined) return { code, detail };
  return { code, detail, errors: [{ pointer: itemPointer + pointer, code, detail }] };
}

const REFUSAL_PROBLEMS: Readonly<Record<UnservedCode, ProblemCode>> = {
  outcome_unknown: "outcome_unknown",
  overloaded: "overloaded",
  no_leader: "no_leader",
  certification_stalled: "certification_stalled",
  clock_unsafe: "clock_unsafe",
  not_initialised: "not_initialised",
  unavailable: "unavailable",
  fenced: "fenced",
  halted: "halted",
  storage_full: "storage_full",
  deadline_exceeded: "deadline_exceeded",
  too_large: "body_too_large",
  origin_contradicted: "origin_contradicted",
};

function storeProblem(error: StoreError): Problem {
  // Corruption is the node's affair: nothing is said of the record, least of all that it is absent.
  return { code: error.code === "full" ? "storage_full" : "unavailable" };
}

/** Express raises this for a path parameter that cannot be percent-decoded. */
function isBadEncoding(error: unknown): boolean {
  return error instanceof URIError || (error instanceof Error && "status" in error && error.status === 400);
}

/** What to tell of any error: its outer message. Texts of errors stay inside. */
export function problemOf(error: unknown): { problem: Problem; extension: object | null } {
  if (error instanceof ProblemError) return { problem: error.problem, extension: error.extension };
  if (error instanceof RefusedError) {
    const problem = { code: REFUSAL_PROBLEMS[error.code], retryAfterMs: error.retryAfterMs };
    return { problem, extension: null };
  }
  if (error instanceof StoreError) return { problem: storeProblem(error), extension: null };
  if (isBadEncoding(error)) {
    const item = { parameter: "path", code: "wrong_format", detail: "broken percent-encoding" };
    return { problem: { code: "invalid_request", errors: [item] }, extension: null };
  }
  return { problem: { code: "internal_error" }, extension: null };
}

/** Answers a request with what went wrong, and logs what the client is not told. */
export function respondWithError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  context: { call: CallContext; logger: Logger; headers?: Headers },
): ProblemCode {
  const { problem, extension } = problemOf(error);
  const { call, logger, headers } = context;
  const { status } = PROBLEMS[problem.code];
  if (status >= 500) {
    const fields = { err: error, ...callFields(call), code: problem.code, method: request.method };
    if (status === 500) logger.error(fields, "request failed");
    else logger.warn(fields, "request not served");
  }
  if (response.headersSent) response.destroy();
  else {
    const options = {
      extension,
      status: statusFor(request, problem.code),
      ...(headers === undefined ? {} : { headers }),
    };
    sendProblem(response, problem, call.requestId, options);
  }
  return problem.code;
}
