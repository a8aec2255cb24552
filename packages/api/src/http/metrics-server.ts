import { createServer } from "node:http";
import type { Server } from "node:http";
import type { Logger } from "@event-anchoring/telemetry";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { problemError } from "../request/problem-error.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import { newRequestId } from "./request-id.ts";
import { respondWithError, sendText } from "./respond.ts";

/** The private listener: GET /metrics and nothing else. It is never a route of the public app. */
export function createMetricsServer(metrics: ApiMetrics, controlPlane: ControlPlane, logger: Logger): Server {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 5000 }, (request, response) => {
    const requestId = newRequestId();
    response.setHeader("X-Request-Id", requestId);
    const isScrape = request.method === "GET" && request.url === "/metrics";
    const text = isScrape ? metrics.text(controlPlane, logger) : Promise.reject(problemError("route_not_found"));
    text.then(
      (body) => sendText(response, 200, "text/plain; version=0.0.4; charset=utf-8", body),
      (error: unknown) => respondWithError(request, response, error, { call: { requestId, trace: null }, logger }),
    );
  });
  server.maxConnections = 32;
  return server;
}
