import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { CallContext } from "@event-anchoring/control-contract";

/** A caller's own id must match: short, and harmless in any log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

const processPart = randomBytes(6).toString("hex");
let counter = 0;

/** Unique among the processes of a cluster, and cheap: random once, then counted. */
export function newRequestId(): string {
  counter += 1;
  return `${processPart}-${counter.toString(36)}`;
}

/** The caller's own `X-Request-Id` if it is acceptable, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : newRequestId();
}

/** The fields that name the request in every log line. */
export function callFields({ requestId, trace }: CallContext): { request_id: string; trace_id?: string } {
  return trace === null ? { request_id: requestId } : { request_id: requestId, trace_id: trace.traceId };
}
