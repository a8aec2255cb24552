import type { Tracer, TracingOptions } from "./tracer.ts";
import { isTracingOn } from "./tracing-settings.ts";
import type { Variables } from "./tracing-settings.ts";

/**
 * A tracer as the OTEL_* variables want it; null if they want none. The SDK is loaded here, and only then: a node that
 * does not trace carries nothing of it in memory.
 */
export async function startTracing(variables: Variables, options: TracingOptions): Promise<Tracer | null> {
  if (!isTracingOn(variables)) return null;
  const { OtlpTracer } = await import("./otlp-tracer.ts");
  return new OtlpTracer(variables, options);
}
