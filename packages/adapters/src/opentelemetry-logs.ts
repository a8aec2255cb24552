import type { Recorder } from "@event-anchoring/sdk/recorder";
import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";
import { isOfGenAi, millisecondsOf, operationOf, referencesOf, whoOf } from "./gen-ai.ts";
import type { Attributes, Instant } from "./gen-ai.ts";

/** What is read of a log record of OpenTelemetry's. */
export interface EmittedLog {
  readonly hrTime: Instant;
  readonly severityText?: string | undefined;
  readonly severityNumber?: number | undefined;
  readonly body?: unknown;
  readonly eventName?: string | undefined;
  readonly attributes: Attributes;
  readonly instrumentationScope: { readonly name: string };
  readonly spanContext?: { readonly traceId: string; readonly spanId: string } | undefined;
}

export interface LogRecordOptions extends AdapterOptions {
  /** Which are recorded. Default: those of the GenAI conventions, by `gen_ai.operation.name` or the event's name. */
  readonly select?: ((log: EmittedLog) => boolean) | undefined;
}

/**
 * A log record processor of OpenTelemetry's: what agents, models and tools log (GenAI conventions) becomes an event
 * before `emit` returns. The event has the name that the log record has as an event; without one, a tool call is a
 * `tool.call`, and other operations are a `gen_ai.<operation>`; the agent is who acted. It names trace and span, and
 * refers to the claim and the grant that the attributes `event_anchoring.iris_ref` and `event_anchoring.grant_ref`
 * name, else to those of the options.
 *
 *     const provider = new LoggerProvider({ processors: [new RecordingLogRecordProcessor(recorder)] });
 */
export class RecordingLogRecordProcessor {
  readonly #recorder: EventRecorder & Pick<Recorder, "flush">;
  readonly #options: LogRecordOptions;

  constructor(recorder: EventRecorder & Pick<Recorder, "flush">, options: LogRecordOptions = {}) {
    this.#recorder = recorder;
    this.#options = options;
  }

  onEmit(log: EmittedLog): void {
    const { select = isGenAiLog } = this.#options;
    if (!select(log)) return;
    const event = {
      content: contentOf(log),
      what: nameOf(log) ?? operationOf(log.attributes) ?? "log",
      when: new Date(millisecondsOf(log.hrTime)),
      who: whoOf(log.attributes),
      semanticAnchor: referencesOf(log.attributes, this.#options.semanticAnchor),
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

function isGenAiLog(log: EmittedLog): boolean {
  return isOfGenAi(log.attributes) || nameOf(log)?.startsWith("gen_ai.") === true;
}

function nameOf({ eventName }: EmittedLog): string | undefined {
  return eventName === "" ? undefined : eventName;
}

function contentOf(log: EmittedLog): object {
  return {
    event_name: nameOf(log),
    body: log.body,
    severity: log.severityText,
    severity_number: log.severityNumber,
    logger: log.instrumentationScope.name,
    trace_id: log.spanContext?.traceId,
    span_id: log.spanContext?.spanId,
    attributes: log.attributes,
  };
}
