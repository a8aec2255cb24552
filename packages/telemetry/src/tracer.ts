import type { TraceContext } from "@event-anchoring/control-contract";
import type { Logger } from "./open-log.ts";
import type { RemoteContext } from "./traceparent.ts";

/** What a span says beside its name and times. Never payloads, keys or anything a client wants kept. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The part a span has in a call between processes; OpenTelemetry's terms. */
export type SpanKind = "internal" | "server" | "client";

export interface SpanStart {
  readonly kind?: SpanKind;
  /** What it is a part of; null: a trace begins here, if the sampler wants it. */
  readonly parent: TraceContext | RemoteContext | null;
  /** Spans that it has to do with and is no part of, of other traces most of all. */
  readonly links?: readonly TraceContext[];
  readonly attributes?: Attributes;
}

/** A span that is being recorded. Calls after `end` change nothing. */
export interface Span {
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  link(context: TraceContext): void;
  /** @param failed what went wrong, in one word of a closed set; absent: nothing did */
  end(failed?: string): void;
}

/** Spans of this process since it began. Every one that ended is in exactly one of the three, or waits. */
export interface TracerCounts {
  readonly exported: number;
  /** The queue was full. */
  readonly dropped: number;
  /** The collector did not take them. */
  readonly failed: number;
  /** Ended, and not exported yet. */
  readonly waiting: number;
}

/** Where spans come from. Code that may run without one holds a `Tracer | null`, and checks it once for each write. */
export interface Tracer {
  /** null: the sampler does not want it. */
  start(name: string, start: SpanStart): Span | null;
  counts(): TracerCounts;
  /** Exports what waits, for a moment at most. Never rejects. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** `service.name` unless OTEL_SERVICE_NAME says another. */
  readonly service: string;
  readonly version: string;
  /** `service.instance.id`: the node. */
  readonly nodeId: string;
  /** One line when exporting begins to fail, and one when it works again. */
  readonly logger: Pick<Logger, "info" | "warn">;
}
