import { once } from "node:events";
import { type IncomingMessage, type Server, createServer } from "node:http";

/** A span as OTLP/JSON has it, as far as tests look at it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: number;
  /** `service.name` and `service.instance.id` of the process it comes from. */
  readonly service: string;
  readonly node: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Span ids of the spans it is linked to. */
  readonly links: readonly string[];
  readonly isFailed: boolean;
  readonly startNs: bigint;
  readonly endNs: bigint;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes?: readonly OtlpAttribute[];
  readonly links?: readonly { readonly spanId: string }[];
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface OtlpExport {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const STATUS_ERROR = 2;

/** Takes spans as a collector does: OTLP over HTTP, with JSON. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Headers of the newest export. */
  headers: IncomingMessage["headers"] = {};
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(): Promise<TraceCollector> {
    const server = createServer();
    const collector = new TraceCollector(server);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (request.method !== "POST" || request.url !== "/v1/traces") return response.writeHead(404).end();
        collector.headers = request.headers;
        collector.#take(JSON.parse(Buffer.concat(chunks).toString("utf8")) as OtlpExport);
        return response.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return collector;
  }

  get endpoint(): string {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the collector does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  of(traceId: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, "close");
  }

  #take(message: OtlpExport): void {
    for (const { resource, scopeSpans } of message.resourceSpans) {
      const { "service.name": service, "service.instance.id": node } = valuesOf(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          ...span,
          parentSpanId: span.parentSpanId ?? null,
          service: String(service),
          node: String(node),
          attributes: valuesOf(span.attributes ?? []),
          links: (span.links ?? []).map(({ spanId }) => spanId),
          isFailed: span.status?.code === STATUS_ERROR,
          startNs: BigInt(span.startTimeUnixNano),
          endNs: BigInt(span.endTimeUnixNano),
        });
      }
    }
  }
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
