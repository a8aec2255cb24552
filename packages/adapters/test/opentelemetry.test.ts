import { expect, test } from "@jest/globals";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { SeverityNumber } from "@opentelemetry/api-logs";
import { LoggerProvider } from "@opentelemetry/sdk-logs";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { RecordingLogRecordProcessor, RecordingSpanProcessor } from "../src/index.ts";
import { Events, GRANT, IRIS } from "./events.ts";

// Spans and log records of the real SDK.

test("spans of agents and tools are events, with who acted and by which grant", async () => {
  const events = new Events();
  const processor = new RecordingSpanProcessor(events, { semanticAnchor: { irisRef: IRIS } });
  const provider = new TracerProvider({ spanProcessors: [processor] });
  const tracer = provider.getTracer("agent");
  const agent = tracer.startSpan("invoke_agent", {
    attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "agent-7" },
  });
  const inside = trace.setSpan(context.active(), agent);
  tracer.startSpan("GET /orders", {}, inside).end();
  const tool = tracer.startSpan(
    "execute_tool refund",
    {
      kind: SpanKind.CLIENT,
      startTime: new Date("2026-11-23T10:00:00.000Z"),
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "billing",
        "gen_ai.tool.name": "refund",
        "event_anchoring.grant_ref": GRANT,
      },
    },
    inside,
  );
  tool.recordException(new Error("no such order"));
  tool.setStatus({ code: SpanStatusCode.ERROR, message: "no such order" });
  tool.end(new Date("2026-11-23T10:00:00.250Z"));
  agent.end();

  expect(events.seen).toHaveLength(2);
  expect(events.seen[0]).toMatchObject({
    what: "tool.call",
    who: "billing",
    when: new Date("2026-11-23T10:00:00.250Z"),
    semanticAnchor: { irisRef: IRIS, grantRef: GRANT },
    content: {
      name: "execute_tool refund",
      kind: "client",
      trace_id: agent.spanContext().traceId,
      span_id: tool.spanContext().spanId,
      parent_span_id: agent.spanContext().spanId,
      start: "2026-11-23T10:00:00.000Z",
      duration_ms: 250,
      status: "error",
      status_message: "no such order",
      attributes: { "gen_ai.tool.name": "refund" },
      events: [{ name: "exception", attributes: { "exception.message": "no such order" } }],
    },
  });
  const other = { what: "gen_ai.invoke_agent", who: "agent-7", semanticAnchor: { irisRef: IRIS } };
  expect(events.seen[1]).toMatchObject(other);
  await provider.forceFlush();
  await provider.shutdown();
  expect(events.flushes).toBe(2);
});

test("other spans, if they are selected", () => {
  const events = new Events();
  const processor = new RecordingSpanProcessor(events, { select: () => true });
  new TracerProvider({ spanProcessors: [processor] }).getTracer("web").startSpan("GET /orders").end();
  expect(events.seen).toMatchObject([{ what: "span", content: { name: "GET /orders", kind: "internal" } }]);
});

test("log records of agents and tools are events, with who acted and by which grant", async () => {
  const events = new Events();
  const processor = new RecordingLogRecordProcessor(events, { semanticAnchor: { irisRef: IRIS } });
  const provider = new LoggerProvider({ processors: [processor] });
  const logger = provider.getLogger("agent");
  const tracer = new TracerProvider({ spanProcessors: [] }).getTracer("agent");
  const span = tracer.startSpan("execute_tool refund");
  logger.emit({ body: "GET /orders" });
  logger.emit({
    context: trace.setSpan(ROOT_CONTEXT, span),
    timestamp: new Date("2026-11-23T10:00:00.250Z"),
    severityNumber: SeverityNumber.INFO,
    severityText: "INFO",
    body: { said: "refunded", bytes: Uint8Array.of(1, 2, 255) },
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.agent.name": "billing",
      "gen_ai.tool.name": "refund",
      "event_anchoring.grant_ref": GRANT,
    },
  });
  logger.emit({
    eventName: "gen_ai.client.inference.operation.details",
    attributes: { "gen_ai.operation.name": "chat", "gen_ai.agent.id": "agent-7" },
  });
  logger.emit({ eventName: "gen_ai.evaluation.result", attributes: { "gen_ai.evaluation.score.value": 0.5 } });

  const { traceId, spanId } = span.spanContext();
  expect(events.seen).toHaveLength(3);
  expect(events.seen[0]).toEqual({
    what: "tool.call",
    who: "billing",
    when: new Date("2026-11-23T10:00:00.250Z"),
    semanticAnchor: { irisRef: IRIS, grantRef: GRANT },
    salt: undefined,
    content: {
      body: { said: "refunded", bytes: "AQL/" },
      severity: "INFO",
      severity_number: 9,
      logger: "agent",
      trace_id: traceId,
      span_id: spanId,
      attributes: expect.objectContaining({ "gen_ai.tool.name": "refund" }),
    },
  });
  const name = "gen_ai.client.inference.operation.details";
  expect(events.seen[1]).toMatchObject({ what: name, who: "agent-7", content: { event_name: name } });
  expect(events.seen[1]?.content).not.toHaveProperty("trace_id");
  expect(events.seen[2]).toMatchObject({ what: "gen_ai.evaluation.result", semanticAnchor: { irisRef: IRIS } });
  await provider.forceFlush();
  await provider.shutdown();
  expect(events.flushes).toBe(2);
});

test("other log records, if they are selected; what cannot be recorded does not stop the program", () => {
  const events = new Events();
  const errors: unknown[] = [];
  const options = { select: () => true, onError: (error: unknown) => errors.push(error) };
  const logger = new LoggerProvider({ processors: [new RecordingLogRecordProcessor(events, options)] }).getLogger(
    "web",
  );
  logger.emit({ body: "GET /orders" });
  events.refusal = new Error("the spool is full");
  logger.emit({ body: "GET /orders" });
  expect(events.seen).toMatchObject([{ what: "log", content: { body: "GET /orders", logger: "web" } }]);
  expect(errors).toEqual([events.refusal]);
});
