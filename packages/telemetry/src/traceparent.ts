import type { TraceContext } from "@event-anchoring/control-contract";

/** A caller's own span, as its header says. */
export interface RemoteContext extends TraceContext {
  /** Whether the caller records it. */
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** A later version may append fields; these are enough to be understood. */
const CHARACTERS_MAX = 256;
const SAMPLED = 1;

/**
 * The `traceparent` header of W3C Trace Context, section 3.2. Attacker-controlled: null for whatever is not exactly of
 * that form, and the request then begins a trace of its own.
 */
export function parseTraceparent(header: string | readonly string[] | undefined): RemoteContext | null {
  if (typeof header !== "string" || header.length > CHARACTERS_MAX) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  const isWhole = version === "00" ? more === undefined : version !== "" && version !== "ff";
  if (!isWhole || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
