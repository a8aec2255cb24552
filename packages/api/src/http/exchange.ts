import type { IncomingMessage, ServerResponse } from "node:http";
import type { Route, RouteId } from "@event-anchoring/api-contract";
import type { CallContext } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { parseTraceparent, printable } from "@event-anchoring/telemetry";
import type { Span, Tracer, Clock, Logger } from "@event-anchoring/telemetry";
import type { Caller } from "../access/auth.ts";
import type { Headers } from "../routes/handler.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import { callFields, requestIdOf } from "./request-id.ts";
import { respondWithError } from "./respond.ts";

/** Which requests get a line of their own in the log: none, those answered with a problem, or all. */
export type AccessLog = "none" | "problems" | "all";

export interface ExchangeDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ApiMetrics;
  /** Absent: none. */
  readonly accessLog?: AccessLog;
  /** Absent or null: nothing is traced. */
  readonly tracer?: Tracer | null;
}

export type NamedRoute = Route & { readonly id: RouteId };

/** What an exchange is counted, logged and traced as. */
interface ServedAs {
  readonly id: string;
  readonly path: string;
}

/** One request from its headers to the end of its answer: counted, timed, traced, logged. */
export class Exchange {
  readonly call: CallContext;
  /** Once the API key was found good. */
  caller: Caller | null = null;
  /** On the answer, whatever it is. */
  readonly headers: Headers;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #dependencies: ExchangeDependencies;
  readonly #routeId: string;
  readonly #span: Span | null;
  readonly #startMs: number;
  #problem: string | null = null;
  #isSettled = false;

  /**
   * @param route null: the request matches none, and will fail
   * @param headers on the answer, whatever it is
   */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    route: ServedAs | null,
    dependencies: ExchangeDependencies,
    headers: Headers = {},
  ) {
    this.headers = headers;
    this.#request = request;
    this.#response = response;
    this.#dependencies = dependencies;
    this.#routeId = route?.id ?? "none";
    this.#startMs = dependencies.clock.monotonicMs();
    const requestId = requestIdOf(request);
    const { tracer = null } = dependencies;
    this.#span = tracer === null ? null : startSpan(tracer, request, route, requestId);
    this.call = { requestId, trace: this.#span?.context ?? null };
    dependencies.metrics.begin();
    response.once("close", () => this.settle());
  }

  /** Runs the function that makes the answer, and turns what it throws into the answer. */
  async run(answer: () => Promise<void>): Promise<void> {
    try {
      await answer();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Answers with what went wrong. */
  fail(error: unknown, headers: Headers = {}): void {
    const { logger, metrics } = this.#dependencies;
    const context = { call: this.call, logger, headers: { ...this.headers, ...headers } };
    this.#problem = respondWithError(this.#request, this.#response, error, context);
    metrics.problem(this.#routeId, this.#problem);
  }

  /** The answer is over or, of a stream, has begun: how long somebody follows is no time that a request took. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { metrics, clock } = this.#dependencies;
    const durationMs = clock.monotonicMs() - this.#startMs;
    metrics.end(this.#routeId, this.#response.statusCode, durationMs / 1000);
    if (this.#span !== null) this.#endSpan(this.#span);
    this.#log(durationMs);
  }

  #endSpan(span: Span): void {
    const { statusCode } = this.#response;
    span.set({ "http.response.status_code": statusCode });
    // A request that was refused for its content is not a failure of the server: OpenTelemetry leaves its span status
    // unset.
    span.end(statusCode >= 500 ? (this.#problem ?? String(statusCode)) : undefined);
  }

  #log(durationMs: number): void {
    const { accessLog = "none", logger } = this.#dependencies;
    if (accessLog === "none" || (accessLog === "problems" && this.#problem === null)) return;
    const fields = {
      ...callFields(this.call),
      method: this.#request.method,
      route: this.#routeId,
      status: this.#response.statusCode,
      ...(this.#problem === null ? {} : { code: this.#problem }),
      duration_ms: Math.round(durationMs * 1000) / 1000,
      ...(this.caller === null ? {} : { api_client: bytesToHex(this.caller.credential.apiClientId) }),
    };
    logger.info("request", fields);
  }
}

/** As the semantic conventions for HTTP server spans have it; neither query, body nor headers. */
function startSpan(tracer: Tracer, request: IncomingMessage, route: ServedAs | null, requestId: string): Span | null {
  const method = request.method ?? "GET";
  const [path = ""] = (request.url ?? "").split("?");
  return tracer.start(route === null ? method : `${method} ${route.path}`, {
    kind: "server",
    parent: parseTraceparent(request.headers["traceparent"]),
    attributes: {
      "http.request.method": method,
      "url.scheme": "http",
      "url.path": String(printable(path)),
      "network.protocol.version": request.httpVersion,
      "anchoring.request_id": requestId,
      ...(route === null ? {} : { "http.route": route.path }),
    },
  });
}
