import { Writable } from "node:stream";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import express from "express";
import { pino } from "pino";
import type { RecordOptions, RecordedEvent } from "@event-anchoring/sdk/recorder";
import { RecordingSpanProcessor, recordCalls, recordRequests, recordTool, recordingDestination } from "../src/index.ts";

// What each adapter makes of the real library's calls. readme.test.ts has real recorders behind them.

interface Seen extends RecordOptions {
  readonly content: Readonly<Record<string, unknown>>;
}

/** Takes events, or refuses them. */
class Events {
  readonly seen: Seen[] = [];
  refusal: Error | null = null;
  flushes = 0;

  readonly record = (content: unknown, options: RecordOptions): RecordedEvent => {
    if (this.refusal !== null) throw this.refusal;
    this.seen.push({ content: content as Seen["content"], ...options });
    return { clientEventId: `event ${this.seen.length}` } as RecordedEvent;
  };

  readonly flush = (): Promise<void> => {
    this.flushes += 1;
    return Promise.resolve();
  };
}

const [IRIS, GRANT] = ["11".repeat(32), "22".repeat(32)];

test("pino: each line is an event, with its time; a formatted one is a text", () => {
  const events = new Events();
  const names: string[] = [];
  const destination = recordingDestination(events, {
    who: "billing",
    semanticAnchor: { irisRef: IRIS },
    select: ({ level }) => level !== 20,
    onRecorded: ({ clientEventId }) => names.push(clientEventId),
  });
  const log = pino({ level: "debug" }, destination).child({ service: "billing" });
  log.debug("not this one");
  log.info({ order: "4711" }, "refunded");
  log.error(new Error("no such order"));
  destination.write("INFO refunded\n");
  expect(events.seen.map(({ content }) => content)).toMatchObject([
    { level: 30, service: "billing", order: "4711", msg: "refunded" },
    { level: 50, err: { type: "Error", message: "no such order" } },
    { text: "INFO refunded" },
  ]);
  const [first] = events.seen;
  expect(first).toMatchObject({ what: "log", who: "billing", semanticAnchor: { irisRef: IRIS } });
  expect(first?.when).toEqual(new Date(Number(first?.content["time"])));
  expect(names).toEqual(["event 1", "event 2", "event 3"]);
});

test("pino: what cannot be recorded is told, and logging goes on or does not", () => {
  const events = new Events();
  const errors: unknown[] = [];
  events.refusal = new Error("the spool is full");
  pino(recordingDestination(events, { onError: (error) => errors.push(error) })).info("on");
  expect(errors).toEqual([events.refusal]);
  const strict = recordingDestination(events, {
    onError: (error) => {
      throw error;
    },
  });
  expect(() => pino(strict).info("off")).toThrow("the spool is full");
  // It is good for pino's other ways to write, too.
  const plain: Writable = new Writable({ write: (_chunk, _encoding, done) => done() });
  events.refusal = null;
  pino({}, pino.multistream([plain, recordingDestination(events)])).info("both");
  expect(events.seen).toHaveLength(1);
});

test("OpenTelemetry: spans of agents and tools are events, with who acted and by which grant", async () => {
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

test("OpenTelemetry: other spans, if they are selected", () => {
  const events = new Events();
  const processor = new RecordingSpanProcessor(events, { select: () => true });
  new TracerProvider({ spanProcessors: [processor] }).getTracer("web").startSpan("GET /orders").end();
  expect(events.seen).toMatchObject([{ what: "span", content: { name: "GET /orders", kind: "internal" } }]);
});

test("Express: requests are events when they have ended, without what is secret in them", async () => {
  const events = new Events();
  const app = express();
  app.use(
    recordRequests<express.Request>(events, {
      who: (request) => request.get("x-user"),
      select: (request) => request.path !== "/healthz",
      more: (_request, { statusCode }) => ({ is_refused: statusCode === 403 }),
    }),
  );
  const router = express.Router();
  router.get("/:id", (_request, response) => void response.status(403).json({ error: "not yours" }));
  router.post("/", (_request, response) => void response.destroy());
  app.use("/orders", router).get("/healthz", (_request, response) => void response.json({}));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = { "x-user": "ada", connection: "close" };
  await fetch(`${base}/healthz`, { headers });
  await (await fetch(`${base}/orders/4711?token=secret`, { headers })).text();
  await expect(fetch(`${base}/orders/`, { method: "POST", body: "secret", headers })).rejects.toThrow();
  await (await fetch(`${base}/nothing`, { headers })).text();
  server.close();
  await once(server, "close");

  expect(events.seen.map(({ content }) => content)).toMatchObject([
    { method: "GET", path: "/orders/4711", route: "/orders/:id", status: 403, complete: true, is_refused: true },
    { method: "POST", path: "/orders/", complete: false },
    { method: "GET", path: "/nothing", status: 404, complete: true },
  ]);
  expect(events.seen[0]).toMatchObject({ what: "http.request", who: "ada", when: expect.any(Date) });
  expect(JSON.stringify(events.seen)).not.toContain("secret");
});

test("MCP: calls of a tool are events, on both sides", async () => {
  const [served, called] = [new Events(), new Events()];
  const server = new McpServer({ name: "billing", version: "1.0.0" });
  const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
  server.registerTool(
    "now",
    {},
    recordTool(served, "now", () => text("10:00")),
  );
  const failing = recordTool(
    served,
    "refund",
    () => {
      throw new Error("no such order");
    },
    { who: "billing", content: ({ tool, error }) => ({ tool, error }) },
  );
  server.registerTool("refund", {}, failing);
  const client = new McpClient({ name: "agent", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  const callTool = recordCalls(called, client.callTool.bind(client), { what: "call" });
  await callTool({ name: "now" });
  expect(await callTool({ name: "refund", arguments: { order: "4711" } })).toMatchObject({ isError: true });
  await client.close();
  await expect(callTool({ name: "now" })).rejects.toThrow("Not connected");

  expect(served.seen).toMatchObject([
    { what: "tool.call", content: { tool: "now", arguments: {}, result: text("10:00") } },
    { who: "billing", content: { tool: "refund", error: "no such order" } },
  ]);
  expect(called.seen).toMatchObject([
    { what: "call", content: { tool: "now", result: text("10:00") } },
    { what: "call", content: { tool: "refund", arguments: { order: "4711" }, result: { isError: true } } },
    { what: "call", content: { tool: "now", error: "Not connected" } },
  ]);
});
