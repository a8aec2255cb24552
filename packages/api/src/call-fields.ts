import type { CallContext } from "@event-anchoring/control-contract";

/** How every line of the log names the request that it is about. */
export function callFields({ requestId, trace }: CallContext): { request_id: string; trace_id?: string } {
  return trace === null ? { request_id: requestId } : { request_id: requestId, trace_id: trace.traceId };
}
