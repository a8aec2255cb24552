import { connect as connectHttp2 } from "node:http2";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROUTES } from "@event-anchoring/api-contract";
import { until } from "@event-anchoring/testkit";
import { GatewayClient, answerCount, getBytes, sendBytes, statusOf } from "./gateway-client.ts";
import type { GatewayRequest } from "./gateway-client.ts";
import { GATEWAY_NOTE, GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";
import { FRAMINGS, HIDDEN, OTHER_HOSTS } from "./hostile-requests.ts";
import { StandInNodes } from "./stand-in-nodes.ts";

// The settings of deploy/gateway, run by the real program, before servers that remember what reached them: so a request
// that got through is seen, whatever it was answered.

const describeWithGateway = isGatewayThere ? describe : describe.skip;
const CONFIG = readFileSync(fileURLToPath(new URL("../../deploy/gateway/haproxy.cfg", import.meta.url)), "utf8");
const HASH = "ab".repeat(32);

let nodes: StandInNodes;
let gateway: GatewayProcess;
let client: GatewayClient;

beforeAll(async () => {
  if (!isGatewayThere) return;
  nodes = await StandInNodes.start();
  gateway = await GatewayProcess.start({ nodes: nodes.addresses });
  client = new GatewayClient(gateway);
});
afterAll(async () => {
  if (!isGatewayThere) return;
  client.close();
  await gateway.stop();
  await nodes.stop();
});
beforeEach(async () => {
  if (!isGatewayThere) return;
  nodes.reset();
  await until("the gateway takes all nodes for ready", async () => (await gateway.readyNodes()) === 3);
});

const targets = (): string[] => nodes.reached.map(({ target }) => target);

/** An example of a route's path. */
function exampleOf(path: string): string {
  const values: Record<string, string> = {
    anchor_id: HASH,
    origin_fingerprint: HASH,
    level: "0",
    index: "x001/x234/067.p/112",
    asset: "swagger-ui.css",
  };
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? `no-example-of-${name}`);
}

describeWithGateway(`what is public passes${GATEWAY_NOTE}`, () => {
  test.each(ROUTES.map(({ method, path }) => [method, exampleOf(path)] as const))(
    "%s %s reaches a node as it came",
    async (method, path) => {
      const answer = await client.ask({
        method,
        path: `${path}?a=%2e%2e&b=//`,
        ...(method === "POST" ? { body: "{}" } : {}),
      });
      expect(answer.status).toBe(200);
      expect(nodes.reached).toEqual([expect.objectContaining({ method, target: `${path}?a=%2e%2e&b=//` })]);
    },
  );

  test("an encoded colon is the same path, and goes on as a colon", async () => {
    for (const path of ["/v1/event-anchors%3Averify", "/v1/event-anchors%3averify"]) {
      expect((await client.ask({ method: "POST", path: `${path}?a=%3A`, body: "{}" })).status).toBe(200);
      expect(nodes.reached.at(-1)?.target).toBe("/v1/event-anchors:verify?a=%3A");
    }
    for (const path of ["/v1/event-anchors%253Averify", "/v1/event-anchors%2Fverify", "/metrics%3A", "/%3Ametrics"]) {
      expect((await client.ask({ path })).status).toBe(404);
    }
  });

  test("over HTTP/2 too, and HEAD like GET", async () => {
    const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { ca: gateway.ca });
    const status = await new Promise((resolve, reject) => {
      session.once("error", reject);
      session.request({ ":path": "/healthz" }).once("response", (headers) => resolve(headers[":status"]));
    });
    session.close();
    expect(status).toBe(200);
    expect((await client.ask({ method: "HEAD", path: "/readyz" })).status).toBe(200);
  });

  test("a body of the largest batch passes, and the answer has the caller's request id", async () => {
    const body = Buffer.alloc(LIMITS.batchBodyBytesMax, " ");
    const answer = await client.ask({
      method: "POST",
      path: "/v1/event-anchors/batch",
      body,
      headers: { "x-request-id": "mine-1" },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-request-id"]).toBe("mine-1");
    expect(nodes.reached[0]).toMatchObject({ bodyBytes: body.length, headers: { "x-request-id": "mine-1" } });
  });

  test("health says whether a node is ready, on a listener of its own", async () => {
    const up = async (): Promise<number> => (await fetch(`http://127.0.0.1:${gateway.healthPort}/up`)).status;
    expect(await up()).toBe(200);
    for (const at of [0, 1, 2]) nodes.setReady(at, false);
    await until("nobody is ready", async () => (await up()) === 503);
    const answer = await client.ask({ path: "/healthz" });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ status: 503, code: "unavailable" });
    expect(answer.headers["retry-after"]).toBe("1");
    expect(targets()).toEqual([]);
  });
});

describeWithGateway(`what is not public does not pass${GATEWAY_NOTE}`, () => {
  test.each(HIDDEN)("GET %s", async (target) => {
    const answer = await sendBytes(gateway, Buffer.from(getBytes(target), "latin1"));
    expect([400, 404]).toContain(statusOf(answer));
    expect(targets()).toEqual([]);
  });

  test("and is answered as a node would answer it", async () => {
    const { status, headers, text } = await client.ask({ path: "/metrics", headers: { "x-request-id": "mine-2" } });
    expect([status, headers["content-type"]]).toEqual([404, "application/problem+json"]);
    expect(JSON.parse(text)).toMatchObject({ status: 404, code: "route_not_found", request_id: "mine-2" });
    expect(headers["strict-transport-security"]).toBeDefined();
    expect(headers["server"]).toBeUndefined();
  });

  test.each(["//metrics", "/metrics", "/v1/../metrics", "/%6detrics", "/healthz/..;/metrics", "metrics", "/METRICS"])(
    "over HTTP/2: %s",
    async (path) => {
      const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { ca: gateway.ca });
      const outcome = await new Promise((resolve) => {
        const stream = session.request({ ":path": path });
        stream.once("response", (headers) => resolve(headers[":status"]));
        stream.once("error", () => resolve("refused"));
      });
      session.destroy();
      expect([400, 404, "refused"]).toContain(outcome);
      expect(targets()).toEqual([]);
    },
  );

  test.each(OTHER_HOSTS)("%s", async (_what, target, headers) => {
    const answer = await sendBytes(gateway, getBytes(target, headers));
    expect([400, 404, 421]).toContain(statusOf(answer));
    expect(targets()).toEqual([]);
  });

  test.each(["TRACE", "CONNECT", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "PROPFIND", "X", "PRI"])(
    "method %s",
    async (method) => {
      const answer = await sendBytes(gateway, getBytes("/healthz", ["Host: localhost"], method));
      expect([400, 404, 405]).toContain(statusOf(answer));
      expect(targets()).toEqual([]);
    },
  );

  test.each(FRAMINGS)("hidden behind a body with %s", async (_what, head, body) => {
    const lines = ["POST /v1/event-anchors:verify HTTP/1.1", "Host: localhost", ...head, "", body];
    const answer = await sendBytes(gateway, `${lines.join("\r\n")}${getBytes("/metrics")}`);
    expect(targets().filter((target) => target.includes("metrics"))).toEqual([]);
    expect(answerCount(answer)).toBeLessThanOrEqual(3);
    expect(answer).not.toContain("HTTP/1.1 200 OK\r\ncontent-type: text/plain");
  });
});

describeWithGateway(`what a client claims${GATEWAY_NOTE}`, () => {
  test("an upgrade is not passed on, nor what a client says of its way here", async () => {
    const headers = [
      "Host: localhost",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
      "X-Forwarded-For: 10.0.0.1",
      "X-Forwarded-Host: n1.metrics.internal",
      "X-Forwarded-Proto: http",
      "Forwarded: for=10.0.0.1",
      "X-Real-IP: 10.0.0.1",
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "tracestate: vendor=1",
      "X-Request-Id: has spaces in it",
    ];
    expect(statusOf(await sendBytes(gateway, getBytes("/healthz", headers)))).toBe(200);
    const [reached] = nodes.reached;
    expect(reached?.headers["upgrade"]).toBeUndefined();
    expect(reached?.headers["forwarded"]).toBeUndefined();
    expect(reached?.headers["x-real-ip"]).toBeUndefined();
    expect(reached?.headers["traceparent"]).toBeUndefined();
    expect(reached?.headers["tracestate"]).toBeUndefined();
    expect(reached?.headers["x-forwarded-host"]).toBeUndefined();
    expect(reached?.headers["x-forwarded-for"]).toBe("127.0.0.1");
    expect(reached?.headers["x-forwarded-proto"]).toBe("https");
    expect(reached?.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describeWithGateway(`limits${GATEWAY_NOTE}`, () => {
  test("a body above that of any route is not read", async () => {
    const length = LIMITS.batchBodyBytesMax + 1;
    const head = ["POST /v1/event-anchors/batch HTTP/1.1", "Host: localhost", `Content-Length: ${length}`, "", ""];
    const answer = await sendBytes(gateway, head.join("\r\n"));
    expect(statusOf(answer)).toBe(413);
    expect(answer).toContain("body_too_large");
    expect(targets()).toEqual([]);
  });

  test.each([
    ["one long header", [`X-Long: ${"a".repeat(20_000)}`]],
    ["many headers", Array.from({ length: 150 }, (_, at) => `X-${at}: a`)],
    ["a long target", []],
  ])("%s is refused", async (what, headers) => {
    const target = what === "a long target" ? `/healthz?${"a".repeat(20_000)}` : "/healthz";
    expect(statusOf(await sendBytes(gateway, getBytes(target, ["Host: localhost", ...headers])))).toBe(400);
    expect(targets()).toEqual([]);
  });

  test("an unfinished request head is cut off, and reaches no node", async () => {
    const hurried = await GatewayProcess.start({
      nodes: nodes.addresses,
      environment: { GATEWAY_REQUEST_TIMEOUT: "700ms" },
    });
    try {
      const answer = await sendBytes(hurried, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
      expect(statusOf(answer)).toBe(408);
      expect(targets()).toEqual([]);
      expect(CONFIG).toContain("presetenv GATEWAY_REQUEST_TIMEOUT 10s");
    } finally {
      await hurried.stop();
    }
  });

  test("too many requests of one address are 429 with Retry-After, and go to no node", async () => {
    const strict = await GatewayProcess.start({
      nodes: nodes.addresses,
      environment: { GATEWAY_REQUESTS_PER_10S: "20" },
    });
    const own = new GatewayClient(strict);
    try {
      await until("ready", async () => (await strict.readyNodes()) === 3);
      const answers = [];
      for (let count = 0; count < 40; count++) answers.push(await own.ask({ path: "/healthz" }));
      const refused = answers.filter(({ status }) => status === 429);
      expect(answers.filter(({ status }) => status === 200).length).toBe(targets().length);
      expect(targets().length).toBeLessThanOrEqual(21);
      expect(refused.length).toBeGreaterThanOrEqual(19);
      expect(refused[0]?.headers["retry-after"]).toBe("10");
      expect(JSON.parse(refused[0]?.text ?? "")).toMatchObject({ code: "rate_limited", status: 429 });
    } finally {
      own.close();
      await strict.stop();
    }
  });

  test("TLS below 1.2, and plain HTTP, are refused", async () => {
    const plain = await fetch(`http://127.0.0.1:${gateway.port}/healthz`).then(
      ({ status }) => status,
      () => "refused",
    );
    expect([400, "refused"]).toContain(plain);
    expect(targets()).toEqual([]);
    expect(CONFIG).toContain("ssl-min-ver TLSv1.2");
  });
});

const read = { path: `/v1/event-anchors/${HASH}` };
const write = { method: "POST", path: "/v1/event-anchors", body: "{}" };

/** Statuses of what was asked until the failing node has had its turn, which is the last; 0: no answer. */
async function untilItWasAsked(request: GatewayRequest): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < 30) {
    statuses.push(
      await client.ask(request).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    if (nodes.reached.some(({ node }) => node === 0)) return statuses;
  }
  throw new Error("node 0 was never asked");
}

describeWithGateway(`a node that fails${GATEWAY_NOTE}`, () => {
  test.each(["break_off", "garbage", "unavailable"] as const)(
    "reads go to another when it does: %s",
    async (conduct) => {
      nodes.set(0, conduct);
      const statuses = await untilItWasAsked(read);
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(nodes.reached.at(-1)?.node).not.toBe(0);
    },
  );

  test("a read that one finds too much is not asked of the others, and is 503 outside", async () => {
    for (const at of [0, 1, 2]) nodes.set(at, "overloaded");
    const answer = await client.ask(read);
    expect([answer.status, answer.text]).toEqual([503, '{"code":"overloaded"}']);
    expect(answer.headers["retry-after"]).toBe("1");
    expect(nodes.reached).toHaveLength(1);
    // It is the gateway that asks for it, whatever a client says.
    await client.ask({ ...read, headers: { "x-overloaded-as": "200" } });
    expect(nodes.reached.at(-1)?.headers["x-overloaded-as"]).toBe("529");
  });

  test.each(["break_off", "garbage"] as const)("a write that it had is not sent to another: %s", async (conduct) => {
    nodes.set(0, conduct);
    const statuses = await untilItWasAsked({ ...write, isFirst: true });
    expect(statuses.at(-1)).toBe(503);
    expect(new Set(statuses.slice(0, -1)).has(503)).toBe(false);
    expect(nodes.reached).toHaveLength(statuses.length);
  });

  test("the writer is told that the outcome is unknown; on a kept connection by its end", async () => {
    for (const at of [0, 1, 2]) nodes.set(at, "break_off");
    const answer = await client.ask({ ...write, isFirst: true, headers: { "x-request-id": "seen" } });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ status: 503, code: "outcome_unknown", request_id: "seen" });
    expect(answer.headers["retry-after"]).toBe("1");
    expect((await client.ask({ path: "/metrics" })).status).toBe(404);
    expect(await untilItWasAsked(write)).toEqual(expect.arrayContaining([0]));
    expect(nodes.reached.filter(({ method }) => method === "POST").length).toBeGreaterThan(1);
  });

  test("a write that it refuses is answered with its own words", async () => {
    for (const at of [0, 1, 2]) nodes.set(at, "unavailable");
    const answer = await client.ask(write);
    expect([answer.status, answer.text]).toEqual([503, '{"code":"unavailable"}']);
    expect(nodes.reached).toHaveLength(1);
  });
});

describeWithGateway(`a node that is gone${GATEWAY_NOTE}`, () => {
  test("no request fails while nothing listens there, writes included: no connection was made", async () => {
    await nodes.kill(0);
    const answers = [];
    for (let count = 0; count < 20; count++) {
      answers.push((await client.ask(read)).status, (await client.ask(write)).status);
    }
    expect(new Set(answers)).toEqual(new Set([200]));
    await until("it is known to be down", async () => (await gateway.readyNodes()) === 2);
    await nodes.revive(0);
  });

  test("that says it is not ready is left in peace within two checks, and is asked again when it is", async () => {
    nodes.setReady(1, false);
    const startedMs = performance.now();
    await until("it is left out", async () => (await gateway.readyNodes()) === 2);
    expect(performance.now() - startedMs).toBeLessThan(5000);
    nodes.reached.length = 0;
    for (let count = 0; count < 12; count++) await client.ask(read);
    expect(nodes.reached.map(({ node }) => node)).not.toContain(1);
    nodes.setReady(1, true);
    await until("it is back", async () => {
      await client.ask(read);
      return nodes.reached.some(({ node }) => node === 1);
    });
  });

  test("the log has one line for each answer, with the request id, and no query", async () => {
    await client.ask({
      path: "/v1/event-anchors?client_event_id=secret-name",
      headers: { "x-request-id": "logged-1" },
    });
    await until("the line is written", () => gateway.log.includes("logged-1"));
    const line = gateway.log.split("\n").find((text) => text.includes("logged-1")) ?? "";
    expect(JSON.parse(line)).toMatchObject({ request_id: "logged-1", path: "/v1/event-anchors", status: 200 });
    expect(gateway.log).not.toContain("secret-name");
  });
});
