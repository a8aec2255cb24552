import type { Recorder } from "@event-anchoring/sdk/recorder";
import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** Seconds and nanoseconds. */
type Instant = readonly [number, number];
type Attributes = Readonly<Record<string, unknown>>;

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

const OPERATION = "gen_ai.operation.name";
const EXECUTE_TOOL = "execute_tool";
const AGENT_NAMES = ["gen_ai.agent.name", "gen_ai.agent.id"] as const;
/** Attributes by which a span says what its event refers to, as 64 hex digits. */
const IRIS_REF = "event_anchoring.iris_ref";
const GRANT_REF = "event_anchoring.grant_ref";
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
    const { select = isOfGenAi } = this.#options;
    if (!select(span)) return;
    const [irisRef, grantRef] = [textOf(span, IRIS_REF), textOf(span, GRANT_REF)];
    const refersToNothing = irisRef === undefined && grantRef === undefined;
    const event = {
      content: contentOf(span),
      what: whatOf(span),
      when: new Date(millisecondsOf(span.endTime)),
      who: AGENT_NAMES.map((name) => textOf(span, name)).find((name) => name !== undefined),
      semanticAnchor: refersToNothing
        ? undefined
        : { ...this.#options.semanticAnchor, ...given({ irisRef, grantRef }) },
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

function isOfGenAi({ attributes }: EndedSpan): boolean {
  return typeof attributes[OPERATION] === "string";
}

function whatOf(span: EndedSpan): string {
  const operation = textOf(span, OPERATION);
  if (operation === undefined) return "span";
  return operation === EXECUTE_TOOL ? "tool.call" : `gen_ai.${operation}`;
}

function textOf({ attributes }: EndedSpan, name: string): string | undefined {
  const value = attributes[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Without members that are undefined. */
function given(refs: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(refs).flatMap(([name, ref]) => (ref === undefined ? [] : [[name, ref]])));
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

/** Whole ones: a day of nanoseconds is more than a double holds to the last digit. */
function millisecondsOf([seconds, nanoseconds]: Instant): number {
  return seconds * 1_000 + Math.round(nanoseconds / 1e6);
}
