import { randomBytes } from "node:crypto";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { type TestCluster, startTestCluster } from "@event-anchoring/testkit/cluster";
import { type CollectedSpan, TraceCollector } from "./trace-collector.ts";

// One write is followed through three real nodes, in traces and in logs.

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool)
  process.stdout.write("promtool is not here (Debian package prometheus): the scrape is not linted by it\n");

/** OpenTelemetry's number of that kind of span. */
const SERVER = 2;
/** The span of whoever calls. */
const CALLER = "00f067aa0ba902b7";

let collector: TraceCollector;
let setup: TestCluster;

beforeAll(async () => {
  collector = await TraceCollector.listen();
  setup = await startTestCluster({
    faultHooks: {
      environment: (_node, process) =>
        process === "postgres"
          ? {}
          : {
              OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
              OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=anchoring",
              OTEL_BSP_SCHEDULE_DELAY: "50",
              OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
              ...(process === "api" ? { ANCHORING_API__ACCESS_LOG: "all" } : {}),
            },
    },
  });
}, 240_000);

afterAll(async () => {
  await setup.cluster.erase();
  await collector.close();
}, 60_000);

interface Written {
  readonly status: number;
  readonly requestId: string;
  readonly traceId: string;
}

async function writeOnce(nodeId: string, headers: Record<string, string>): Promise<Written> {
  const { api_url: url, origin_fingerprint: origin } = setup.entry(nodeId);
  const traceId = randomBytes(16).toString("hex");
  const response = await fetch(`${url}/v1/event-anchors`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${setup.apiKey}`,
      "content-type": "application/json",
      traceparent: `00-${traceId}-${CALLER}-01`,
      ...headers,
    },
    body: JSON.stringify({ origin_fingerprint: origin, event_hash: randomBytes(32).toString("hex") }),
  });
  await response.arrayBuffer();
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? "", traceId };
}

/** As a client does: a node that cannot serve for the moment is asked again. What is written is the last attempt's. */
function write(nodeId: string, headers: Record<string, string> = {}): Promise<Written> {
  return until(
    `${nodeId} takes a write`,
    async () => {
      const written = await writeOnce(nodeId, headers);
      return written.status === 503 ? null : written;
    },
    60_000,
  );
}

const named = (spans: readonly CollectedSpan[], name: string): readonly CollectedSpan[] =>
  spans.filter((span) => span.name === name);

function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [span, ...more] = named(spans, name);
  if (span === undefined || more.length > 0) throw new Error(`${more.length + 1} or no spans "${name}"`);
  return span;
}

/** Every span of a write that all three nodes have worked on; the third may have had no need to cosign. */
function whole(traceId: string): Promise<readonly CollectedSpan[]> {
  return until(
    "the collector has every span of the write",
    () => {
      const spans = collector.of(traceId);
      const areThere = ["raft append", "ledger decide", "ledger apply", "certify"].every(
        (name) => new Set(named(spans, name).map(({ node }) => node)).size === 3,
      );
      return areThere && named(spans, "raft entry").length === 1 && named(spans, "submit").length === 1 ? spans : null;
    },
    60_000,
  );
}

function logLines(nodeId: string, process: "api" | "control-plane"): Record<string, unknown>[] {
  const text = readFileSync(join(setup.cluster.root, "nodes", nodeId, "logs", `${process}.log`), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Another node than the one that was asked has led, from the first span to the last. */
function followedFromFollower(): Promise<{ readonly requestId: string; readonly spans: readonly CollectedSpan[] }> {
  return until(
    "a write at a follower",
    async () => {
      const leader = await setup.leader();
      const follower = setup.cluster.file.nodes.find(({ id }) => id !== leader.id);
      const { traceId, requestId } = await write(follower?.id ?? "");
      const spans = await whole(traceId);
      return only(spans, "raft entry").node === only(spans, "submit").node ? null : { requestId, spans };
    },
    120_000,
  );
}

describe("a write at a follower", () => {
  test("is one trace, from the request through the leader to what each node does with the entry", async () => {
    const { requestId, spans } = await followedFromFollower();
    const request = only(spans, "POST /v1/event-anchors");
    const asked = only(spans, "control plane submit");
    const submit = only(spans, "submit");
    const queued = only(spans, "leader queue");
    const entry = only(spans, "raft entry");
    expect(request.parentSpanId).toBe(CALLER);
    expect(asked.parentSpanId).toBe(request.spanId);
    expect(submit.parentSpanId).toBe(asked.spanId);
    expect(queued.parentSpanId).toBe(submit.spanId);
    expect(entry.parentSpanId).toBe(queued.spanId);
    expect(entry.links).toEqual([queued.spanId]);
    expect(queued.links).toEqual([entry.spanId]);
    expect([request, asked].map(({ node, service }) => [node, service])).toEqual([
      [submit.node, "anchoring-api"],
      [submit.node, "anchoring-api"],
    ]);
    expect([submit, queued, entry].map(({ service }) => service)).toEqual(Array(3).fill("anchoring-control-plane"));
    expect(queued.node).toBe(entry.node);
    expect(entry.node).not.toBe(submit.node);
    expect(request.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/v1/event-anchors",
      "url.path": "/v1/event-anchors",
      "anchoring.request_id": requestId,
    });
    expect(Number(request.attributes["http.response.status_code"])).toBe(201);

    const perNode = ["raft append", "ledger decide", "ledger apply", "certify", "cosign"];
    for (const span of spans.filter(({ name }) => perNode.includes(name))) {
      expect([span.name, span.parentSpanId]).toEqual([span.name, entry.spanId]);
      expect(span.attributes["anchoring.raft.index"]).toEqual(entry.attributes["anchoring.raft.index"]);
    }
    const signed = named(spans, "cosign").filter(({ attributes }) => attributes["anchoring.cosign.needed"] !== false);
    expect(new Set(signed.map(({ node }) => node)).size).toBeGreaterThanOrEqual(2);
    expect(spans.filter(({ isFailed }) => isFailed)).toEqual([]);
    expect(spans.filter(({ startNs, endNs }) => endNs < startNs)).toEqual([]);
    expect(collector.headers["x-tenant"]).toBe("anchoring");
  }, 180_000);

  test("carries nothing of what was written, and no secret, into spans or logs", async () => {
    const { traceId } = await write("n1");
    await whole(traceId);
    const secrets = [setup.apiKey, setup.apiKey.slice(4, 40), "postgresql://", "PRIVATE KEY", "x-tenant"];
    const told = JSON.stringify(collector.spans.map(({ startNs: _start, endNs: _end, ...span }) => span));
    const logged = setup.cluster.file.nodes.flatMap(({ id }) => [
      JSON.stringify(logLines(id, "api")),
      JSON.stringify(logLines(id, "control-plane")),
    ]);
    for (const text of [told, ...logged]) for (const secret of secrets) expect(text).not.toContain(secret);
    expect(told).not.toContain("event_hash");
  }, 180_000);

  test("is found in the log of its api process by request id and trace id", async () => {
    const { requestId, traceId } = await write("n2", { "x-request-id": "mine-17" });
    expect(requestId).toBe("mine-17");
    const line = await until(
      "the line is written",
      () => logLines("n2", "api").find((line) => line["request_id"] === "mine-17" && line["status"] === 201) ?? null,
    );
    expect(line).toMatchObject({
      level: "info",
      node: "n2",
      process: "api",
      message: "request",
      trace_id: traceId,
      method: "POST",
      route: "createEventAnchor",
      status: 201,
    });
    expect(String(line["time"])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }, 180_000);
});

describe("hostile headers", () => {
  test.each([
    ["a trace id of zeros", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
    ["a version that is none", `ff-${"a".repeat(32)}-00f067aa0ba902b7-01`],
    ["capitals", `00-${"A".repeat(32)}-00f067aa0ba902b7-01`],
    ["too long", `00-${"a".repeat(32)}-00f067aa0ba902b7-01-${"x".repeat(4000)}`],
    ["something else", "'; DROP TABLE spans"],
  ])(
    "%s: the write succeeds, in a trace of its own",
    async (_what, traceparent) => {
      const requestId = `hostile-${randomBytes(4).toString("hex")}`;
      const { status } = await write("n1", { traceparent, "x-request-id": requestId });
      expect(status).toBe(201);
      const span = await until(
        "the request's span came",
        () =>
          collector.spans.find(
            ({ kind, service, attributes }) =>
              kind === SERVER && service === "anchoring-api" && attributes["anchoring.request_id"] === requestId,
          ) ?? null,
      );
      expect(span.parentSpanId ?? "").toBe("");
      expect(traceparent).not.toContain(span.traceId);
    },
    60_000,
  );

  test("a caller that does not record its trace is not recorded here", async () => {
    const traceId = randomBytes(16).toString("hex");
    const requestId = `quiet-${randomBytes(4).toString("hex")}`;
    await write("n1", { traceparent: `00-${traceId}-00f067aa0ba902b7-00`, "x-request-id": requestId });
    const { traceId: next } = await write("n1");
    await whole(next);
    expect(collector.of(traceId)).toEqual([]);
  }, 180_000);
});

describe("a scrape", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const scrape = async (): Promise<string> => (await fetch(setup.entry("n1").metrics_url)).text();

  test("has every metric of a node that rules and dashboards ask for", async () => {
    await write("n1");
    const text = await scrape();
    const folders = ["deploy/prometheus", "deploy/grafana/dashboards"].map((folder) => join(root, folder));
    const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
    const asked = files.filter((file) => !file.endsWith(".test.yml")).map((file) => readFileSync(file, "utf8"));
    // Those of anchorctl are no node's, and this one is no witness; test/deploy/monitoring.test.ts knows them.
    const names = new Set(asked.join("\n").match(/\banchoring_(?!monitor_|backup_|as_witness_)[a-z0-9_]+/g));
    expect(names.size).toBeGreaterThan(50);
    const declared = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name));
    const missing = [...names].filter(
      (name) => !declared.has(name) && !declared.has(name.replace(/_(bucket|count|sum)$/, "")),
    );
    expect(missing).toEqual([]);
  }, 180_000);

  test("is as Prometheus wants it", async () => {
    const text = await scrape();
    const helped = [...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name);
    expect([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)).toEqual(helped);
    expect(new Set(helped).size).toBe(helped.length);
    if (!hasPromtool) return;
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    expect([status, stdout + stderr]).toEqual([0, ""]);
  }, 60_000);
});

describe("a collector that is gone", () => {
  test("disturbs no write; what was lost is counted, and said once", async () => {
    await collector.close();
    const written = await Promise.all(Array.from({ length: 40 }, () => write("n1")));
    expect(written.map(({ status }) => status)).toEqual(written.map(() => 201));
    const { metrics_url: url } = setup.entry("n1");
    await until(
      "the lost spans are counted",
      async () => {
        const text = await (await fetch(url)).text();
        const lost = (process: string): number =>
          Number(
            new RegExp(`^anchoring_${process}_spans_total\\{outcome="failed"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0,
          );
        return lost("api") > 0 && lost("control_plane") > 0;
      },
      90_000,
    );
    for (const process of ["api", "control-plane"] as const) {
      const lines = logLines("n1", process).filter(({ message }) => message === "trace_export_failed");
      expect(lines).toHaveLength(1);
    }
    expect((await write("n1")).status).toBe(201);
  }, 180_000);
});
