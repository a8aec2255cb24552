import type { Recorder } from "@event-anchoring/sdk/recorder";
import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";
import { isOfGenAi, millisecondsOf, operationOf, referencesOf, whoOf } from "./gen-ai.ts";
import type { Attributes, Instant } from "./gen-ai.ts";

/** What is read of a span of OpenTelemetry's. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: number;
  readonly startTime: Instant;
  readonly endTime: Instant;
  readonly status: { readonly code: number; readonly message?: string | undefined };
  readonly attributes: Attributes;
  readonly events: readonly {
    readonly name: string;
    readonly time: Instant;
    readonly attributes?: Attributes | undefined;
  }[];
  readonly parentSpanContext?: { readonly spanId: string } | undefined;
  readonly spanContext: () => { readonly traceId: string; readonly spanId: string };
}

export interface SpanOptions extends AdapterOptions {
  /** Which spans are recorded. Default: those of the GenAI conventions, which have `gen_ai.operation.name`. */
  readonly select?: ((span: EndedSpan) => boolean) | undefined;
}

const KINDS = ["internal", "server", "client", "producer", "consumer"];
const STATUSES = ["unset", "ok", "error"];

/**
 * A span processor of OpenTelemetry's: spans of agents, models and tools (GenAI conventions) become events when they
 * end. A tool call is a `tool.call`, other operations are a `gen_ai.<operation>`; the agent is who acted. The event
 * names trace and span, and refers to the claim and the grant that the span's attributes `event_anchoring.iris_ref`
 * and `event_anchoring.grant_ref` name, else to those of the options.
 *
 *     const provider = new TracerProvider({ spanProcessors: [new RecordingSpanProcessor(recorder)] });
 */
export class RecordingSpanProcessor {
  readonly #recorder: EventRecorder & Pick<Recorder, "flush">;
  readonly #options: SpanOptions;

  constructor(recorder: EventRecorder & Pick<Recorder, "flush">, options: SpanOptions = {}) {
    this.#recorder = recorder;
    this.#options = options;
  }

  onStart(): void {
    // A span is recorded when all of it is known.
  }

  onEnd(span: EndedSpan): void {
    const { select = isGenAiSpan } = this.#options;
    if (!select(span)) return;
    const event = {
      content: contentOf(span),
      what: operationOf(span.attributes) ?? "span",
      when: new Date(millisecondsOf(span.endTime)),
      who: whoOf(span.attributes),
      semanticAnchor: referencesOf(span.attributes, this.#options.semanticAnchor),
    };
    recordEvent(this.#recorder, event, this.#options);
  }

  /** Resolves when all that was recorded is anchored and kept. @throws NotFlushed */
  forceFlush(): Promise<void> {
    return this.#recorder.flush();
  }

  /** The recorder is closed by the one who has opened it. @throws NotFlushed */
  shutdown(): Promise<void> {
    return this.#recorder.flush();
  }
}

function isGenAiSpan({ attributes }: EndedSpan): boolean {
  return isOfGenAi(attributes);
}

function contentOf(span: EndedSpan): object {
  const { traceId, spanId } = span.spanContext();
  const [startMs, endMs] = [millisecondsOf(span.startTime), millisecondsOf(span.endTime)];
  return {
    name: span.name,
    kind: KINDS[span.kind],
    trace_id: traceId,
    span_id: spanId,
    parent_span_id: span.parentSpanContext?.spanId,
    start: new Date(startMs).toISOString(),
    duration_ms: endMs - startMs,
    status: STATUSES[span.status.code],
    status_message: span.status.message,
    attributes: span.attributes,
    events: span.events.map(({ name, time, attributes }) => {
      return { name, time: new Date(millisecondsOf(time)).toISOString(), attributes };
    }),
  };
}
