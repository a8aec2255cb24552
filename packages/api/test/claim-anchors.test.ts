import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { activeClaimSchema, createdSchema, problemSchema } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { bytesToHex } from "@event-anchoring/protocol";
import { claimBody } from "@event-anchoring/testkit/records";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { seedOf } from "./fake-cluster.ts";
import { START_MS } from "./fake-node.ts";
import { claimAbout, claimed, granted, hex, postClaim } from "./records.ts";
import type { Body } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const entityHex = (entity: string): string => bytesToHex(seedOf(`entity ${entity}`));
const find = (entity: string, attributeType: number | string = 1): Promise<Answer> =>
  harness.send("GET", `/v1/claim-anchors?entity_fingerprint=${entityHex(entity)}&attribute_type=${attributeType}`);
const post = (body: unknown, headers?: Record<string, string>): Promise<Answer> =>
  harness.send("POST", "/v1/claim-anchors", body, headers);

describe("creating a claim", () => {
  test("201 carries the claim as it was signed, active, with a receipt that verifies offline", async () => {
    const body = claimBody(claimAbout(harness, "created", { attributeType: 0x10, issuedAt: START_MS }));
    const { status, json, headers } = await post(body);
    expect(status).toBe(201);
    const { anchor, receipt, replayed } = createdSchema.parse(json);
    expect(anchor).toMatchObject({ kind: "claim", ...body, state: "active", finality: "certified" });
    expect(headers.location).toBe(`/v1/event-anchors/${anchor.anchor_id}`);
    expect([verdictOf(harness, receipt), replayed]).toEqual(["valid", false]);
  });

  test("attribute_type may be written in hexadecimal, hashes in upper case: what is hashed is the same", async () => {
    const claim = claimAbout(harness, "spelled", { attributeType: 0xff });
    const body = claimBody(claim);
    const first = await post({ ...body, attribute_type: "0xFF" });
    const second = await post({ ...body, attribute_hash: String(body["attribute_hash"]).toUpperCase() });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(createdSchema.parse(first.json).anchor).toMatchObject({ attribute_type: 255 });
  });

  test("the same claim again is 200 with the first anchor; once superseded it says so", async () => {
    const claim = claimAbout(harness, "again");
    const first = await postClaim(harness, claim);
    const second = await postClaim(harness, claim);
    await claimed(harness, "again", { issuedAt: START_MS });
    const third = await postClaim(harness, claim);
    expect([first.status, second.status, third.status]).toEqual([201, 200, 200]);
    const [created, replayed, old] = [first, second, third].map(({ json }) => createdSchema.parse(json));
    expect(replayed?.anchor.anchor_id).toBe(created?.anchor.anchor_id);
    expect([replayed?.replayed, replayed?.anchor]).toEqual([true, expect.objectContaining({ state: "active" })]);
    expect(old?.anchor).toMatchObject({ anchor_id: created?.anchor.anchor_id, state: "superseded" });
    expect(verdictOf(harness, old?.receipt)).toBe("valid");
  });

  test("respond-async and late certification are 202; the replay of what is not certified is, too", async () => {
    const claim = claimAbout(harness, "asynchronous");
    const headers = { authorization: `Bearer ${harness.key}`, prefer: "respond-async" };
    const asked = await post(claimBody(claim), headers);
    harness.node.isCertifying = false;
    const late = await postClaim(harness, claimAbout(harness, "late"));
    const replayed = await postClaim(harness, claim);
    harness.node.isCertifying = true;
    for (const { status, json, headers: answered } of [asked, late, replayed]) {
      expect(status).toBe(202);
      const { anchor, receipt } = createdSchema.parse(json);
      expect([anchor.finality, receipt]).toEqual(["committed", null]);
      expect(answered.location).toBe(`/v1/event-anchors/${anchor.anchor_id}`);
    }
    expect(createdSchema.parse(replayed.json).replayed).toBe(true);
  });
});

describe("what a claim is refused for", () => {
  const signed = (entity: string): Body => claimBody(claimAbout(harness, entity));

  test.each<[string, Body, string, string]>([
    ["no subject signature", { subject_signature: undefined }, "required", "/subject_signature"],
    ["a short signature", { issuer_signature: "ab".repeat(63) }, "wrong_format", "/issuer_signature"],
    ["a long key", { issuer_public_key: "ab".repeat(33) }, "wrong_format", "/issuer_public_key"],
    ["0x before a hash", { entity_fingerprint: `0x${hex(1)}` }, "wrong_format", "/entity_fingerprint"],
    ["attribute_type beyond 32 bits", { attribute_type: 2 ** 32 }, "too_large", "/attribute_type"],
    ["attribute_type of nine digits", { attribute_type: "0x100000000" }, "wrong_format", "/attribute_type"],
    ["attribute_type in decimal text", { attribute_type: "16" }, "wrong_format", "/attribute_type"],
    ["attribute_type without digits", { attribute_type: "0x" }, "wrong_format", "/attribute_type"],
    ["a time as text", { issued_at: "2026-01-01T00:00:00Z" }, "wrong_type", "/issued_at"],
    ["an event's field", { event_hash: hex(1) }, "unknown_field", "/event_hash"],
  ])("%s is 400, before the ledger is asked", async (_what, replaced, itemCode, pointer) => {
    const before = harness.node.submitted.length;
    const { status, json } = await post({ ...signed("malformed"), ...replaced });
    expect([status, json.code]).toEqual([400, "invalid_request"]);
    expect(json.errors[0]).toMatchObject({ pointer, code: itemCode });
    expect(harness.node.submitted).toHaveLength(before);
  });

  test.each<[string, () => Body, number, string, string]>([
    ["an unknown origin", () => ({ origin_fingerprint: hex(8) }), 409, "origin_unknown", "/origin_fingerprint"],
    ["another subject's signature", () => subjectOf("else"), 422, "signature_invalid", "/subject_signature"],
    ["another issuer's signature", () => issuerOf("else"), 422, "signature_invalid", "/issuer_signature"],
    [
      "a signature of zeros",
      () => ({ subject_signature: "00".repeat(64) }),
      422,
      "signature_invalid",
      "/subject_signature",
    ],
    ["signatures for another type", () => ({ attribute_type: 2 }), 422, "signature_invalid", "/subject_signature"],
  ])("%s: the code is stable, nothing is written", async (_what, replaced, status, code, pointer) => {
    const before = harness.node.leaves.length;
    const answer = await post({ ...signed("refused"), ...replaced() });
    const problem = problemSchema.parse(answer.json);
    expect([answer.status, problem.code]).toEqual([status, code]);
    expect(problem.errors?.[0]?.pointer).toBe(pointer);
    expect(harness.node.leaves).toHaveLength(before);
  });

  const subjectOf = (entity: string): Body => ({ subject_signature: signed(entity)["subject_signature"] });
  const issuerOf = (entity: string): Body => ({ issuer_signature: signed(entity)["issuer_signature"] });

  test.each<[string, object, number, string]>([
    ["issued in the future", { issuedAt: START_MS + 10_000_000 }, 422, "issued_in_future"],
    ["expired already", { expiresAt: START_MS }, 422, "window_invalid"],
    ["made by another issuer", { issuer: "usurper" }, 409, "claim_conflict"],
  ])("%s", async (_what, choices, status, code) => {
    await claimed(harness, "contested");
    const answer = await postClaim(harness, claimAbout(harness, "contested", { issuedAt: 1, ...choices }));
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("an origin that is closed takes no claim; the replay of one that it has is 200", async () => {
    const own = await startHarness();
    try {
      const held = claimAbout(own, "early");
      await postClaim(own, held);
      own.node.setOriginStatus(own.node.origin, "closed");
      const refused = await postClaim(own, claimAbout(own, "too late"));
      const replayed = await postClaim(own, held);
      expect([refused.status, refused.json.code]).toEqual([409, "origin_closed"]);
      expect(replayed.status).toBe(200);
    } finally {
      await own.close();
    }
  });

  test.each(["outcome_unknown", "no_leader", "overloaded", "clock_unsafe", "storage_full", "fenced"] as const)(
    "%s is 503 with Retry-After",
    async (code) => {
      harness.node.refusal = new RefusedError(code, "term 17", 2500);
      const answer = await postClaim(harness, claimAbout(harness, "unlucky"));
      harness.node.refusal = null;
      expect([answer.status, answer.json.code, answer.headers["retry-after"]]).toEqual([503, code, "3"]);
      expect(answer.text).not.toContain("term 17");
    },
  );

  test("a key without write is 403; bodies that are no JSON object are 400 and 415", async () => {
    const reader = { "x-api-key": harness.keyWith("claim reader", ["read", "revoke"]) };
    const key = { authorization: `Bearer ${harness.key}` };
    const answers = [
      await post(signed("nobody"), reader),
      await post("[]"),
      await post("", key),
      await post("{}", { ...key, "content-type": "text/plain" }),
      await post(`{"__proto__":${JSON.stringify(signed("nobody"))}}`),
    ];
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      [403, "scope_missing"],
      [400, "invalid_request"],
      [400, "json_invalid"],
      [415, "media_type_unsupported"],
      [400, "json_invalid"],
    ]);
  });
});

describe("the active claim of a pair", () => {
  test("is the newest; its type may be asked for in either spelling", async () => {
    await claimed(harness, "renewed", { attributeType: 31 });
    const newest = await claimed(harness, "renewed", { attributeType: 31, issuedAt: 5 });
    for (const spelling of [31, "0x1f", "0x0000001F"]) {
      const { status, json } = await find("renewed", spelling);
      expect(status).toBe(200);
      const { anchor, receipt, state } = activeClaimSchema.parse(json);
      expect([anchor.anchor_id, state]).toEqual([newest.anchor_id, "active"]);
      expect(anchor).toMatchObject({ state: "active", finality: "certified" });
      expect(verdictOf(harness, receipt)).toBe("valid");
    }
  });

  test("another type of the same entity is another pair", async () => {
    await claimed(harness, "typed", { attributeType: 1 });
    const { status, json } = await find("typed", 2);
    expect([status, json.code]).toEqual([404, "no_active_claim"]);
    expect(json).not.toHaveProperty("state");
    expect(json).not.toHaveProperty("anchor_id");
  });

  test("revoked: 404 with the last one's id and state", async () => {
    const claim = await claimed(harness, "ended");
    await harness.send("POST", `/v1/claim-anchors/${claim.anchor_id}/revoke`);
    const { status, json } = await find("ended");
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "no_active_claim", anchor_id: claim.anchor_id, state: "revoked" });
  });

  test("expired, by the clock of the node: 404 with the last one's id and state", async () => {
    const expiresAt = harness.clock.wallMs() + 1000;
    const claim = await claimed(harness, "passing", { expiresAt });
    expect((await find("passing")).status).toBe(200);
    harness.clock.offsetMs += 1001;
    const { status, json } = await find("passing");
    harness.clock.offsetMs = 0;
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "no_active_claim", anchor_id: claim.anchor_id, state: "expired" });
  });

  test("tables behind the read index are waited for", async () => {
    await claimed(harness, "lagging");
    harness.node.staleSelects = 2;
    expect((await find("lagging")).status).toBe(200);
    expect(harness.node.staleSelects).toBe(0);
  });

  test("a claim written after the read began is shown once a certificate covers it", async () => {
    const claim = await claimed(harness, "overtaking");
    harness.node.earlyReads = 1;
    const { status, json } = await find("overtaking");
    expect(harness.node.earlyReads).toBe(0);
    expect([status, activeClaimSchema.parse(json).anchor.anchor_id]).toEqual([200, claim.anchor_id]);
  });

  test.each([
    ["", "entity_fingerprint"],
    [`entity_fingerprint=${hex(1)}`, "attribute_type"],
    ["attribute_type=1", "entity_fingerprint"],
    [`entity_fingerprint=${hex(1)}&attribute_type=-1`, "attribute_type"],
    [`entity_fingerprint=${hex(1)}&attribute_type=ff`, "attribute_type"],
    [`entity_fingerprint=${hex(1)}&attribute_type=0x`, "attribute_type"],
    [`entity_fingerprint=${hex(1)}&attribute_type=4294967296`, "attribute_type"],
    [`entity_fingerprint=${hex(1)}&attribute_type=0x100000000`, "attribute_type"],
    [`entity_fingerprint=${hex(1)}&attribute_type=1.0`, "attribute_type"],
    [`entity_fingerprint=${hex(1).slice(1)}&attribute_type=1`, "entity_fingerprint"],
    [`entity_fingerprint=${hex(1)}&attribute_type=1&state=revoked`, "state"],
    [`entity_fingerprint=${hex(1)}&attribute_type=1&attribute_type=1`, "attribute_type"],
  ])("?%s is 400 and names the parameter", async (query, parameter) => {
    const { status, json } = await harness.send("GET", `/v1/claim-anchors?${query}`);
    expect([status, json.code]).toEqual([400, "invalid_request"]);
    expect(json.errors[0]).toMatchObject({ parameter });
  });

  test("a grant's name on the claims' path is no route for it", async () => {
    const [grantor, grantee] = [await claimed(harness, "grantor"), await claimed(harness, "grantee")];
    const parties = { grantorClaim: grantor.anchor_id, granteeClaim: grantee.anchor_id, grantor: "grantor" };
    const grant = await granted(harness, parties);
    const revoked = await harness.send("POST", `/v1/claim-anchors/${grant.anchor_id}/revoke`);
    expect([revoked.status, revoked.json.code]).toEqual([409, "wrong_kind"]);
  });
});
