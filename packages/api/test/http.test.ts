import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LIMITS, ROUTES, limitsSchema, problemSchema, trustRootSchema } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { StoreError } from "@event-anchoring/store";
import { sendTo, startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);
const NO_KEY = {};

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const goodBody = (): object => ({ origin_fingerprint: harness.origin, event_hash: hex(1) });

describe("routing", () => {
  test.each([
    ["POST", "/v1/event-anchorsXYZ", 404, "route_not_found"],
    ["POST", "/v1/event-anchors:verifyXYZ", 404, "route_not_found"],
    ["POST", "/v1/event-anchors:unknown", 404, "route_not_found"],
    ["POST", "/v1/event-anchors%253Averify", 404, "route_not_found"],
    ["POST", "/v1/event-anchors%3AverifyXYZ", 404, "route_not_found"],
    ["POST", "/V1/event-anchors", 404, "route_not_found"],
    ["POST", "/v1/event-anchors/", 404, "route_not_found"],
    ["POST", "/v1/event-anchors:verify/", 404, "route_not_found"],
    ["POST", "/v1//event-anchors", 404, "route_not_found"],
    ["GET", "/metrics", 404, "route_not_found"],
    ["GET", "/METRICS", 404, "route_not_found"],
    ["GET", "/%6detrics", 404, "route_not_found"],
    ["GET", "/healthz/../metrics", 404, "route_not_found"],
    ["GET", "/healthz%2f..%2fmetrics", 404, "route_not_found"],
    ["GET", "/verify/", 404, "route_not_found"],
    ["GET", "/page.html", 404, "route_not_found"],
    ["POST", "/v1/claim-anchorsXYZ", 404, "route_not_found"],
    ["POST", "/v1/grant-anchors:batchVerify", 404, "route_not_found"],
    ["POST", "/v1/claim-anchors/a%2frevoke", 404, "route_not_found"],
    ["GET", "/docs/", 404, "route_not_found"],
    ["GET", "/openapi.json/", 404, "route_not_found"],
    ["PATCH", "/v1/event-anchors", 405, "method_not_allowed"],
    ["GET", "/v1/claim-anchors:verify", 405, "method_not_allowed"],
    ["POST", "/docs", 405, "method_not_allowed"],
    ["POST", "/", 405, "method_not_allowed"],
    ["GET", "/v1/event-anchors/batch", 405, "method_not_allowed"],
    ["GET", "/v1/event-anchors:verify", 405, "method_not_allowed"],
    ["GET", "/v1/event-anchors%3Averify", 405, "method_not_allowed"],
    ["GET", "/v1/claim-anchors%3averify", 405, "method_not_allowed"],
    ["DELETE", "/v1/event-anchors", 405, "method_not_allowed"],
    ["OPTIONS", "/v1/event-anchors", 405, "method_not_allowed"],
    ["TRACE", "/v1/event-anchors", 405, "method_not_allowed"],
    ["POST", "/v1/event-anchors/latest", 405, "method_not_allowed"],
    ["POST", "/healthz", 405, "method_not_allowed"],
  ])("%s %s is %i %s, before any key is asked for", async (method, path, status, code) => {
    const { status: found, json, headers } = await harness.send(method, path, undefined, NO_KEY);
    expect([found, json.code]).toEqual([status, code]);
    expect(headers["content-type"]).toBe("application/problem+json");
    const isMethodRefused = status === 405;
    expect(/^(POST|GET, HEAD|POST, GET, HEAD)$/.test(headers.allow ?? "")).toBe(isMethodRefused);
  });

  test("an encoded colon is the same route", async () => {
    for (const path of [
      "/v1/event-anchors%3Averify",
      "/v1/event-anchors%3abatchVerify",
      "/v1/grant-anchors%3Averify",
    ]) {
      const { status, json } = await harness.send("POST", path, { anchor_id: hex(9), anchors: [] });
      expect([path, [400, 404].includes(status), json.code]).not.toEqual([path, true, "route_not_found"]);
      expect([path, status]).not.toEqual([path, 405]);
    }
    const found = await harness.send("POST", "/v1/event-anchors%3Averify", { anchor_id: hex(9) });
    expect([found.status, found.json.code]).toEqual([404, "anchor_not_found"]);
    // A colon of the query is the query's own affair.
    const asked = await harness.send("GET", "/v1/event-anchors?client_event_id=a%3Ab");
    expect(asked.status).toBe(200);
  });

  test("every route of the contract is served", async () => {
    for (const { method, path } of ROUTES) {
      const { json } = await harness.send(method, path.replace("{anchor_id}", hex(9)), undefined, NO_KEY);
      expect([path, json?.code]).not.toEqual([path, "route_not_found"]);
      expect([path, json?.code]).not.toEqual([path, "method_not_allowed"]);
    }
  });

  test("HEAD answers as GET without a body", async () => {
    const { status, text, headers } = await harness.send("HEAD", "/healthz", undefined, NO_KEY);
    expect([status, text]).toEqual([200, ""]);
    expect(Number(headers["content-length"])).toBeGreaterThan(100);
  });
});

describe("every answer", () => {
  test("has a request id, security headers and no sign of what it is made with", async () => {
    for (const [path, headers] of [
      ["/healthz", NO_KEY],
      ["/nowhere", NO_KEY],
      ["/v1/event-anchors/latest", NO_KEY],
    ] as const) {
      const answer = await harness.send("GET", path, undefined, headers);
      expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/);
      expect(answer.headers["cache-control"]).toBe("no-store");
      expect(answer.headers["x-content-type-options"]).toBe("nosniff");
      expect(answer.headers).not.toHaveProperty("x-powered-by");
      expect(answer.headers).not.toHaveProperty("etag");
    }
  });

  test("takes over an acceptable request id and no other", async () => {
    const given = await harness.send("GET", "/healthz", undefined, { "x-request-id": "trace-42.a_b" });
    expect(given.headers["x-request-id"]).toBe("trace-42.a_b");
    for (const bad of ["a b", "x".repeat(65), "<script>", ""]) {
      const { headers } = await harness.send("GET", "/healthz", undefined, { "x-request-id": bad });
      expect(headers["x-request-id"]).not.toBe(bad);
    }
  });

  test("a fault of ours is 500 without a word of it, and is in the log with its request id", async () => {
    const broken = await startHarness({
      controlPlane: (node) => ({
        submit: () => Promise.reject(new Error("secret detail at /srv/somewhere.ts:12")),
        read: () => node.read("none"),
        readLatest: () => node.read("none"),
        awaitHead: () => node.read("none"),
        awaitWitnessed: () => node.read("none"),
        apiKeys: () => node.apiKeys(),
        status: () => node.status(),
        metrics: () => node.metrics(),
      }),
    });
    const body = { origin_fingerprint: broken.origin, event_hash: hex(1) };
    const { status, json, text } = await broken.send("POST", "/v1/event-anchors", body);
    await broken.close();
    expect([status, json.code]).toEqual([500, "internal_error"]);
    expect(text).not.toContain("secret");
    expect(text).not.toContain("/srv");
    const line = broken.logged.find(({ level }) => level === "error");
    expect(line?.fields).toMatchObject({ request_id: json.request_id });
  });
});

describe("who calls", () => {
  const write = (headers: Record<string, string>) => harness.send("POST", "/v1/event-anchors", goodBody(), headers);

  test("both headers carry the key; the same key twice is one key", async () => {
    const { key } = harness;
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { authorization: `bearer  ${key}` },
      { "x-api-key": key },
      { "x-api-key": key, authorization: `Bearer ${key}` },
    ]) {
      expect((await write(headers)).status).toBe(201);
    }
  });

  test("whatever is wrong with a key, the answer is the same", async () => {
    const { key, clock } = harness;
    const expired = harness.keyWith("expired", ["read", "write"], { expiresMs: clock.wallMs() - 1 });
    const flipped = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    const stranger = "ank_" + "0".repeat(49);
    const bodies = new Set<string>();
    for (const headers of [
      NO_KEY,
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: `Basic ${key}` },
      { authorization: key },
      { authorization: `Bearer ${key} ${key}` },
      { authorization: `Bearer ${key},${key}` },
      { "x-api-key": "" },
      { "x-api-key": key.toLowerCase() },
      { "x-api-key": ` ${key.slice(4)}` },
      { "x-api-key": flipped },
      { "x-api-key": stranger },
      { "x-api-key": expired },
      { "x-api-key": "x".repeat(5000) },
      { "x-api-key": stranger, authorization: `Bearer ${key}` },
    ]) {
      const { status, json, headers: answered } = await write(headers);
      expect(status).toBe(401);
      expect(answered["www-authenticate"]).toMatch(/^Bearer/);
      bodies.add(JSON.stringify({ ...json, request_id: "" }));
    }
    expect(bodies.size).toBe(1);
  });

  test("a key without the scope is 403, before its body is looked at", async () => {
    const reader = harness.keyWith("reader", ["read"]);
    const headers = { "x-api-key": reader };
    const { status, json } = await harness.send("POST", "/v1/event-anchors", "no json", headers);
    expect([status, json.code]).toEqual([403, "scope_missing"]);
    expect((await harness.send("GET", "/v1/event-anchors/latest?x=1", undefined, headers)).status).toBe(400);
  });

  test("a new key is good at once, although the table is cached", async () => {
    const fresh = harness.keyWith("fresh", ["write"]);
    expect((await write({ "x-api-key": fresh })).status).toBe(201);
  });

  test("without a key table nobody is let in, and nobody is told to go away", async () => {
    const own = await startHarness();
    own.node.storeFailure = new StoreError("unavailable", "connection refused at 10.0.0.1");
    const { status, json, text } = await own.send("GET", "/v1/event-anchors/latest");
    await own.close();
    expect([status, json.code]).toEqual([503, "unavailable"]);
    expect(text).not.toContain("10.0.0.1");
  });

  test("a table of keys that comes late is waited for as long as the request may take", async () => {
    const own = await startHarness();
    let failures = 0;
    own.node.onKeysRead = () => {
      failures += 1;
      own.node.keysFailure = failures < 3 ? new RefusedError("deadline_exceeded", "no read index in time") : null;
    };
    const answer = await own.send("GET", "/v1/event-anchors/latest");
    await own.close();
    expect([answer.status, failures]).toEqual([404, 3]);
  });

  test("a configured rate is kept per key, with a hint when to come back", async () => {
    const limited = await startHarness({ perSecond: 2 });
    const path = "/v1/event-anchors/latest";
    const statuses: number[] = [];
    for (let index = 0; index < 3; index++) statuses.push((await limited.send("GET", path)).status);
    const refused = await limited.send("GET", path);
    limited.clock.offsetMs += 600;
    const later = await limited.send("GET", path);
    const other = limited.keyWith("other", ["read"]);
    limited.clock.offsetMs += 100;
    const byOther = await limited.send("GET", path, undefined, { "x-api-key": other });
    await limited.close();
    expect(statuses).toEqual([404, 404, 429]);
    expect(refused.headers["retry-after"]).toBe("1");
    expect([refused.json.code, later.status, byOther.status]).toEqual(["rate_limited", 404, 404]);
  });
});

describe("parameters that nobody asked for", () => {
  test.each([
    ["POST", "/v1/event-anchors?dry_run=1"],
    ["POST", "/v1/claim-anchors?force"],
    ["POST", "/v1/event-anchors:verify?as_of=1"],
    ["GET", "/healthz?verbose=1"],
    ["GET", "/v1/limits?"],
    ["GET", "/v1/trust-root?version=1"],
    ["GET", "/docs?x=1"],
  ])("%s %s", async (method, path) => {
    const { status, json } = await harness.send(method, path, method === "POST" ? goodBody() : undefined);
    const isBare = path.endsWith("?");
    expect([status, json.code]).toEqual(isBare ? [200, undefined] : [400, "invalid_request"]);
  });
});

describe("bodies", () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    harness.send("POST", "/v1/event-anchors", body, { authorization: `Bearer ${harness.key}`, ...headers });

  test.each([
    ["", 415],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/json; charset=latin1", 415],
    ["application/jsonp", 415],
    ["application/json", 201],
    ["Application/JSON; charset=UTF-8", 201],
  ])("content type %j is %i", async (type, status) => {
    expect((await post(JSON.stringify(goodBody()), { "content-type": type })).status).toBe(status);
  });

  test("a content encoding is refused: nothing is inflated", async () => {
    const { status, json } = await post(JSON.stringify(goodBody()), { "content-encoding": "gzip" });
    expect([status, json.code]).toEqual([415, "media_type_unsupported"]);
  });

  test("a body of exactly the limit is read; one byte more is 413 and closes the connection", async () => {
    const text = JSON.stringify(goodBody());
    const padded = text + " ".repeat(LIMITS.bodyBytesMax - text.length);
    expect((await post(padded)).status).toBe(201);
    const { status, json, headers } = await post(`${padded} `);
    expect([status, json.code, headers.connection]).toEqual([413, "body_too_large", "close"]);
  });

  test("a chunked body that grows beyond the limit is 413", async () => {
    const chunk = `ffff\r\n${" ".repeat(0xffff)}\r\n`;
    const answer = await harness.raw(
      `POST /v1/event-anchors HTTP/1.1\r\nHost: x\r\nX-API-Key: ${harness.key}\r\nContent-Type: application/json\r\n` +
        `Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    ["nothing", ""],
    ["not JSON", "{"],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["a byte-order mark", "\ufeff{}"],
    ["a repeated key", '{"event_hash":"a","event_hash":"b"}'],
    ["__proto__", '{"__proto__":{}}'],
    ["too deep", `${"[".repeat(17)}${"]".repeat(17)}`],
    ["200,000 levels in a batch", "[".repeat(60_000)],
    ["a lone surrogate", '{"client_event_id":"\\ud800"}'],
    ["an unsafe integer", '{"as_of":9007199254740992}'],
    ["a fraction", '{"as_of":1.0}'],
  ])("%s is json_invalid, with a pointer", async (_what, body) => {
    const before = harness.node.submitted.length;
    const { status, json } = await post(body);
    expect([status, json.code]).toEqual([400, "json_invalid"]);
    expect(json.errors[0]).toHaveProperty("pointer");
    expect(harness.node.submitted).toHaveLength(before);
  });

  test("100-continue is said to those who may send, and not to those who may not", async () => {
    const text = JSON.stringify(goodBody());
    const head = (key: string): string =>
      `POST /v1/event-anchors HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${text.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
    expect(await harness.raw(head(harness.key) + text)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
    expect(await harness.raw(head("nobody") + text)).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("bytes that are no request", () => {
  test.each([
    ["no HTTP", "hello\r\n\r\n", 400],
    ["a binary start of TLS", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400],
    [
      "CL and TE together",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
      400,
    ],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400],
    ["space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400],
    ["a bare CR", "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", 400],
    ["an obsolete line fold", "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400],
    ["headers beyond the limit", `GET / HTTP/1.1\r\nX: ${"a".repeat(9000)}\r\n\r\n`, 431],
  ])("%s: a problem document, and the connection is closed", async (_what, bytes, status) => {
    const answer = await harness.raw(bytes);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/content-type: application\/problem\+json/i);
    expect(head).toMatch(/x-request-id: /i);
    expect(head).toMatch(/connection: close/i);
    expect(problemSchema.parse(JSON.parse(body)).status).toBe(status);
  });

  test("a body whose framing breaks is answered on its request, and the connection is closed", async () => {
    const answer = await harness.raw(
      `POST /v1/event-anchors HTTP/1.1\r\nHost: x\r\nX-API-Key: ${harness.key}\r\nContent-Type: application/json\r\n` +
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"http_invalid"');
  });

  test("a broken second request never adds to the first one's answer", async () => {
    const answer = await harness.raw("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nbroken\r\n\r\n");
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
  });

  test("a header called __proto__ harms nobody", async () => {
    const answer = await harness.raw("GET /healthz HTTP/1.1\r\nHost: x\r\n__proto__: y\r\nConnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("a target beyond its limit is refused, and the absolute form is a path like any other", async () => {
    const long = await harness.send("GET", `/healthz?${"a".repeat(LIMITS.targetBytesMax)}`, undefined, NO_KEY);
    expect([long.status, long.json.code]).toEqual([400, "invalid_request"]);
    const absolute = await harness.raw("GET http://elsewhere/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(absolute).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("64 lines of headers are read, and none of more is dropped unseen: 431", async () => {
    const headers = (count: number): string =>
      Array.from({ length: count - 2 }, (_, at) => `X-${at}: y\r\n`).join("") + "Host: x\r\nConnection: close\r\n";
    const get = (count: number): Promise<string> => harness.raw(`GET /healthz HTTP/1.1\r\n${headers(count)}\r\n`);
    expect(await get(LIMITS.headersMax)).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await get(LIMITS.headersMax + 1);
    expect(refused).toMatch(/^HTTP\/1\.1 431 /);
    expect(refused).toContain('"code":"headers_too_large"');
    // An X-Request-Id that comes last is found.
    const last = `GET /healthz HTTP/1.1\r\n${headers(LIMITS.headersMax)}X-Request-Id: last-1\r\n\r\n`;
    expect(await harness.raw(last)).toContain("X-Request-Id: last-1");
  });

  test.each(["http://[::1/healthz", "http://x:y/healthz", "http://a@b/healthz", "ftp://x/healthz", "http://"])(
    "%s is a problem document with a request id, and it is counted and logged",
    async (target) => {
      const own = await startHarness({ accessLog: "problems" });
      const answer = await own.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: odd-1\r\n\r\n`);
      const counted = (await own.metrics()).text;
      await own.close();
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain("X-Request-Id: odd-1");
      expect(counted).toMatch(/^anchoring_api_problems_total\{route="none",code="http_invalid"\} 1$/m);
      const line = own.logged.find(({ level }) => level === "info");
      expect(line?.fields).toMatchObject({ request_id: "odd-1", code: "http_invalid", route: "none", status: 400 });
    },
  );

  test("CONNECT is no route", async () => {
    expect(await harness.raw("CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe("public documents", () => {
  test("limits and the trust root need no key", async () => {
    const limits = await harness.send("GET", "/v1/limits", undefined, NO_KEY);
    expect(limitsSchema.parse(limits.json)).toMatchObject({ batch_items_max: 1000, key_requests_per_second: null });
    const trustRoot = trustRootSchema.parse((await harness.send("GET", "/v1/trust-root", undefined, NO_KEY)).json);
    expect(trustRoot.document).toBe(harness.node.cluster.trustRoot.note);
    expect(trustRoot.chain).toHaveLength(1);
  });

  test("the trust root comes with all its versions, oldest first; the newest is the answer", async () => {
    const own = await startHarness();
    const [, second] = own.node.cluster.origins;
    if (second === undefined) throw new Error("no second origin");
    const before = trustRootSchema.parse((await own.send("GET", "/v1/trust-root", undefined, NO_KEY)).json);
    own.node.setOriginStatus(second, "closed");
    own.node.setOriginStatus(second, "lost");
    const after = trustRootSchema.parse((await own.send("GET", "/v1/trust-root", undefined, NO_KEY)).json);
    await own.close();
    const notes = own.node.cluster.trustRoots.map(({ note }) => note);
    expect([before.version, after.version]).toEqual([1, 3]);
    expect(after.document).toBe(notes[2]);
    expect(after.chain.map(({ document }) => document)).toEqual(notes);
  });
});

describe("metrics", () => {
  const scrape = (path = "/metrics", method = "GET") => sendTo(harness.metricsPort, method, path, undefined, {});

  test("its own listener joins what this process and its control plane count", async () => {
    await harness.send("GET", "/healthz", undefined, NO_KEY);
    const { status, text, headers } = await scrape();
    expect(status).toBe(200);
    expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^anchoring_control_plane_up 1$/m);
    expect(text).toMatch(/^anchoring_database_bytes 8000000$/m);
    expect(text).toMatch(/^anchoring_database_sessions 7$/m);
    expect(text).toMatch(/^anchoring_database_sessions_max 24$/m);
    expect(text).toMatch(/^anchoring_prime_root_thk_sync_error 0$/m);
    expect(text).toMatch(/^anchoring_api_request_seconds_count\{route="getHealth",status="200"\} \d+$/m);
    const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(families).size).toBe(families.length);
  });

  test("without the control plane it answers all the same, and the alert fires", async () => {
    harness.node.refusal = new RefusedError("unavailable", "gone");
    const { status, text } = await scrape();
    harness.node.refusal = null;
    expect(status).toBe(200);
    expect(text).toMatch(/^anchoring_control_plane_up 0$/m);
    expect(text).toMatch(/^anchoring_prime_root_thk_sync_error 1$/m);
    expect(text).toMatch(/^anchoring_prime_root_thk_last_sync_success_timestamp_seconds 0$/m);
  });

  test.each([
    ["GET", "/"],
    ["GET", "/metrics/"],
    ["POST", "/metrics"],
    ["GET", "/healthz"],
    ["GET", "/v1/limits"],
  ])("%s %s is not there", async (method, path) => {
    const { status, json } = await scrape(path, method);
    expect([status, json.code]).toEqual([404, "route_not_found"]);
  });
});
