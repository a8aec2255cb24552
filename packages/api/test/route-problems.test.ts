/** Every problem that every route can answer for the same reason, provoked on every route whose row names it. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PROBLEMS, ROUTES, problemSchema } from "@event-anchoring/api-contract";
import type { ProblemCode, Route, RouteId } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { claimBody, grantBody } from "@event-anchoring/testkit/records";
import { clientIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { anchorOf, claimAbout, claimed, grantOf, granted, hex } from "./records.ts";

const ALL = ["read", "write", "revoke", "admin"] as const;

let harness: Harness;
/** A request that would be served, were it not for what is wrong with it. */
interface GoodRequest {
  readonly path: string;
  readonly body?: object;
}
/** Secret of a key that may do everything. */
let everything: string;
let good: Readonly<Record<RouteId, GoodRequest>>;

beforeAll(async () => {
  harness = await startHarness();
  everything = harness.keyWith("everything", ALL, { apiClientId: clientIdOf("default") });
  const [boss, agent] = [await claimed(harness, "boss"), await claimed(harness, "agent")];
  const parties = { grantorClaim: boss.anchor_id, granteeClaim: agent.anchor_id, grantor: "boss" };
  const grant = await granted(harness, parties);
  const doomed = await claimed(harness, "doomed");
  const event = { origin_fingerprint: harness.origin, event_hash: hex(1) };
  const [ofEvent, ofClaim, ofGrant] = ["event", "claim", "grant"].map((kind) => `/v1/${kind}-anchors`);
  const act = await anchorOf(harness.send("POST", "/v1/event-anchors", event));
  const one = `${ofEvent}/${agent.anchor_id}`;
  good = {
    createEventAnchor: { path: `${ofEvent}`, body: event },
    createEventAnchors: { path: `${ofEvent}/batch`, body: { origin_fingerprint: harness.origin, events: [event] } },
    eraseClientEventId: { path: `${ofEvent}/${act.anchor_id}/erase-client-event-id`, body: {} },
    verifyEventAnchor: { path: `${ofEvent}:verify`, body: { anchor_id: agent.anchor_id } },
    verifyEventAnchors: { path: `${ofEvent}:batchVerify`, body: { anchors: [{ anchor_id: agent.anchor_id }] } },
    listEventAnchors: { path: `${ofEvent}?event_hash=${hex(1)}` },
    getLatestEventAnchor: { path: `${ofEvent}/latest` },
    getConsistency: { path: `${ofEvent}/consistency?from_size=1` },
    getEventAnchor: { path: one },
    getReceipt: { path: `${one}/receipt` },
    traceEventAnchor: { path: `${one}/trace` },
    createClaimAnchor: { path: `${ofClaim}`, body: claimBody(claimAbout(harness, "other")) },
    getClaimAnchor: { path: `${ofClaim}?entity_fingerprint=${hex(1)}&attribute_type=1` },
    verifyClaimAnchor: { path: `${ofClaim}:verify`, body: { anchor_id: agent.anchor_id } },
    revokeClaimAnchor: { path: `${ofClaim}/${doomed.anchor_id}/revoke`, body: {} },
    createGrantAnchor: { path: `${ofGrant}`, body: grantBody(grantOf(harness, { ...parties, depth: 1 })) },
    getGrantAnchor: { path: `${ofGrant}?grantor_fingerprint=${hex(1)}&grantee_fingerprint=${hex(2)}` },
    verifyGrantAnchor: { path: `${ofGrant}:verify`, body: { anchor_id: grant.anchor_id } },
    revokeGrantAnchor: { path: `${ofGrant}/${grant.anchor_id}/revoke`, body: {} },
    getCheckpoint: { path: `/v1/origins/${harness.origin}/checkpoint` },
    getEntries: { path: `/v1/origins/${harness.origin}/tile/entries/000.p/2` },
    getTile: { path: `/v1/origins/${harness.origin}/tile/0/000.p/2` },
    getTrustRoot: { path: "/v1/trust-root" },
    getLimits: { path: "/v1/limits" },
    getHealth: { path: "/healthz" },
    getReadiness: { path: "/readyz" },
    // Ends with from_size_ahead: a good one would not end.
    getFeed: { path: `/v1/origins/${harness.origin}/feed?after_size=99999` },
    getProofPage: { path: "/" },
    getVerifyPage: { path: "/verify" },
    getOpenApi: { path: "/openapi.json" },
    getDocs: { path: "/docs" },
    getDocsAsset: { path: "/docs/start.js" },
  };
});
afterAll(() => harness.close());

type Row = Route & { readonly id: RouteId };

function send(
  { id, method }: Row,
  { key, body, headers }: { key: string | null; body?: unknown; headers?: Record<string, string> },
): Promise<Answer> {
  const auth: Record<string, string> = key === null ? {} : { "x-api-key": key };
  return harness.send(method, good[id].path, body, { ...auth, ...headers });
}

function sendGood(route: Row, key: string | null = everything): Promise<Answer> {
  return send(route, { key, body: good[route.id].body });
}

function sendBody(route: Row, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return send(route, { key: everything, body, headers });
}

async function whileRefused(route: Row, code: RefusedError["code"]): Promise<Answer> {
  harness.node.refusal = new RefusedError(code, "detail that stays inside", 2500);
  const answer = await sendGood(route);
  harness.node.refusal = null;
  expect(answer.headers["retry-after"]).toBe("3");
  expect(answer.text).not.toContain("stays inside");
  return answer;
}

const NODE_CODES = [
  "deadline_exceeded",
  "overloaded",
  "no_leader",
  "certification_stalled",
  "not_initialised",
  "unavailable",
  "fenced",
  "halted",
  "outcome_unknown",
  "clock_unsafe",
  "storage_full",
] as const;

/** A route that never takes a key has a rate on a public log alone. */
async function rateLimitedVisit({ id, method }: Row): Promise<Answer> {
  const own = await startHarness({ publicRates: { addressRequestsPerSecond: 1, requestsPerSecond: 1 } });
  own.clock.stop();
  await own.send(method, good[id].path, undefined, {});
  const answer = await own.send(method, good[id].path, undefined, {});
  await own.close();
  return answer;
}

const provocations: Partial<Record<ProblemCode, (route: Row) => Promise<Answer>>> = {
  api_key_invalid: (route) => sendGood(route, null),
  scope_missing: (route) => {
    const wanted: readonly string[] = route.scopes ?? [];
    const scopes = ALL.filter((scope) => !wanted.includes(scope));
    return sendGood(route, harness.keyWith(`others ${route.id}`, scopes));
  },
  rate_limited: async (route) => {
    if (route.scopes === null) return rateLimitedVisit(route);
    const key = harness.keyWith(`slow ${route.id}`, ALL, { requestsPerSecond: 1 });
    await send(route, { key, body: "{" });
    return sendGood(route, key);
  },
  media_type_unsupported: (route) =>
    sendBody(route, JSON.stringify(good[route.id].body), { "content-type": "text/xml" }),
  body_too_large: (route) => sendBody(route, " ".repeat(route.bodyBytesMax + 1)),
  json_invalid: (route) => sendBody(route, '{"a":1,"a":1}'),
  ...Object.fromEntries(NODE_CODES.map((code) => [code, (route: Row) => whileRefused(route, code)])),
};

const cases = ROUTES.flatMap((route) =>
  route.problems.flatMap((code) => {
    const provoke = provocations[code];
    return provoke === undefined ? [] : [[code, route.id, route, provoke] as const];
  }),
);

describe("what any route can answer", () => {
  test.each(cases)("%s from %s", async (code, _id, route, provoke) => {
    const { status, json, headers } = await provoke(route);
    expect([status, problemSchema.parse(json).code]).toEqual([PROBLEMS[code].status, code]);
    expect(headers["content-type"]).toBe("application/problem+json");
  });

  test.each(ROUTES.map((route) => [route.id, route] as const))("%s refuses an unknown parameter", async (id, route) => {
    const mark = good[id].path.includes("?") ? "&" : "?";
    const path = `${good[id].path}${mark}nobody=1`;
    const { status, json } = await harness.send(route.method, path, good[id].body, { "x-api-key": everything });
    expect([status, json.code, json.errors[0]]).toMatchObject([400, "invalid_request", { parameter: "nobody" }]);
  });

  const withBody = ROUTES.filter(({ bodySchema }) => bodySchema !== null);
  test.each(withBody.map((route) => [route.id, route] as const))("%s refuses an unknown field", async (id, route) => {
    const { status, json } = await sendBody(route, { ...good[id].body, nobody: 1 });
    expect([status, json.code, json.errors[0]]).toMatchObject([400, "invalid_request", { pointer: "/nobody" }]);
  });

  test.each(ROUTES.map((route) => [route.id, route] as const))(
    "%s serves what is as it should be",
    async (_id, route) => {
      const { status } = await sendGood(route);
      expect(route.events === null ? [200, 201, 404] : [409]).toContain(status);
    },
  );
});
