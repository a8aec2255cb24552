import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import {
  COMMON_PROBLEMS,
  DEFAULT_LIMIT_SETTINGS,
  PROBLEMS,
  PROBLEM_CODES,
  RETRYABLE_PROBLEMS,
  ROUTES,
  anchorSchema,
  anchorToJson,
  isProblemCode,
  kindName,
  limitsSchema,
  limitsToJson,
  problemBody,
  problemSchema,
  routeOf,
  routerPath,
} from "@event-anchoring/api-contract";
import { LEAF_BYTES, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorView } from "@event-anchoring/api-contract";
import type { EventBody, Leaf, LeafHeader } from "@event-anchoring/protocol";

/** Reviewed as a diff: a changed status, or a code that disappears, breaks clients. */
const golden: unknown = JSON.parse(readFileSync(new URL("problems.golden.json", import.meta.url), "utf8"));

describe("problems", () => {
  test("every code has the body it has always had", () => {
    const bodies = Object.fromEntries(PROBLEM_CODES.map((code) => [code, problemBody({ code }, "request-1")]));
    expect(bodies).toEqual(golden);
  });

  test.each(PROBLEM_CODES)("%s is a document of RFC 9457 that tells when it happens", (code) => {
    const { status, title, detail, when } = PROBLEMS[code];
    expect(problemSchema.parse(problemBody({ code }, null))).toMatchObject({ code, status, title, detail });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(code).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(when.endsWith(".")).toBe(true);
  });

  test("exactly 429 and 503 may be tried again", () => {
    for (const code of PROBLEM_CODES) {
      const isRetryable = PROBLEMS[code].status === 429 || PROBLEMS[code].status === 503;
      expect([code, RETRYABLE_PROBLEMS.has(code)]).toEqual([code, isRetryable]);
    }
  });

  test("an occurrence may say more; names of the language are no codes", () => {
    const errors = [{ pointer: "/a", code: "required", detail: "x" }];
    const body = problemBody({ code: "invalid_request", detail: "other", errors }, null);
    expect(body).toMatchObject({ detail: "other", errors });
    expect(body).not.toHaveProperty("request_id");
    expect(problemBody({ code: "invalid_request", errors: [] }, null)).not.toHaveProperty("errors");
    for (const name of ["toString", "__proto__", "constructor", ""]) expect(isProblemCode(name)).toBe(false);
  });
});

describe("routes", () => {
  test("ids and (method, path) are unique, and fixed paths come before those with a parameter", () => {
    expect(new Set(ROUTES.map(({ id }) => id)).size).toBe(ROUTES.length);
    expect(new Set(ROUTES.map(({ method, path }) => `${method} ${path}`)).size).toBe(ROUTES.length);
    const placeOf = (wanted: string): number => ROUTES.findIndex(({ id }) => id === wanted);
    expect(placeOf("getLatestEventAnchor")).toBeLessThan(placeOf("getEventAnchor"));
    expect(placeOf("getConsistency")).toBeLessThan(placeOf("getEventAnchor"));
    expect(placeOf("getEntries")).toBeLessThan(placeOf("getTile"));
  });

  test("colons are escaped and parameters are not", () => {
    const inRouter = (path: string, isTail = false): string => routerPath({ path, isTail });
    expect(inRouter("/v1/event-anchors:verify")).toBe("/v1/event-anchors\\:verify");
    expect(inRouter("/v1/event-anchors/{anchor_id}/trace")).toBe("/v1/event-anchors/:anchor_id/trace");
    expect(inRouter("/v1/a/{b}/{rest_of_it}", true)).toBe("/v1/a/:b/*rest_of_it");
  });

  test("what needs no key is what authenticates itself or says nothing secret", () => {
    const open = ROUTES.filter(({ scopes }) => scopes === null).map(({ path }) => path);
    expect(open).toEqual([
      "/v1/trust-root",
      "/v1/limits",
      "/healthz",
      "/readyz",
      "/",
      "/verify",
      "/openapi.json",
      "/docs",
      "/docs/{asset}",
    ]);
  });

  test("what a public log opens: the log itself, receipts, trust roots; nothing that writes, judges or lists", () => {
    const open = ROUTES.filter(({ isOpenOnPublicLog }) => isOpenOnPublicLog);
    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/event-anchors/{anchor_id}/receipt",
      "GET /v1/origins/{origin_fingerprint}/checkpoint",
      "GET /v1/origins/{origin_fingerprint}/feed",
      "GET /v1/origins/{origin_fingerprint}/tile/entries/{index}",
      "GET /v1/origins/{origin_fingerprint}/tile/{level}/{index}",
      "GET /v1/trust-root",
    ]);
    for (const { problems } of open) expect(problems).toContain("rate_limited");
  });

  test.each(ROUTES.map(({ id }) => id))("%s: bodies have limits, codes are those of the table", (id) => {
    const route = routeOf(id);
    expect(route.bodyBytesMax > 0).toBe(route.bodySchema !== null);
    expect(route.bodySchema === null || route.method === "POST").toBe(true);
    for (const code of [...COMMON_PROBLEMS, ...route.problems]) expect(isProblemCode(code)).toBe(true);
    expect(new Set(route.problems).size).toBe(route.problems.length);
    const isKeyed = route.problems.includes("api_key_invalid");
    expect(isKeyed).toBe(route.scopes !== null);
  });

  test("limits are published whole", () => {
    const limits = limitsToJson({ ...DEFAULT_LIMIT_SETTINGS, keyRequestsPerSecond: 12 });
    expect(limitsSchema.parse(limits)).toMatchObject({ body_bytes_max: 65_536, key_requests_per_second: 12 });
  });
});

describe("anchors as JSON", () => {
  const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte);
  const header: LeafHeader = {
    originFingerprint: toOriginFingerprint(filled(1)),
    depth: 3,
    parentAnchorId: toAnchorId(filled(2)),
    sequence: 9,
    acceptedMs: 1_780_000_000_123,
  };
  const event: EventBody = {
    eventHash: filled(3),
    semanticAnchor: {
      irisRef: filled(4),
      scrollRef: filled(0),
      grantRef: filled(0),
      bondRef: filled(0),
      yieldRef: filled(0),
      eventDataHash: filled(0),
    },
    clientEventCommit: filled(5),
  };
  const leaves: Leaf[] = [
    { kind: 0, ...header, clusterId: filled(1), rootThk: filled(2) },
    { kind: 1, ...header, ...event },
    {
      kind: 2,
      ...header,
      entityFingerprint: filled(1),
      attributeType: 0xffff_ffff,
      attributeHash: filled(2),
      issuedAt: 0,
      expiresAt: 5,
      subjectPublicKey: filled(3),
      subjectSignature: filled(4, 64),
      issuerPublicKey: filled(5),
      issuerSignature: filled(6, 64),
    },
    {
      kind: 3,
      ...header,
      grantorClaimRef: filled(1),
      granteeClaimRef: filled(2),
      parentGrantRef: filled(0),
      scopeHash: filled(3),
      delegationDepth: 2,
      issuedAt: 0,
      notBefore: 0,
      expiresAt: 0,
      grantorPublicKey: filled(4),
      grantorSignature: filled(5, 64),
      witnessPublicKey: filled(6),
      witnessSignature: filled(7, 64),
    },
    {
      kind: 4,
      ...header,
      targetAnchorId: toAnchorId(filled(1)),
      reason: 1,
      suspectSince: 0,
      issuedAt: 0,
      authority: 0,
      revoker: filled(2),
      signature: filled(0, 64),
    },
    { kind: 5, ...header, version: 2, rootThk: filled(1) },
    { kind: 6, ...header, ...event, actorPublicKey: filled(7), actorSignature: filled(8, 64) },
  ];

  const view = (leaf: Leaf): AnchorView => ({
    leaf,
    anchorId: toAnchorId(filled(9)),
    finality: "committed",
    clientEvent: null,
    state: leaf.kind === 2 || leaf.kind === 3 ? "superseded" : null,
  });
  const leafOf = (kind: Leaf["kind"]): Leaf => {
    const found = leaves.find((leaf) => leaf.kind === kind);
    if (found === undefined) throw new Error(`no leaf of kind ${kind}`);
    return found;
  };

  test.each(leaves.map((leaf) => [kindName(leaf.kind), leaf] as const))("%s", (kind, leaf) => {
    const json = anchorToJson(view(leaf));
    expect(anchorSchema.parse(json)).toEqual(json);
    expect(json).toMatchObject({ kind, accepted_at: "2026-05-28T20:26:40.123Z", finality: "committed" });
    expect(json).not.toHaveProperty("client_event_id");
  });

  test("there is one for every kind of leaf", () => {
    expect(leaves.map(({ kind }) => kind)).toEqual(Object.keys(LEAF_BYTES).map(Number));
  });

  test("claims and grants have a state, and no other kind has", () => {
    const withState = leaves.filter((leaf) => "state" in anchorToJson(view(leaf)));
    expect(withState.map(({ kind }) => kind)).toEqual([2, 3]);
    for (const leaf of withState) {
      expect(anchorToJson(view(leaf))).toHaveProperty("state", "superseded");
      expect(() => anchorToJson({ ...view(leaf), state: null })).toThrow(RangeError);
    }
  });

  test("an operator's revocation has no signature, and every word is a name", () => {
    expect(anchorToJson(view(leafOf(4)))).toMatchObject({
      reason: "key_compromise",
      authority: "operator",
      signature: null,
    });
  });

  test("an empty reference is null, and names are the interface's", () => {
    const clientEvent = { clientEventId: "x", clientEventSalt: filled(6), isErased: false };
    const json = anchorToJson({ ...view(leafOf(1)), clientEvent });
    expect(json).toMatchObject({
      semantic_anchor: { iris_ref: "04".repeat(32), scroll_ref: null },
      client_event_id: "x",
      client_event_salt: "06".repeat(32),
      client_event_commit: "05".repeat(32),
    });
    expect(json).not.toHaveProperty("client_event_erased");
  });

  test("that an id was erased is said to those who would have seen it", () => {
    const clientEvent = { clientEventId: null, clientEventSalt: null, isErased: true };
    const json = anchorToJson({ ...view(leafOf(6)), clientEvent });
    expect(anchorSchema.parse(json)).toMatchObject({
      client_event_id: null,
      client_event_salt: null,
      client_event_erased: true,
    });
  });
});
