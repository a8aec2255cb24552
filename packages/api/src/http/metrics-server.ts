import { createServer } from "node:http";
import type { Server } from "node:http";
import type { Logger } from "@event-anchoring/telemetry";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { problemError } from "../request/problem-error.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import { newRequestId } from "./request-id.ts";
import { respondWithError, sendBytes } from "./respond.ts";

const MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The private listener: GET /metrics and nothing else. It is never a route of the public app. */
export function createMetricsServer(metrics: ApiMetrics, controlPlane: ControlPlane, logger: Logger): Server {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 5000 }, (request, response) => {
    const requestId = newRequestId();
    const isScrape = request.method === "GET" && request.url === "/metrics";
    const text = isScrape ? metrics.text(controlPlane, logger) : Promise.reject(problemError("route_not_found"));
    text.then(
      (scrape) =>
        sendBytes(response, requestId, { status: 200, headers: {}, mediaType: MEDIA_TYPE, body: Buffer.from(scrape) }),
      (error: unknown) => respondWithError(request, response, error, { call: { requestId, trace: null }, logger }),
    );
  });
  server.maxConnections = 32;
  return server;
}
