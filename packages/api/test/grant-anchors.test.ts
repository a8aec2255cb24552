import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { activeGrantSchema, createdSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { grantBody } from "@event-anchoring/testkit/records";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { seedOf } from "./fake-cluster.ts";
import { START_MS } from "./fake-node.ts";
import { claimAbout, claimed, grantOf, granted, hex, postClaim, postGrant } from "./records.ts";
import type { Body, GrantChoices } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

/** Entities of their own for every test: claims and grants of one never touch those of another. */
let round = 0;
let deployer: AnchorJson;
let agent: AnchorJson;
const names = { deployer: "", agent: "", worker: "" };
beforeEach(async () => {
  round += 1;
  for (const name of ["deployer", "agent", "worker"] as const) names[name] = `${name} ${round}`;
  deployer = await claimed(harness, names.deployer);
  agent = await claimed(harness, names.agent);
});

const toAgent = (choices: Partial<GrantChoices> = {}): GrantChoices => ({
  grantorClaim: deployer.anchor_id,
  granteeClaim: agent.anchor_id,
  grantor: names.deployer,
  depth: 2,
  ...choices,
});
const between = (grantor: string, grantee: string): Promise<Answer> => {
  const [from, to] = [grantor, grantee].map((entity) => bytesToHex(seedOf(`entity ${entity}`)));
  return harness.send("GET", `/v1/grant-anchors?grantor_fingerprint=${from}&grantee_fingerprint=${to}`);
};

describe("creating a grant", () => {
  test("201 carries the grant as it was signed, active, with a receipt that verifies offline", async () => {
    const body = grantBody(grantOf(harness, toAgent({ issuedAt: START_MS, expiresAt: START_MS + 1_000_000 })));
    const { status, json, headers } = await harness.send("POST", "/v1/grant-anchors", body);
    expect(status).toBe(201);
    const { anchor, receipt } = createdSchema.parse(json);
    expect(anchor).toMatchObject({ kind: "grant", ...body, state: "active", parent_grant_ref: null });
    expect(headers.location).toBe(`/v1/event-anchors/${anchor.anchor_id}`);
    expect(verdictOf(harness, receipt)).toBe("valid");
  });

  test("an empty parent in any of its spellings is none; the same grant again is 200", async () => {
    const body = grantBody(grantOf(harness, toAgent()));
    const answers: Answer[] = [];
    for (const parent_grant_ref of [undefined, null, "", hex(0)]) {
      answers.push(await harness.send("POST", "/v1/grant-anchors", { ...body, parent_grant_ref }));
    }
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200]);
    expect(createdSchema.parse(answers[3]?.json)).toMatchObject({ replayed: true, anchor: { state: "active" } });
  });

  test("a replay shows what has become of the grant since: a claim that it names was revoked", async () => {
    const grant = grantOf(harness, toAgent());
    await postGrant(harness, grant);
    await harness.send("POST", `/v1/claim-anchors/${agent.anchor_id}/revoke`);
    const { status, json } = await postGrant(harness, grant);
    expect(status).toBe(200);
    expect(createdSchema.parse(json).anchor).toMatchObject({ state: "revoked" });
  });
});

describe("what a grant is refused for", () => {
  test.each<[string, Body, string]>([
    ["no witness signature", { witness_signature: undefined }, "/witness_signature"],
    ["an empty grantor claim", { grantor_claim_ref: "" }, "/grantor_claim_ref"],
    ["no grantee claim", { grantee_claim_ref: null }, "/grantee_claim_ref"],
    ["a negative depth as text", { delegation_depth: "-1" }, "/delegation_depth"],
    ["a depth beyond 32 bits", { delegation_depth: 2 ** 32 }, "/delegation_depth"],
    ["a depth in hexadecimal", { delegation_depth: "0x1" }, "/delegation_depth"],
    ["a scope that is no hash", { scope_hash: "everything" }, "/scope_hash"],
    ["a claim's field", { attribute_type: 1 }, "/attribute_type"],
  ])("%s is 400, before the ledger is asked", async (_what, replaced, pointer) => {
    const before = harness.node.submitted.length;
    const { status, json } = await postGrant(harness, grantOf(harness, toAgent()), replaced);
    expect([status, json.code, json.errors[0]?.pointer]).toEqual([400, "invalid_request", pointer]);
    expect(harness.node.submitted).toHaveLength(before);
  });

  test.each<[string, Body, number, string]>([
    ["an unknown origin", { origin_fingerprint: hex(8) }, 409, "origin_unknown"],
    ["a depth that was not signed", { delegation_depth: 9 }, 422, "signature_invalid"],
  ])("%s", async (_what, replaced, status, code) => {
    const answer = await postGrant(harness, grantOf(harness, toAgent()), replaced);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test.each<[string, () => Partial<GrantChoices>, string, string]>([
    ["an unknown claim", () => ({ granteeClaim: hex(9) }), "reference_not_found", "/grantee_claim_ref"],
    ["an unknown parent", () => ({ parent: hex(9) }), "reference_not_found", "/parent_grant_ref"],
    ["a claim for a parent", () => ({ parent: agent.anchor_id }), "reference_wrong_kind", "/parent_grant_ref"],
    ["issued in the future", () => ({ issuedAt: START_MS + 10_000_000 }), "issued_in_future", "/issued_at"],
    ["expired already", () => ({ expiresAt: START_MS }), "window_invalid", "/expires_at"],
    ["a window without a moment", () => ({ notBefore: 9e12, expiresAt: 9e12 }), "window_invalid", "/not_before"],
    [
      "signed by another than the claim's subject",
      () => ({ grantor: "else" }),
      "grantor_key_mismatch",
      "/grantor_public_key",
    ],
    ["witnessed by the grantor", () => ({ witness: names.deployer }), "witness_is_grantor", "/witness_public_key"],
  ])("%s is 422", async (_what, choices, code, pointer) => {
    const before = harness.node.leaves.length;
    const { status, json } = await postGrant(harness, grantOf(harness, toAgent(choices())));
    expect([status, json.code]).toEqual([422, code]);
    expect(json.errors[0]?.pointer).toBe(pointer);
    expect(harness.node.leaves).toHaveLength(before);
  });

  test("a claim that is superseded, and a parent that is revoked, are not in force", async () => {
    const superseded = toAgent();
    await claimed(harness, names.agent, { issuedAt: 1 });
    const byOld = await postGrant(harness, grantOf(harness, superseded));
    expect([byOld.status, byOld.json.code]).toEqual([422, "claim_not_in_force"]);
    const parent = await granted(harness, toAgent({ granteeClaim: (await newestOf(names.agent)).anchor_id }));
    await harness.send("POST", `/v1/grant-anchors/${parent.anchor_id}/revoke`);
    const below = await postGrant(harness, grantOf(harness, await toWorker(parent)));
    expect([below.status, below.json.code]).toEqual([422, "grant_not_in_force"]);
  });

  test("a parent to somebody else, no depth left, and a window wider than the parent's", async () => {
    const expiresAt = START_MS + 2_000_000;
    const parent = await granted(harness, toAgent({ depth: 1, expiresAt }));
    const worker = await toWorker(parent);
    const codes: unknown[] = [];
    for (const choices of [
      { ...worker, grantorClaim: deployer.anchor_id, grantor: names.deployer },
      { ...worker, depth: 1 },
      { ...worker, expiresAt: expiresAt + 1 },
      worker,
    ]) {
      const { status, json } = await postGrant(harness, grantOf(harness, choices));
      codes.push([status, json.code]);
    }
    expect(codes).toEqual([
      [422, "parent_mismatch"],
      [422, "depth_exceeded"],
      [422, "window_outside_parent"],
      [201, undefined],
    ]);
  });

  const newestOf = async (entity: string): Promise<AnchorJson> => claimed(harness, entity, { issuedAt: 2 });
  const toWorker = async (parent: AnchorJson): Promise<GrantChoices> => ({
    grantorClaim: (parent as Extract<AnchorJson, { kind: "grant" }>).grantee_claim_ref,
    granteeClaim: (await claimed(harness, names.worker)).anchor_id,
    grantor: names.agent,
    parent: parent.anchor_id,
  });
});

describe("the grant in force between two entities", () => {
  test("is the newest of its lineages, whole, with a receipt", async () => {
    await granted(harness, toAgent());
    const newest = await granted(harness, toAgent({ issuedAt: 1 }));
    const { status, json } = await between(names.deployer, names.agent);
    expect(status).toBe(200);
    const { anchor, receipt, state, others } = activeGrantSchema.parse(json);
    expect([anchor.anchor_id, state, others]).toEqual([newest.anchor_id, "active", 0]);
    expect(anchor).toMatchObject({ state: "active", finality: "certified" });
    expect(verdictOf(harness, receipt)).toBe("valid");
  });

  test("has others beside it where an entity has several lineages; the oldest lineages answer", async () => {
    const second = await claimed(harness, names.agent, { attributeType: 2 });
    await granted(harness, toAgent({ granteeClaim: second.anchor_id }));
    const oldest = await granted(harness, toAgent());
    const answer = activeGrantSchema.parse((await between(names.deployer, names.agent)).json);
    expect([answer.anchor.anchor_id, answer.others]).toEqual([oldest.anchor_id, 1]);
  });

  test.each<[string, (grant: AnchorJson) => Promise<unknown>, string]>([
    ["it is revoked", (grant) => harness.send("POST", `/v1/grant-anchors/${grant.anchor_id}/revoke`), "revoked"],
    ["its grantor's claim is", () => harness.send("POST", `/v1/claim-anchors/${deployer.anchor_id}/revoke`), "revoked"],
    ["its time is over", () => Promise.resolve((harness.clock.offsetMs = 300_000)), "expired"],
  ])("%s: 404 with the newest one's id and state", async (_what, end, state) => {
    const grant = await granted(harness, toAgent({ expiresAt: START_MS + 300_000 }));
    await end(grant);
    const { status, json } = await between(names.deployer, names.agent);
    harness.clock.offsetMs = 0;
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "no_active_grant", anchor_id: grant.anchor_id, state });
  });

  test("one whose window has not begun is not in force, and has not ended", async () => {
    const grant = await granted(harness, toAgent({ notBefore: START_MS + 10_000_000 }));
    const { status, json } = await between(names.deployer, names.agent);
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "no_active_grant", anchor_id: grant.anchor_id, state: "active" });
  });

  test("it falls with any grant above it", async () => {
    const root = await granted(harness, toAgent());
    const worker = await claimed(harness, names.worker);
    const parties = { grantorClaim: agent.anchor_id, granteeClaim: worker.anchor_id, grantor: names.agent };
    const leaf = await granted(harness, { ...parties, parent: root.anchor_id });
    expect((await between(names.agent, names.worker)).status).toBe(200);
    await granted(harness, toAgent({ issuedAt: 1 }));
    const { status, json } = await between(names.agent, names.worker);
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "no_active_grant", anchor_id: leaf.anchor_id, state: "superseded" });
  });

  test("is looked for at one position, whatever is decided while it is looked for", async () => {
    const root = await granted(harness, toAgent());
    const worker = await claimed(harness, names.worker);
    const underIt = (parent: AnchorJson, issuedAt = 0): GrantChoices => ({
      grantorClaim: agent.anchor_id,
      granteeClaim: worker.anchor_id,
      grantor: names.agent,
      parent: parent.anchor_id,
      issuedAt,
    });
    const first = await granted(harness, underIt(root));
    const { reads } = harness.node;
    const grantsBetween = reads.grantsBetween.bind(reads);
    // At no position is there no grant in force: in one moment the parent is granted anew, and what hangs on it.
    reads.grantsBetween = async (...args) => {
      reads.grantsBetween = grantsBetween;
      const found = await grantsBetween(...args);
      await granted(harness, underIt(await granted(harness, toAgent({ issuedAt: 1 })), 1));
      return found;
    };
    const { status, json } = await between(names.agent, names.worker);
    expect([status, json.anchor.anchor_id]).toEqual([200, first.anchor_id]);
    expect((await between(names.agent, names.worker)).json.anchor.anchor_id).not.toBe(first.anchor_id);
  });

  test("there never was one: 404 without an id; the other direction is another pair", async () => {
    await granted(harness, toAgent());
    const { status, json } = await between(names.agent, names.deployer);
    expect([status, json.code]).toEqual([404, "no_active_grant"]);
    expect(json).not.toHaveProperty("anchor_id");
  });

  test.each([
    ["", "grantor_fingerprint"],
    [`grantor_fingerprint=${hex(1)}`, "grantee_fingerprint"],
    [`grantor_fingerprint=${hex(1)}&grantee_fingerprint=0x${hex(1)}`, "grantee_fingerprint"],
    [`grantor_fingerprint=${hex(1)}&grantee_fingerprint=${hex(2)}&limit=1`, "limit"],
  ])("?%s is 400 and names the parameter", async (query, parameter) => {
    const { status, json } = await harness.send("GET", `/v1/grant-anchors?${query}`);
    expect([status, json.code]).toEqual([400, "invalid_request"]);
    expect(json.errors[0]).toMatchObject({ parameter });
  });
});

test("a claim posted to the grants' path, and the other way round, is 400", async () => {
  const claim = claimAbout(harness, names.worker);
  await postClaim(harness, claim);
  const { status, json } = await harness.send("POST", "/v1/claim-anchors", grantBody(grantOf(harness, toAgent())));
  expect([status, json.code]).toEqual([400, "invalid_request"]);
});
