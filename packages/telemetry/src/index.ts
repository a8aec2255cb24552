export { systemClock } from "./clock.ts";
export type { Clock } from "./clock.ts";
export { openLog } from "./open-log.ts";
export type { Logger } from "./open-log.ts";
export { printable } from "./printable.ts";
export { startTracing } from "./start-tracing.ts";
export { isTracingOn } from "./tracing-settings.ts";
export { parseTraceparent } from "./traceparent.ts";
export type { Attributes, Span, SpanStart, Tracer, TracerCounts } from "./tracer.ts";
