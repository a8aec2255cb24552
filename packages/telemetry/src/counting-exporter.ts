import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { TracerCounts, TracingOptions } from "./tracer.ts";

type Done = Parameters<SpanExporter["export"]>[1];

/** Code of OpenTelemetry's ExportResult. */
const SUCCESS = 0;

/**
 * Counts what becomes of spans, and says once when a collector stops taking them and once when it takes them again.
 *
 * Invariant: ended = dropped + waiting + handed over, where the queue behind it drops by the same rule.
 */
export class CountingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #queueMax: number;
  readonly #logger: TracingOptions["logger"];
  #exported = 0;
  #failed = 0;
  #dropped = 0;
  #waiting = 0;
  #isFailing = false;

  constructor(exporter: SpanExporter, queueMax: number, logger: TracingOptions["logger"]) {
    this.#exporter = exporter;
    this.#queueMax = queueMax;
    this.#logger = logger;
  }

  counts(): TracerCounts {
    return { exported: this.#exported, dropped: this.#dropped, failed: this.#failed, waiting: this.#waiting };
  }

  /** A span has ended; false: the queue is full, and it goes nowhere. */
  admit(): boolean {
    if (this.#waiting >= this.#queueMax) {
      this.#dropped += 1;
      return false;
    }
    this.#waiting += 1;
    return true;
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#waiting -= spans.length;
    this.#exporter.export(spans, (result) => {
      if ((result.code as number) === SUCCESS) this.#onExported(spans.length);
      else this.#onFailed(spans.length, result.error);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  #onExported(count: number): void {
    this.#exported += count;
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#logger.info("trace_export_works_again", { failedSpans: this.#failed });
  }

  #onFailed(count: number, error: Error | undefined): void {
    this.#failed += count;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#logger.warn("trace_export_failed", { detail: error?.message ?? "the collector did not take the spans" });
  }
}
