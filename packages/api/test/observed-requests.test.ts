import { afterEach, describe, expect, test } from "@jest/globals";
import { RefusedError } from "@event-anchoring/api";
import type { Attributes, Span, SpanStart, Tracer } from "@event-anchoring/telemetry";
import { type Harness, startHarness } from "./api-harness.ts";

// What a request leaves behind beside its answer: a span, a line, and its id with the write.

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

interface NotedSpan {
  readonly name: string;
  readonly start: SpanStart;
  attributes: Attributes;
  ended: string | null;
}

class NotingTracer implements Tracer {
  readonly spans: NotedSpan[] = [];

  start(name: string, start: SpanStart): Span {
    const noted: NotedSpan = { name, start, attributes: { ...start.attributes }, ended: null };
    this.spans.push(noted);
    return {
      context: { traceId: start.parent?.traceId ?? "e".repeat(32), spanId: "d".repeat(16) },
      set: (attributes) => void (noted.attributes = { ...noted.attributes, ...attributes }),
      link: () => {},
      end: (failed = "ok") => void (noted.ended ??= failed),
    };
  }

  counts = () => ({ exported: 0, dropped: 0, failed: 0, waiting: 0 });
  close = async (): Promise<void> => {};
}

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

function write(headers: Record<string, string> = {}, body: object = {}): ReturnType<Harness["send"]> {
  const event = { origin_fingerprint: harness.origin, event_hash: "ab".repeat(32), ...body };
  return harness.send("POST", "/v1/event-anchors", event, { authorization: `Bearer ${harness.key}`, ...headers });
}

const requestLines = (): object[] =>
  harness.logged.flatMap(({ level, fields }) => (level === "info" && "route" in fields ? [fields] : []));

describe("a span", () => {
  test("continues the caller's, and goes on with the write", async () => {
    const tracer = new NotingTracer();
    harness = await startHarness({ tracer });
    const { status, headers } = await write({ traceparent: TRACEPARENT, "x-request-id": "mine" });
    expect([status, headers["x-request-id"]]).toEqual([201, "mine"]);
    expect(tracer.spans).toMatchObject([
      {
        name: "POST /v1/event-anchors",
        start: { kind: "server", parent: { traceId: TRACE, spanId: PARENT, isSampled: true } },
        attributes: { "http.response.status_code": 201, "anchoring.request_id": "mine" },
        ended: "ok",
      },
    ]);
    const { call } = harness.node.submitted.at(-1) ?? {};
    expect(call).toEqual({ requestId: "mine", trace: { traceId: TRACE, spanId: "d".repeat(16) } });
  });

  test("says neither query, nor body, nor headers, nor a key in the path", async () => {
    const tracer = new NotingTracer();
    harness = await startHarness({ tracer });
    await harness.send("GET", `/v1/${harness.key}?token=hidden-in-query`, undefined, {
      authorization: `Bearer ${harness.key}`,
      "user-agent": "hidden-agent",
    });
    await write({}, { client_event_id: "hidden-in-body" });
    const said = JSON.stringify(tracer.spans);
    expect(tracer.spans).toHaveLength(2);
    for (const secret of [harness.key, "hidden", "ab".repeat(32)]) expect(said).not.toContain(secret);
  });

  test("of a request that is refused for what it says is no failure; of one that is not served it is", async () => {
    const tracer = new NotingTracer();
    harness = await startHarness({ tracer });
    await write({}, { event_hash: "no hex" });
    harness.node.refusal = new RefusedError("no_leader", "an election");
    await write();
    expect(tracer.spans.map(({ attributes, ended }) => [attributes["http.response.status_code"], ended])).toEqual([
      [400, "ok"],
      [503, "no_leader"],
    ]);
  });

  test("is begun for what is no route, too, and by no hostile header", async () => {
    const tracer = new NotingTracer();
    harness = await startHarness({ tracer });
    await harness.send("GET", "/nowhere", undefined, { traceparent: `00-${"0".repeat(32)}-${PARENT}-01` });
    expect(tracer.spans).toMatchObject([{ name: "GET", start: { parent: null }, ended: "ok" }]);
  });
});

describe("a request id", () => {
  test.each([
    ["a space", "a b"],
    ["a quote", 'a"b'],
    ["markup", "<script>"],
    ["65 characters", "r".repeat(65)],
    ["a path", "../../etc/passwd"],
  ])("with %s is replaced: in the answer, in the problem, and in what is handed on", async (_what, hostile) => {
    harness = await startHarness();
    const good = await write({ "x-request-id": hostile });
    const bad = await write({ "x-request-id": hostile }, { event_hash: "no hex" });
    for (const { headers } of [good, bad]) expect(headers["x-request-id"]).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/);
    expect(bad.json.request_id).toBe(bad.headers["x-request-id"]);
    expect(harness.node.submitted.at(-1)?.call).toEqual({ requestId: good.headers["x-request-id"], trace: null });
  });
});

describe("the access log", () => {
  test("is off unless somebody wants it", async () => {
    harness = await startHarness();
    await write();
    await write({}, { event_hash: "no hex" });
    expect(requestLines()).toEqual([]);
  });

  test("of problems has those alone, with their code", async () => {
    harness = await startHarness({ accessLog: "problems" });
    await write({ "x-request-id": "good" });
    await write({ "x-request-id": "bad" }, { event_hash: "no hex" });
    expect(requestLines()).toMatchObject([{ request_id: "bad", status: 400, code: "invalid_request", method: "POST" }]);
  });

  test("of all names the API client, never its key", async () => {
    harness = await startHarness({ accessLog: "all", tracer: new NotingTracer() });
    await write({ traceparent: TRACEPARENT });
    await harness.send("GET", "/healthz", undefined, {});
    const lines = requestLines();
    expect(lines).toMatchObject([
      { route: "createEventAnchor", status: 201, trace_id: TRACE, api_client: expect.stringMatching(/^[0-9a-f]{32}$/) },
      { route: "getHealth", status: 200 },
    ]);
    expect(lines[1]).not.toHaveProperty("api_client");
    expect(JSON.stringify(harness.logged)).not.toContain(harness.key);
  });
});
