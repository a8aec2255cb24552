import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { served } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";

/** The write timeout of the API and its grace (GET /v1/limits), and what a busy machine may add to it. */
const WRITE_TIMEOUT_MS = 5250;
const SLACK_MS = 5000;
const EVENT_HASH = "ab".repeat(32);

let setup: TestCluster;

beforeAll(async () => {
  setup = await sharedCluster();
}, 240_000);

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tookMs: number;
}

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(apiUrl: string, { method = "POST", path, body, headers = {} }: Ask): Promise<Reply> {
  const startedAt = performance.now();
  const response = await fetch(apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${setup.apiKey}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  const tookMs = performance.now() - startedAt;
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Reply["body"], tookMs };
}

function eventBody(fields: object = {}): string {
  const { origin_fingerprint: origin } = setup.entry("n1");
  return JSON.stringify({ origin_fingerprint: origin, event_hash: EVENT_HASH, ...fields });
}

async function ready(nodeId: string): Promise<Reply> {
  return ask(setup.entry(nodeId).api_url, { method: "GET", path: "/readyz" });
}

function failingChecks({ body }: Reply): readonly string[] {
  return (body as { checks: { check: string; result: string }[] }).checks.flatMap(({ check, result }) =>
    result === "fail" ? [check] : [],
  );
}

/** Size of every origin's newest certified tree: what a refused request must not change. */
async function treeSizes(): Promise<readonly number[]> {
  const sizes: number[] = [];
  for (const { origin_fingerprint: origin } of setup.cluster.file.nodes) {
    const path = `/v1/event-anchors/latest?origin_fingerprint=${origin}`;
    const { status, body } = await served(() => ask(setup.entry("n1").api_url, { method: "GET", path }));
    // Without any event there is the genesis leaf, and no latest anchor.
    sizes.push(status === 404 && body["code"] === "no_anchor_yet" ? 1 : Number(body["tree_size"]));
  }
  return sizes;
}

describe("bad input", () => {
  const depth20 = `${"[".repeat(20)}${"]".repeat(20)}`;
  const cases: readonly (readonly [title: string, request: () => Ask, status: number, code: string])[] = [
    ["no body", () => ({ path: "/v1/event-anchors" }), 400, "json_invalid"],
    ["malformed JSON", () => ({ path: "/v1/event-anchors", body: "{" }), 400, "json_invalid"],
    ["an array", () => ({ path: "/v1/event-anchors", body: "[]" }), 400, "invalid_request"],
    ["JSON nested 20 deep", () => ({ path: "/v1/event-anchors", body: depth20 }), 400, "json_invalid"],
    [
      "a repeated key",
      () => ({ path: "/v1/event-anchors", body: eventBody().replace("}", `,"event_hash":"${EVENT_HASH}"}`) }),
      400,
      "json_invalid",
    ],
    ["__proto__", () => ({ path: "/v1/event-anchors", body: `{"__proto__":{"a":1}}` }), 400, "json_invalid"],
    ["an unknown field", () => ({ path: "/v1/event-anchors", body: eventBody({ colour: 1 }) }), 400, "invalid_request"],
    ["odd hex", () => ({ path: "/v1/event-anchors", body: eventBody({ event_hash: "abc" }) }), 400, "invalid_request"],
    [
      "0x hex",
      () => ({ path: "/v1/event-anchors", body: eventBody({ event_hash: "0x" + "ab".repeat(31) }) }),
      400,
      "invalid_request",
    ],
    [
      "a hash that is a number",
      () => ({ path: "/v1/event-anchors", body: eventBody({ event_hash: 7 }) }),
      400,
      "invalid_request",
    ],
    [
      "no origin",
      () => ({ path: "/v1/event-anchors", body: eventBody({ origin_fingerprint: null }) }),
      400,
      "invalid_request",
    ],
    [
      "an unknown origin",
      () => ({ path: "/v1/event-anchors", body: eventBody({ origin_fingerprint: "00".repeat(31) + "01" }) }),
      409,
      "origin_unknown",
    ],
    [
      "an empty client_event_id",
      () => ({ path: "/v1/event-anchors", body: eventBody({ client_event_id: "" }) }),
      400,
      "client_event_id_invalid",
    ],
    [
      "a client_event_id outside of ASCII",
      () => ({ path: "/v1/event-anchors", body: eventBody({ client_event_id: "é" }) }),
      400,
      "client_event_id_invalid",
    ],
    [
      "a reference to nothing",
      () => ({ path: "/v1/event-anchors", body: eventBody({ semantic_anchor: { scroll_ref: "01".repeat(32) } }) }),
      422,
      "reference_not_found",
    ],
    [
      "a body of 65 KiB",
      () => ({ path: "/v1/event-anchors", body: `${" ".repeat(65 * 1024)}{}` }),
      413,
      "body_too_large",
    ],
    [
      "another media type",
      () => ({ path: "/v1/event-anchors", body: eventBody(), headers: { "content-type": "text/plain" } }),
      415,
      "media_type_unsupported",
    ],
    [
      "no key",
      () => ({ path: "/v1/event-anchors", body: eventBody(), headers: { authorization: "" } }),
      401,
      "api_key_invalid",
    ],
    [
      "a wrong key",
      () => ({ path: "/v1/event-anchors", body: eventBody(), headers: { authorization: "Bearer ank_nothing" } }),
      401,
      "api_key_invalid",
    ],
    ["another route", () => ({ path: "/v1/event-anchorsXYZ", body: eventBody() }), 404, "route_not_found"],
    ["another method", () => ({ method: "DELETE", path: "/v1/event-anchors" }), 405, "method_not_allowed"],
    [
      "an empty batch",
      () => ({ path: "/v1/event-anchors/batch", body: eventBody({ event_hash: undefined, events: [] }) }),
      400,
      "invalid_request",
    ],
    [
      "a batch with one bad item",
      () => ({
        path: "/v1/event-anchors/batch",
        body: eventBody({ event_hash: undefined, events: [{ event_hash: EVENT_HASH }, { event_hash: "zz" }] }),
      }),
      400,
      "invalid_request",
    ],
    [
      "the trace of nothing",
      () => ({ method: "GET", path: `/v1/event-anchors/${"02".repeat(32)}/trace` }),
      404,
      "anchor_not_found",
    ],
    [
      "a latest of no origin",
      () => ({ method: "GET", path: `/v1/event-anchors/latest?origin_fingerprint=${"03".repeat(32)}` }),
      409,
      "origin_unknown",
    ],
    ["the metrics", () => ({ method: "GET", path: "/metrics" }), 404, "route_not_found"],
  ];

  test("is refused with a problem document and a stable code, and nothing is written", async () => {
    const { api_url: apiUrl } = setup.entry("n1");
    const before = await treeSizes();
    const replies = [];
    for (const [title, request] of cases) {
      const { status, headers, body } = await ask(apiUrl, request());
      const { code } = body;
      replies.push({
        title,
        status,
        code,
        type: headers.get("content-type"),
        hasRequestId: headers.has("x-request-id"),
      });
    }
    expect(replies).toEqual(
      cases.map(([title, , status, code]) => {
        return { title, status, code, type: "application/problem+json", hasRequestId: true };
      }),
    );
    expect(await treeSizes()).toEqual(before);
  });

  test("a client_event_id used again: the same content is the same anchor, other content is refused", async () => {
    const { api_url: apiUrl } = setup.entry("n1");
    const again = { client_event_id: randomUUID() };
    const first = await ask(apiUrl, { path: "/v1/event-anchors", body: eventBody(again) });
    const before = await treeSizes();
    const replay = await ask(setup.entry("n2").api_url, { path: "/v1/event-anchors", body: eventBody(again) });
    const other = await ask(apiUrl, {
      path: "/v1/event-anchors",
      body: eventBody({ ...again, event_hash: "cd".repeat(32) }),
    });
    expect([first.status, replay.status, other.status]).toEqual([201, 200, 409]);
    expect([first.body["replayed"], replay.body["replayed"]]).toEqual([false, true]);
    expect(replay.body["anchor"]).toEqual(first.body["anchor"]);
    expect(other.body["code"]).toBe("client_event_id_conflict");
    expect(await treeSizes()).toEqual(before);
  });
});

describe("a node without its Postgres", () => {
  test("says so, refuses to promise anything, and comes back by itself", async () => {
    const leader = await setup.leader();
    const node = setup.cluster.file.nodes.find(({ id }) => id !== leader.id);
    if (node === undefined) throw new Error("three nodes were expected");
    await setup.cluster.node(node.id).stopPostgres();
    const unready = await until("the node is not ready", async () => {
      const reply = await ready(node.id);
      return reply.status === 503 ? reply : null;
    });
    expect(failingChecks(unready)).toContain("storage");
    const body = eventBody({ client_event_id: randomUUID() });
    const refused = await ask(node.api_url, { path: "/v1/event-anchors", body });
    expect(refused.status).toBe(503);
    expect(refused.headers.has("retry-after")).toBe(true);
    expect(refused.tookMs).toBeLessThan(WRITE_TIMEOUT_MS + SLACK_MS);
    const taken = await ask(leader.api_url, { path: "/v1/event-anchors", body });
    expect([200, 201]).toContain(taken.status);
    await setup.cluster.node(node.id).startPostgres();
    await setup.cluster.ready();
    const replay = await ask(node.api_url, { path: "/v1/event-anchors", body });
    expect(replay.status).toBe(200);
    expect(replay.body["anchor"]).toEqual(taken.body["anchor"]);
  }, 240_000);

  test("is back after its Postgres was killed, the leader's too", async () => {
    const leader = await setup.leader();
    const before = await ask(leader.api_url, { path: "/v1/event-anchors", body: eventBody() });
    const { postgres } = leader.pids;
    if (postgres === null) throw new Error("a running node has a Postgres");
    process.kill(postgres, "SIGKILL");
    await until("the supervisor has started another one", () => {
      const pid = setup.entry(leader.id).pids.postgres;
      return pid !== null && pid !== postgres;
    });
    await setup.cluster.ready();
    const { anchor_id: anchorId } = before.body["anchor"] as { anchor_id: string };
    for (const { api_url: apiUrl } of setup.cluster.file.nodes) {
      const body = JSON.stringify({ anchor_id: anchorId, event_hash: EVENT_HASH });
      const verified = await ask(apiUrl, { path: "/v1/event-anchors:verify", body });
      expect([verified.status, verified.body["valid"]]).toEqual([200, true]);
    }
  }, 240_000);
});

describe("a node without a quorum", () => {
  test("answers 503 in time, /readyz says why, and nothing is half done", async () => {
    const body = eventBody({ client_event_id: randomUUID() });
    const sizes = await treeSizes();
    await Promise.all(["n2", "n3"].map((id) => setup.cluster.node(id).stopProcesses()));
    const { api_url: apiUrl } = setup.entry("n1");
    // Other checks may fail before it: a node that hears no peer's clock, for one, does not trust its own.
    await until("the node lacks a leader, and says so", async () => {
      const reply = await ready("n1");
      return reply.status === 503 && failingChecks(reply).includes("leader");
    });
    const refused = await ask(apiUrl, { path: "/v1/event-anchors", body });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.tookMs).toBeLessThan(WRITE_TIMEOUT_MS + SLACK_MS);
    const read = await ask(apiUrl, { method: "GET", path: "/v1/event-anchors/latest" });
    expect([read.status, read.headers.has("retry-after")]).toEqual([503, true]);
    const health = await ask(apiUrl, { method: "GET", path: "/healthz" });
    expect([health.status, health.body["status"]]).toEqual([200, "degraded"]);

    for (const id of ["n2", "n3"]) setup.cluster.node(id).startProcesses();
    await setup.cluster.ready();
    const [first, second] = [
      await ask(apiUrl, { path: "/v1/event-anchors", body }),
      await ask(setup.entry("n2").api_url, { path: "/v1/event-anchors", body }),
    ];
    expect([200, 201]).toContain(first.status);
    expect([second.status, second.body["anchor"]]).toEqual([200, first.body["anchor"]]);
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
    expect(sum(await treeSizes())).toBe(sum(sizes) + 1);
  }, 240_000);
});
