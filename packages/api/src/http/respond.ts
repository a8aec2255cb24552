/** The one place where an answer or an error becomes bytes. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { PROBLEMS, RETRYABLE_PROBLEMS, problemBody } from "@event-anchoring/api-contract";
import type { Problem, ProblemCode } from "@event-anchoring/api-contract";
import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { CallContext } from "@event-anchoring/control-contract";
import type { Logger } from "@event-anchoring/telemetry";
import { problemOf } from "../request/problems.ts";
import type { Headers, MadeAnswer } from "../routes/handler.ts";
import { callFields } from "./request-id.ts";

/** On every answer. */
const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/**
 * Writes a whole answer. Once only; the second call for one response is a fault of ours. All headers are given to
 * writeHead: headers that are set before make it set each of the others too.
 */
export function sendBytes(response: ServerResponse, requestId: string, answer: MadeAnswer): void {
  const { status, mediaType, body, headers } = answer;
  response.writeHead(status, {
    "X-Request-Id": requestId,
    ...SECURITY_HEADERS,
    "Content-Type": mediaType,
    "Content-Length": body.length,
    ...headers,
  });
  response.end(body);
}

/** The head of an answer that is written bit by bit. Proxies that gather answers are told not to. */
export function beginStream(
  response: ServerResponse,
  { call, headers }: { readonly call: CallContext; readonly headers: Headers },
): void {
  response.writeHead(200, {
    "X-Request-Id": call.requestId,
    ...SECURITY_HEADERS,
    "Content-Type": "text/event-stream",
    "X-Accel-Buffering": "no",
    ...headers,
  });
}

/** After these the connection cannot be used any more: what follows on it is not a request. */
const CLOSING_PROBLEMS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "http_invalid",
  "headers_too_large",
  "request_timeout",
  "body_too_large",
]);

function problemHeaders(problem: Problem): Record<string, string> {
  const headers: Record<string, string> = {};
  if (RETRYABLE_PROBLEMS.has(problem.code)) {
    const afterMs = problem.retryAfterMs ?? RETRY_AFTER_MS;
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
  const json = { ...problemBody(problem, requestId), ...options.extension };
  const headers = { ...problemHeaders(problem), ...options.headers };
  const status = options.status ?? json.status;
  const body = Buffer.from(JSON.stringify(json));
  sendBytes(response, requestId, { status, mediaType: "application/problem+json", body, headers });
}

/** Not a standard HTTP status; used only between a node and its gateway. */
const OVERLOADED_STATUS = 529;

/**
 * A gateway retries a 503 at other nodes. A request that one node has refused as too much must not be retried at the
 * others, and a gateway can tell the two apart by the status alone: it asks for this status, and clients get 503.
 */
function statusFor(request: IncomingMessage, code: ProblemCode): number {
  const isToldApart = code === "overloaded" && request.headers["x-overloaded-as"] === String(OVERLOADED_STATUS);
  return isToldApart ? OVERLOADED_STATUS : PROBLEMS[code].status;
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
    if (status === 500) logger.error("request failed", fields);
    else logger.warn("request not served", fields);
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
