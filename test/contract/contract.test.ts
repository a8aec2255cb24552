import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { LIMITS, PROBLEMS, PROBLEM_CODES, ROUTES } from "@event-anchoring/api-contract";
import { partyOf } from "@event-anchoring/testkit/records";
import type { JsonBody } from "@event-anchoring/testkit/records";
import { ValueMaker, knownValues, requestsTo } from "@event-anchoring/testkit/openapi";
import type { MadeRecords } from "@event-anchoring/testkit/openapi";
import { openApiDocument } from "../../packages/api-contract/src/openapi/document.ts";
import { assertPlainProblem } from "./conformance.ts";
import { ContractCluster, targetOf } from "./contract-cluster.ts";
import type { AnyBody } from "./contract-cluster.ts";
import { askForHistories } from "./histories.ts";
import {
  BAD_HTTP,
  BAD_JSON,
  BAD_QUERIES,
  BAD_TILES,
  DEEP_JSON,
  OTHER_MEDIA_TYPES,
  badIds,
  badKeys,
  nearMisses,
} from "./hostile-requests.ts";
import { Writings } from "./writings.ts";

// Every answer of a running cluster against the OpenAPI document that it serves: status, headers, media type and body.

/** Another one to look elsewhere: CONTRACT_SEED=7 npm run jest -- test/contract */
const SEED = Number(process.env["CONTRACT_SEED"] ?? 42);
const GENERATED_MS = 1200;
const GENERATED_RUNS = 40;

let cluster: ContractCluster;
let writings: Writings;

beforeAll(async () => {
  cluster = await ContractCluster.start();
  writings = new Writings(cluster.origin);
}, 240_000);

afterAll(async () => {
  await cluster?.stop();
}, 30_000);

function idOf({ anchor }: AnyBody): string {
  if (anchor === undefined) throw new Error("the answer has no anchor");
  return anchor.anchor_id;
}

/** Ids of records that later tests ask about, by kind. */
const made: MadeRecords = {
  claim: "",
  grantee: "",
  grant: "",
  event: "",
  signed: "",
  revoked: "",
  revocation: "",
  entity: "",
};

describe("every operation, as it is meant", () => {
  test("records of every kind: created, replayed, and committed", async () => {
    const claim = writings.claim();
    made.entity = String(claim["entity_fingerprint"]);
    made.claim = idOf(await cluster.expect(201, "createClaimAnchor", { body: claim }));
    await cluster.expect(200, "createClaimAnchor", { body: claim });
    made.grantee = idOf(await cluster.expect(201, "createClaimAnchor", { body: writings.claim() }));
    const grant = writings.grant(made.claim, made.grantee);
    made.grant = idOf(await cluster.expect(201, "createGrantAnchor", { body: grant }));
    await cluster.expect(200, "createGrantAnchor", { body: grant });
    const event = writings.event(made.grantee, made.grant, { clientEventId: "the first" });
    made.event = idOf(await cluster.expect(201, "createEventAnchor", { body: event }));
    await cluster.expect(200, "createEventAnchor", { body: event });
    const signed = writings.event(made.grantee, made.grant, { isSigned: true });
    made.signed = idOf(await cluster.expect(201, "createEventAnchor", { body: signed }));
    const later = { prefer: "respond-async" };
    const body = writings.event(made.grantee, made.grant);
    const { status, received } = await cluster.ask("createEventAnchor", { body, headers: later });
    expect([201, 202]).toContain(status);
    expect(received.headers["preference-applied"]).toBe("respond-async");
  });

  test("a batch of every outcome, and one that is refused as a whole", async () => {
    const { origin_fingerprint: origin, ...good } = writings.event(made.grantee, made.grant);
    const bad = { ...good, semantic_anchor: { iris_ref: "ab".repeat(32) } };
    const events = [good, bad];
    await cluster.expect(200, "createEventAnchors", { body: { origin_fingerprint: origin, events } });
    const refused = await cluster.expect(409, "createEventAnchors", {
      body: { origin_fingerprint: origin, events, atomic: true },
    });
    expect(refused.code).toBe("batch_refused");
    const many = Array.from({ length: LIMITS.batchSignedItemsMax + 1 }, () => ({
      ...good,
      actor_public_key: "11".repeat(32),
      actor_signature: "22".repeat(64),
    }));
    const crowded = await cluster.expect(400, "createEventAnchors", {
      body: { origin_fingerprint: origin, events: many },
    });
    expect(crowded.code).toBe("batch_too_many_signatures");
  });

  test("revocations: by the subject, by an operator without a body, and again", async () => {
    made.revoked = idOf(await cluster.expect(201, "createClaimAnchor", { body: writings.claim() }));
    const path = { anchor_id: made.revoked };
    const signed = writings.revocation(made.revoked);
    made.revocation = idOf(await cluster.expect(201, "revokeClaimAnchor", { path, body: signed }));
    await cluster.expect(200, "revokeClaimAnchor", { path, body: signed });
    await cluster.expect(201, "revokeClaimAnchor", { path });
    await cluster.expect(200, "revokeClaimAnchor", { path, body: "" });
    await cluster.expect(200, "revokeClaimAnchor", { path, body: {} });
    const grant = idOf(
      await cluster.expect(201, "createGrantAnchor", { body: writings.grant(made.grantee, made.claim) }),
    );
    await cluster.expect(201, "revokeGrantAnchor", { path: { anchor_id: grant }, body: { reason: "cessation" } });
    await cluster.expect(200, "revokeGrantAnchor", { path: { anchor_id: grant }, body: { reason: "cessation" } });
    const wrong = await cluster.expect(409, "revokeGrantAnchor", { path: { anchor_id: made.claim } });
    expect(wrong.code).toBe("wrong_kind");
  });

  test("anchors of every kind: read, proved, verified, traced", async () => {
    const { claim, grant, event, signed, revocation } = made;
    const [head] = (
      (await cluster.expect(200, "traceEventAnchor", { path: { anchor_id: event } })) as JsonBody & {
        parents: { items: { anchor_id: string }[] };
      }
    ).parents.items;
    for (const id of [claim, grant, event, signed, revocation, head?.anchor_id ?? ""]) {
      const path = { anchor_id: id };
      await cluster.expect(200, "getEventAnchor", { path });
      await cluster.expect(200, "getEventAnchor", { path, headers: { prefer: "respond-async" } });
      await cluster.expect(200, "getReceipt", { path });
      await cluster.expect(200, "getReceipt", { path, headers: { accept: "text/plain" } });
      await cluster.expect(200, "traceEventAnchor", { path, query: { limit: "2", trusted_roots: claim } });
      const verified = await cluster.expect(200, "verifyEventAnchor", { body: { anchor_id: id } });
      expect([id, verified.valid]).toEqual([id, true]);
    }
    await cluster.expect(200, "verifyEventAnchor", { body: { anchor_id: event, as_of: 0 } });
    const anchors = [event, "ab".repeat(32), claim].map((anchor_id) => ({ anchor_id }));
    await cluster.expect(200, "verifyEventAnchors", { body: { anchors } });
  });

  test("claims and grants: the active one, and none; verified now and then", async () => {
    const query = { entity_fingerprint: made.entity, attribute_type: "0x7" };
    await cluster.expect(200, "getClaimAnchor", { query });
    const none = await cluster.expect(404, "getClaimAnchor", { query: { ...query, attribute_type: "8" } });
    expect(none.code).toBe("no_active_claim");
    await cluster.expect(404, "getGrantAnchor", {
      query: { grantor_fingerprint: "ab".repeat(32), grantee_fingerprint: made.entity },
    });
    await cluster.expect(200, "verifyClaimAnchor", { body: { anchor_id: made.claim } });
    await cluster.expect(200, "verifyClaimAnchor", { body: { anchor_id: made.revoked, as_of: 4 } });
    await cluster.expect(200, "verifyGrantAnchor", { body: { anchor_id: made.grant, trusted_roots: [made.claim] } });
    await cluster.expect(409, "verifyGrantAnchor", { body: { anchor_id: made.claim } });
    await cluster.expect(404, "verifyGrantAnchor", { body: { anchor_id: "ab".repeat(32) } });
    const granted = await cluster.expect(200, "getEventAnchor", { path: { anchor_id: made.grantee } });
    await cluster.expect(200, "getGrantAnchor", {
      query: { grantor_fingerprint: made.entity, grantee_fingerprint: String(granted.anchor?.entity_fingerprint) },
    });
  });

  test("lists, heads and proofs between them", async () => {
    const query = { grant_ref: made.grant, limit: "1" };
    const page = (await cluster.expect(200, "listEventAnchors", { query })) as { next_cursor: string };
    await cluster.expect(200, "listEventAnchors", { query: { ...query, cursor: page.next_cursor } });
    await cluster.expect(400, "listEventAnchors", { query: { iris_ref: made.grantee, cursor: page.next_cursor } });
    await cluster.expect(200, "listEventAnchors", { query: { client_event_id: "the first" } });
    await cluster.expect(200, "listEventAnchors", { query: { client_event_id: "never used" } });
    await cluster.expect(409, "listEventAnchors", { query: { grant_ref: made.claim } });
    const latest = await cluster.expect(200, "getLatestEventAnchor", { query: { from_size: "2" } });
    const size = latest.tree_size ?? 0;
    expect(size).toBeGreaterThan(2);
    await cluster.expect(200, "getConsistency", { query: { from_size: "1", to_size: "2" } });
    await cluster.expect(200, "getConsistency", { query: { from_size: String(size) } });
    await cluster.expect(409, "getConsistency", { query: { from_size: String(size + 1000) } });
    const other = { origin_fingerprint: "ab".repeat(32) };
    await cluster.expect(409, "getConsistency", { query: { ...other, from_size: "1" } });
    await cluster.expect(409, "getLatestEventAnchor", { query: other });
  });

  test("histories: of a claim that went on, and of grants; a cursor is good at every node", async () => {
    const { ends, claims, secondPages, grants } = await askForHistories(cluster, writings, made);
    expect(ends).toEqual(["claim_revoked", null]);
    expect(secondPages).toEqual(cluster.setup.cluster.file.nodes.map(() => claims.slice(1)));
    expect(grants.map((grant) => grant.anchor_id)).toContain(made.grant);
  });

  test("the log as tiles: checkpoint, entries and hashes, up to the certified size", async () => {
    const path = { origin_fingerprint: cluster.origin };
    await cluster.expect(200, "getCheckpoint", { path });
    await cluster.expect(200, "getFeed", { path });
    await cluster.expect(409, "getFeed", { path, query: { after_size: "9007199254740991" } });
    const latest = await cluster.expect(200, "getLatestEventAnchor", { query: path });
    const index = `000.p/${Math.min(latest.tree_size ?? 0, 255)}`;
    const { received } = await cluster.served("getEntries", { path: { ...path, index } });
    expect([received.status, received.headers["content-type"]]).toEqual([200, "application/octet-stream"]);
    await cluster.expect(200, "getTile", { path: { ...path, level: "0", index } });
    for (const [level, beyond] of [
      ["0", "999.p/1"],
      ["0", "x001/x234/067"],
      ["5", "000"],
    ]) {
      const answer = await cluster.expect(404, "getTile", {
        path: { ...path, level: level ?? "", index: beyond ?? "" },
      });
      expect(answer.code).toBe("tile_not_found");
    }
    expect((await cluster.expect(404, "getEntries", { path: { ...path, index: "999" } })).code).toBe("tile_not_found");
    for (const bad of BAD_TILES) {
      for (const [id, more] of [["getEntries", {}] as const, ["getTile", { level: "0" }] as const]) {
        const answer = await cluster.expect(400, id, { path: { ...path, ...more, index: bad } });
        expect([bad, answer.code]).toEqual([bad, "invalid_request"]);
      }
    }
    const unknown = { origin_fingerprint: "ab".repeat(32), level: "0", index: "000" };
    for (const id of ["getCheckpoint", "getFeed", "getEntries", "getTile"]) {
      expect((await cluster.expect(409, id, { path: unknown })).code).toBe("origin_unknown");
    }
  });

  test("erasing, and what is left", async () => {
    const event = writings.event(made.grantee, made.grant, { clientEventId: "to be erased" });
    const path = { anchor_id: idOf(await cluster.expect(201, "createEventAnchor", { body: event })) };
    await cluster.expect(200, "eraseClientEventId", { path });
    await cluster.expect(200, "eraseClientEventId", { path, body: {} });
    await cluster.expect(409, "eraseClientEventId", { path: { anchor_id: made.claim } });
    await cluster.expect(404, "eraseClientEventId", { path: { anchor_id: "ab".repeat(32) } });
    const gone = await cluster.expect(410, "listEventAnchors", { query: { client_event_id: "to be erased" } });
    expect(gone.anchor_id).toBe(path.anchor_id);
    await cluster.expect(200, "getEventAnchor", { path });
    await cluster.expect(200, "createEventAnchor", { body: event });
    await cluster.expect(409, "createEventAnchor", { body: { ...event, event_hash: "ab".repeat(32) } });
  });

  test("what the ledger refuses to record as a claim or a revocation", async () => {
    const { claim } = made;
    const lateMs = Date.now() + 3_600_000;
    const stranger = partyOf("somebody else");
    const refusals: [string, JsonBody][] = [
      ["claim_conflict", writings.claim({ entity: made.entity, issuer: stranger })],
      ["window_invalid", writings.claim({ expiresAt: 1 })],
      ["issued_in_future", writings.claim({ issuedAt: lateMs })],
      ["signature_invalid", { ...writings.claim(), attribute_hash: "ab".repeat(32) }],
      ["origin_unknown", { ...writings.claim(), origin_fingerprint: "ab".repeat(32) }],
    ];
    for (const [code, body] of refusals)
      expect((await cluster.served("createClaimAnchor", { body })).body.code).toBe(code);
    const [, second] = cluster.setup.cluster.file.nodes;
    const body = { origin_fingerprint: second?.origin_fingerprint };
    const other = await cluster.expect(409, "revokeClaimAnchor", { path: { anchor_id: claim }, body });
    expect(other.code).toBe("origin_mismatch");
    const byWriter = await cluster.expect(403, "revokeClaimAnchor", {
      key: cluster.keys.writeOnly,
      path: { anchor_id: claim },
    });
    expect(byWriter.code).toBe("scope_missing");
  });

  test("what an API client may not end or erase: what another has recorded", async () => {
    const key = cluster.keys.another;
    const event = writings.event(made.grantee, made.grant, { clientEventId: "another's" });
    const recorded = idOf(await cluster.expect(201, "createEventAnchor", { body: event }));
    const asked = [
      ["revokeClaimAnchor", made.claim],
      ["revokeGrantAnchor", made.grant],
      ["eraseClientEventId", recorded],
    ] as const;
    for (const [operation, anchorId] of asked) {
      const refused = await cluster.expect(403, operation, { key, path: { anchor_id: anchorId } });
      expect([operation, refused.code]).toEqual([operation, "not_own_record"]);
    }
  });

  test("what the ledger refuses to record as a grant or an event", async () => {
    const { claim, grantee, grant, event, revoked } = made;
    const absent = "ab".repeat(32);
    const third = idOf(await cluster.expect(201, "createClaimAnchor", { body: writings.claim() }));
    const expiresAt = Date.now() + 3_600_000;
    const bounded = writings.grant(claim, third, { expiresAt, depth: 1 });
    const parent = idOf(await cluster.expect(201, "createGrantAnchor", { body: bounded }));
    const ended = idOf(await cluster.expect(201, "createGrantAnchor", { body: writings.grant(third, grantee) }));
    await cluster.expect(201, "revokeGrantAnchor", { path: { anchor_id: ended } });
    const refusals: [string, JsonBody][] = [
      ["reference_not_found", writings.grant(absent, grantee)],
      ["reference_wrong_kind", writings.grant(event, grantee)],
      ["claim_not_in_force", writings.grant(claim, revoked)],
      ["grant_not_in_force", writings.grant(grantee, third, { parent: ended, depth: 0 })],
      ["grantor_key_mismatch", writings.grant(claim, grantee, { grantor: writings.issuer })],
      ["witness_is_grantor", writings.grant(claim, grantee, { witness: writings.subject })],
      ["parent_mismatch", writings.grant(claim, third, { parent: grant, depth: 0 })],
      ["depth_exceeded", writings.grant(third, grantee, { parent, depth: 1 })],
      ["window_outside_parent", writings.grant(third, grantee, { parent, depth: 0, expiresAt: expiresAt + 1 })],
      ["window_invalid", writings.grant(claim, grantee, { notBefore: 7, expiresAt: 7 })],
    ];
    for (const [code, body] of refusals)
      expect((await cluster.served("createGrantAnchor", { body })).body.code).toBe(code);
    const unlawful: [string, JsonBody][] = [
      ["reference_not_found", writings.event(absent, grant)],
      ["reference_wrong_kind", writings.event(grant, grant)],
      ["client_event_id_invalid", { ...writings.event(claim, grant), client_event_id: "" }],
    ];
    for (const [code, body] of unlawful)
      expect((await cluster.served("createEventAnchor", { body })).body.code).toBe(code);
  });

  test("the node and the reference, also by HEAD", async () => {
    const pages = ["getOpenApi", "getDocs", "getProofPage", "getVerifyPage"];
    for (const id of ["getTrustRoot", "getLimits", "getHealth", "getReadiness", ...pages]) {
      await cluster.expect(200, id);
      const target = cluster.operation(id).path;
      const head = await cluster.sender.send({ method: "HEAD", target });
      expect([id, head.status, head.text]).toEqual([id, 200, ""]);
      cluster.judge.judge(cluster.operation(id), head);
    }
    for (const id of ["getProofPage", "getVerifyPage"]) {
      const { etag } = (await cluster.ask(id)).received.headers;
      await cluster.expect(304, id, { headers: { "if-none-match": String(etag) } });
    }
    const { received } = await cluster.ask("getDocs");
    const assets = [...received.text.matchAll(/(?:href|src)="docs\/([^"]+)"/g)].map(([, asset]) => asset ?? "");
    expect(assets.length).toBeGreaterThanOrEqual(2);
    for (const asset of assets) await cluster.expect(200, "getDocsAsset", { path: { asset } });
    await cluster.expect(404, "getDocsAsset", { path: { asset: "package.json" } });
    const served: unknown = JSON.parse((await cluster.ask("getOpenApi")).received.text);
    expect(served).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  test("no good answer is left that nothing has shown", () => {
    // 202 is a matter of timing on writes that did not ask for it; a node that is up is ready.
    const rare = new Set(["202", "503"]);
    const wanted = ROUTES.flatMap(({ id, answers }) =>
      Object.keys(answers).flatMap((status) => (rare.has(status) ? [] : [`${id} ${status}`])),
    );
    expect(wanted.filter((each) => !cluster.judge.seen.has(each))).toEqual([]);
  });
});

/** Operations of a document: known before there is a cluster. */
const OPERATIONS = ROUTES.map(({ id }) => id);

describe("every operation, as generated from the document", () => {
  test.each(OPERATIONS)("%s", async (id) => {
    const operation = cluster.operation(id);
    const values = new ValueMaker(cluster.judge.reader, knownValues(made, cluster.origin));
    const { body } = operation;
    const isDescribed = body === null ? null : cluster.judge.reader.validator(body.mediaType.schema);
    await fc.assert(
      fc.asyncProperty(requestsTo(operation, values), async (generated) => {
        const answer = await cluster.ask(id, generated);
        const isBad = isDescribed !== null && !isDescribed(generated.body);
        expect(isBad && answer.status !== 400).toBe(false);
      }),
      { seed: SEED, numRuns: GENERATED_RUNS, interruptAfterTimeLimit: GENERATED_MS },
    );
  });
});

/** Path parameters of every operation: each takes those that it has. */
const placesOf = (id: string): Record<string, string> => ({
  anchor_id: id,
  origin_fingerprint: cluster.origin,
  level: "0",
  index: "000.p/1",
});

describe("requests that are none", () => {
  const keyed = ROUTES.filter(({ scopes }) => scopes !== null);

  test.each(keyed.map(({ id, scopes }) => [id, scopes] as const))("%s without a key that may", async (id, scopes) => {
    const path = placesOf(made.event);
    const body = cluster.operation(id).body === null ? {} : { body: {} };
    const { all, readOnly, writeOnly } = cluster.keys;
    for (const headers of badKeys(all, readOnly)) {
      const answer = await cluster.expect(401, id, { key: null, path, ...body, headers });
      expect(answer.code).toBe("api_key_invalid");
    }
    const key = scopes?.some((scope) => scope === "read") === true ? writeOnly : readOnly;
    expect((await cluster.expect(403, id, { key, path, ...body })).code).toBe("scope_missing");
    const served = await cluster.served(id, { key: null, path, ...body, headers: { "x-api-key": all } });
    expect([401, 403]).not.toContain(served.status);
  });

  test.each([...new Set(ROUTES.map(({ path }) => path))])("%s with another method", async (path) => {
    const allowed = ROUTES.filter((route) => route.path === path).flatMap(({ method }) =>
      method === "GET" ? ["GET", "HEAD"] : [method],
    );
    const target = path.replaceAll(/\{\w+\}/g, made.event);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      if (allowed.includes(method)) continue;
      const received = await cluster.sender.send({ method, target });
      expect([method, assertPlainProblem(received, ["method_not_allowed"])]).toEqual([method, "method_not_allowed"]);
      expect(new Set(received.headers["allow"]?.split(", "))).toEqual(new Set(allowed));
    }
  });

  test("paths that only look like one", async () => {
    for (const target of nearMisses(made.event)) {
      for (const method of ["GET", "POST"]) {
        const received = await cluster.sender.send({ method, target, headers: { "x-api-key": cluster.keys.all } });
        expect([target, assertPlainProblem(received, ["route_not_found"])]).toEqual([target, "route_not_found"]);
      }
    }
  });

  test("ids that are none, and ways to write one", async () => {
    const { event } = made;
    await cluster.expect(200, "getEventAnchor", { path: { anchor_id: event.toUpperCase() } });
    const firstEncoded = `%${event.charCodeAt(0).toString(16)}${event.slice(1)}`;
    await cluster.expect(200, "getEventAnchor", { path: { anchor_id: firstEncoded } });
    for (const anchor_id of badIds(event)) {
      const { status, body } = await cluster.served("getReceipt", { path: { anchor_id } });
      expect([anchor_id, status, body.code]).toEqual([anchor_id, 400, "invalid_request"]);
    }
  });

  test("queries that are none", async () => {
    const operation = cluster.operation("traceEventAnchor");
    const headers = { "x-api-key": cluster.keys.all };
    for (const search of BAD_QUERIES) {
      const target = `${targetOf(operation, { path: { anchor_id: made.event } })}${search}`;
      const received = await cluster.sender.send({ method: "GET", target, headers });
      expect(cluster.judge.judge(operation, received)).toMatchObject({ code: "invalid_request" });
    }
  });

  const withBody = ROUTES.filter(({ bodySchema }) => bodySchema !== null).map(({ id }) => id);

  test.each(withBody)("%s with a body of another type", async (id) => {
    const asked = { path: { anchor_id: made.event }, body: "{}" };
    for (const type of OTHER_MEDIA_TYPES) {
      const answer = await cluster.expect(415, id, { ...asked, headers: { "content-type": type } });
      expect([type, answer.code]).toEqual([type, "media_type_unsupported"]);
    }
    const packed = await cluster.expect(415, id, { ...asked, headers: { "content-encoding": "gzip" } });
    expect(packed.code).toBe("media_type_unsupported");
  });

  test.each(withBody)("%s with JSON that two parsers could read differently", async (id) => {
    const path = { anchor_id: made.event };
    const isRequired = cluster.operation(id).body?.isRequired === true;
    for (const body of isRequired ? ["", ...BAD_JSON] : BAD_JSON) {
      const answer = await cluster.expect(400, id, { path, body });
      expect([body.slice(0, 40), answer.code]).toEqual([body.slice(0, 40), "json_invalid"]);
    }
    for (const body of ["null", "[]", "1", '"x"', "true"]) {
      const answer = await cluster.expect(400, id, { path, body });
      expect([body, answer.code]).toEqual([body, "invalid_request"]);
    }
    const isBatch = id === "createEventAnchors" || id === "verifyEventAnchors";
    await cluster.expect(isBatch ? 400 : 413, id, { path, body: DEEP_JSON });
  });

  test("bytes that are no text, and a body that is too large", async () => {
    const operation = cluster.operation("createEventAnchor");
    const headers = { "content-type": "application/json", "x-api-key": cluster.keys.all };
    for (const body of [Buffer.from([0x7b, 0xff, 0x7d]), Buffer.from('{"a":1}', "utf16le")]) {
      const received = await cluster.sender.send({ method: "POST", target: operation.path, headers, body });
      expect(cluster.judge.judge(operation, received)).toMatchObject({ code: "json_invalid" });
    }
    const body = `{"a":"${"a".repeat(LIMITS.bodyBytesMax)}"}`;
    expect((await cluster.expect(413, "createEventAnchor", { body })).code).toBe("body_too_large");
  });

  test("a key that asks too often", async () => {
    const codes = new Set<string | undefined>();
    for (let tries = 0; tries < 20 && !codes.has("rate_limited"); tries++) {
      codes.add((await cluster.ask("getLatestEventAnchor", { key: cluster.keys.slow })).body.code);
    }
    expect(codes).toContain("rate_limited");
  });

  test("bytes that are no HTTP", async () => {
    for (const request of BAD_HTTP) {
      const text = await cluster.sender.raw(request);
      expect(text.slice(0, 12)).toMatch(/^HTTP\/1\.1 4(?:00|31)$/);
      expect(text).toContain("application/problem+json");
      expect(text.toLowerCase()).toContain("connection: close");
    }
  });
});

test("every problem of a healthy cluster was answered, and was as described", () => {
  /** Problems of connections, of nodes that are not well, of origins that are empty, closed or lost, of 1,000 hops. */
  const elsewhere: readonly string[] = [
    "http_invalid",
    "headers_too_large",
    "request_timeout",
    "method_not_allowed",
    "internal_error",
    "no_anchor_yet",
    "origin_closed",
    "origin_lost",
    "proof_too_large",
  ];
  const seen = new Set([...cluster.judge.seen].map((each) => each.split(" ")[1]));
  const wanted = PROBLEM_CODES.filter((code) => PROBLEMS[code].status !== 503 && !elsewhere.includes(code));
  expect(wanted.filter((code) => !seen.has(code))).toEqual([]);
});
