/** The SDK behind the Tracer interface. Nothing but startTracing imports this file, and it does so when asked to. */
import type { TraceContext } from "@event-anchoring/control-contract";
import {
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind as OtelKind,
  SpanStatusCode,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { CountingExporter } from "./counting-exporter.ts";
import type { Attributes, Span, SpanKind, SpanStart, Tracer, TracerCounts, TracingOptions } from "./tracer.ts";
import type { SamplerSetting, Variables } from "./tracing-settings.ts";
import { tracingSettings } from "./tracing-settings.ts";

const SAMPLED = 1;
/** How long a stopping process waits for the collector. */
const CLOSE_MS_MAX = 2000;
const LINKS_MAX = 128;

const KINDS: Readonly<Record<SpanKind, OtelKind>> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
};

/** Exports over HTTP with JSON, as the OTEL_EXPORTER_OTLP_* variables of this process say. */
export class OtlpTracer implements Tracer {
  readonly #provider: TracerProvider;
  readonly #tracer: OtelTracer;
  readonly #exporter: CountingExporter;
  readonly #logger: TracingOptions["logger"];

  constructor(variables: Variables, { service, version, nodeId, logger }: TracingOptions) {
    const { sampler, queue, ignored } = tracingSettings(variables);
    this.#logger = logger;
    if (ignored.length > 0) logger.warn("otel_variables_ignored", { variables: ignored });
    this.#exporter = new CountingExporter(new OTLPTraceExporter(), queue.spansMax, logger);
    const own = resourceFromAttributes({
      "service.name": service,
      "service.namespace": "event-anchoring",
      "service.version": version,
      "service.instance.id": nodeId,
    });
    this.#provider = new TracerProvider({
      sampler: samplerOf(sampler),
      // The environment's resource attributes override the process's own.
      resource: own.merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [
        new BoundedProcessor(this.#exporter, {
          exporter: this.#exporter,
          maxQueueSize: queue.spansMax,
          maxExportBatchSize: queue.batchMax,
          scheduledDelayMillis: queue.delayMs,
          exportTimeoutMillis: queue.timeoutMs,
        }),
      ],
      spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256, linkCountLimit: LINKS_MAX },
    });
    this.#tracer = this.#provider.getTracer("event-anchoring", version);
  }

  start(name: string, { kind = "internal", parent, links = [], attributes = {} }: SpanStart): Span | null {
    const options = {
      kind: KINDS[kind],
      links: links.slice(0, LINKS_MAX).map((context) => ({ context: spanContextOf(context) })),
      attributes,
    };
    const span = this.#tracer.startSpan(name, options, parent === null ? ROOT_CONTEXT : contextOf(parent));
    return span.isRecording() ? new RecordedSpan(span) : null;
  }

  counts(): TracerCounts {
    return this.#exporter.counts();
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | null = null;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS_MAX);
    });
    // A collector that takes nothing has been reported; a process that stops does not stop for it.
    const closed = this.#provider.shutdown().catch((error: unknown) => {
      this.#logger.warn("trace_export_failed", { error });
    });
    await Promise.race([closed, late]);
    if (timer !== null) clearTimeout(timer);
  }
}

/** Counts a span that the queue has no room for before the queue forgets it. */
class BoundedProcessor extends BatchSpanProcessor {
  readonly #exporter: CountingExporter;

  constructor(exporter: CountingExporter, options: ConstructorParameters<typeof BatchSpanProcessor>[0]) {
    super(options);
    this.#exporter = exporter;
  }

  override onEnd(span: ReadableSpan): void {
    if (this.#exporter.admit()) super.onEnd(span);
  }
}

class RecordedSpan implements Span {
  readonly context: TraceContext;
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    const { traceId, spanId } = span.spanContext();
    this.context = { traceId, spanId };
    this.#span = span;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  link(context: TraceContext): void {
    this.#span.addLink({ context: spanContextOf(context) });
  }

  end(failed?: string): void {
    if (!this.#span.isRecording()) return;
    if (failed !== undefined) {
      this.#span.setAttribute("error.type", failed);
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
    }
    this.#span.end();
  }
}

function spanContextOf({ traceId, spanId }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: SAMPLED, isRemote: true };
}

function contextOf(parent: NonNullable<SpanStart["parent"]>): Context {
  const isSampled = "isSampled" in parent ? parent.isSampled : true;
  const context = { ...spanContextOf(parent), traceFlags: isSampled ? SAMPLED : 0 };
  return trace.setSpanContext(ROOT_CONTEXT, context);
}

function samplerOf({ name, ratio }: SamplerSetting): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
