import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Tracer, startTracing } from "../src/index.ts";

const PARENT = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const LOADER = fileURLToPath(new URL("./load-processes.js", import.meta.url));

interface Collector {
  readonly server: Server;
  readonly bodies: string[];
  status: number;
}

let collector: Collector;
let events: string[];
let before: NodeJS.ProcessEnv;
const opened: Tracer[] = [];

beforeEach(async () => {
  before = { ...process.env };
  events = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString("utf8"));
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
    });
  });
  collector = { server, bodies, status: 200 };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((tracer) => tracer.close()));
  process.env = before;
  collector.server.closeAllConnections();
  await new Promise((resolve) => collector.server.close(resolve));
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function endpoint(): string {
  const address = collector.server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
}

/** The exporter reads the process's own environment. */
async function tracerWith(variables: Record<string, string> = {}): Promise<Tracer> {
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(), ...variables });
  const note = (event: string): void => void events.push(event);
  const logger = { info: note, warn: note };
  const tracer = await startTracing(process.env, { service: "test", version: "1", nodeId: "n1", logger });
  if (tracer === null) throw new Error("tracing is off");
  opened.push(tracer);
  return tracer;
}

describe("a tracer", () => {
  test("exports what ended, with its parent, links, attributes and outcome", async () => {
    const tracer = await tracerWith();
    const span = tracer.start("work", { parent: PARENT, links: [PARENT], attributes: { "anchoring.raft.index": 7 } });
    span?.end("no_leader");
    span?.end();
    tracer.start("never ends", { parent: PARENT });
    await tracer.close();
    const sent = collector.bodies.join("");
    for (const part of [PARENT.traceId, PARENT.spanId, '"work"', "anchoring.raft.index", "no_leader"]) {
      expect(sent).toContain(part);
    }
    expect(sent).not.toContain("never ends");
    expect(tracer.counts()).toEqual({ exported: 1, dropped: 0, failed: 0, waiting: 0 });
  });

  test("begins traces of its own, each another", async () => {
    const tracer = await tracerWith();
    const ids = [1, 2].map(() => tracer.start("root", { parent: null })?.context.traceId);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ["a caller that does not record", {}, { ...PARENT, isSampled: false }],
    ["no root at all", { OTEL_TRACES_SAMPLER: "parentbased_always_off" }, null],
    ["nothing", { OTEL_TRACES_SAMPLER: "always_off" }, PARENT],
    ["a ratio of 0", { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, PARENT],
  ])("records nothing where the sampler wants it so: %s", async (_what, variables, parent) => {
    const tracer = await tracerWith(variables);
    expect(tracer.start("work", { parent })).toBeNull();
  });

  test("drops and counts what the queue has no room for", async () => {
    const tracer = await tracerWith({ OTEL_BSP_MAX_QUEUE_SIZE: "4", OTEL_BSP_SCHEDULE_DELAY: "60000" });
    for (let count = 0; count < 30; count++) tracer.start("work", { parent: PARENT })?.end();
    await tracer.close();
    const { exported, dropped, failed, waiting } = tracer.counts();
    expect(exported + dropped).toBe(30);
    expect(dropped).toBeGreaterThan(20);
    expect([failed, waiting]).toEqual([0, 0]);
  });

  test("counts what the collector refuses, and says it once", async () => {
    collector.status = 400;
    const tracer = await tracerWith({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1", OTEL_BSP_SCHEDULE_DELAY: "1" });
    for (let count = 0; count < 3; count++) tracer.start("work", { parent: PARENT })?.end();
    while (tracer.counts().failed < 3) await nextTurn();
    expect(tracer.counts()).toEqual({ exported: 0, dropped: 0, failed: 3, waiting: 0 });
    expect(events).toEqual(["trace_export_failed"]);
    collector.status = 200;
    tracer.start("work", { parent: PARENT })?.end();
    while (tracer.counts().exported < 1) await nextTurn();
    expect(events).toEqual(["trace_export_failed", "trace_export_works_again"]);
  }, 60_000);

  test("does not keep a stopping process waiting for a collector that is gone", async () => {
    const tracer = await tracerWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    tracer.start("work", { parent: PARENT })?.end();
    const startMs = performance.now();
    await tracer.close();
    expect(performance.now() - startMs).toBeLessThan(20_000);
    expect(tracer.counts().exported).toBe(0);
  });

  test("names variables that it passes over", async () => {
    await tracerWith({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });
    expect(events).toEqual(["otel_variables_ignored"]);
  });
});

describe("a process", () => {
  /** Loads what api and control plane load, starts tracing, and prints which modules of the SDK are in memory. */
  function loadedBy(environment: Record<string, string>): { isTracing: boolean; modules: string[]; sockets: number } {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: _endpoint, ...own } = process.env;
    const { stdout, stderr } = spawnSync(process.execPath, [LOADER], {
      env: { ...own, NODE_OPTIONS: "", ...environment },
      encoding: "utf8",
    });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout) as ReturnType<typeof loadedBy>;
  }

  test("that is not asked to trace loads nothing of the SDK and opens no connection", () => {
    expect(loadedBy({})).toEqual({ isTracing: false, modules: [], sockets: 0 });
    const disabled = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_SDK_DISABLED: "true" };
    expect(loadedBy(disabled)).toEqual({ isTracing: false, modules: [], sockets: 0 });
  }, 120_000);

  test("that is asked to does", () => {
    const { isTracing, modules } = loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    expect(isTracing).toBe(true);
    expect(modules).toEqual(expect.arrayContaining(["exporter-trace-otlp-http", "resources", "sdk-trace"]));
  }, 120_000);
});
