import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  verifiedBatchSchema,
  verifiedClaimSchema,
  verifiedGrantSchema,
  verifiedSchema,
} from "@event-anchoring/api-contract";
import type { AnchorJson, VerifiedGrantAnswer } from "@event-anchoring/api-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { StoreError } from "@event-anchoring/store";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { delegated, grantedBetween, revoked } from "./delegation.ts";
import type { Delegation } from "./delegation.ts";
import { START_MS } from "./fake-node.ts";
import { anchorOf, claimed, hex, revocationOf, signedEvent } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

let names: Delegation["names"];
let claims: Delegation["claims"];
let upper: AnchorJson;
let lower: AnchorJson;
beforeEach(async () => {
  ({ names, claims, upper, lower } = await delegated(harness));
});

const verifyClaim = (body: object): Promise<Answer> => harness.send("POST", "/v1/claim-anchors:verify", body);
const verifyGrant = (body: object): Promise<Answer> => harness.send("POST", "/v1/grant-anchors:verify", body);
const revoke = (target: AnchorJson, body?: object): Promise<AnchorJson> => revoked(harness, target, body);

async function grantAnswer(body: object): Promise<VerifiedGrantAnswer> {
  const { status, json, text } = await verifyGrant(body);
  if (status !== 200) throw new Error(text);
  return verifiedGrantSchema.parse(json);
}

function failing({ checks }: { checks: readonly { code: string; result: string }[] }): string[] {
  return checks.filter(({ result }) => result === "fail").map(({ code }) => code);
}

describe("verifying a claim", () => {
  test("a good one is valid, active, and comes with a receipt that verifies offline", async () => {
    const { status, json } = await verifyClaim({ anchor_id: claims.agent.anchor_id });
    const answer = verifiedClaimSchema.parse(json);
    expect([status, answer.valid, answer.state, failing(answer)]).toEqual([200, true, "active", []]);
    expect(answer.anchor).toEqual(claims.agent);
    expect(answer.revocations).toEqual([]);
    expect(verdictOf(harness, answer.receipt)).toBe("valid");
  });

  test("a revoked one says where and by what, and is good right before", async () => {
    const revocation = await revoke(claims.agent, revocationOf(claims.agent, { revoker: names.agent }));
    const now = verifiedClaimSchema.parse((await verifyClaim({ anchor_id: claims.agent.anchor_id })).json);
    expect([now.valid, now.state, failing(now)]).toEqual([false, "revoked", ["revocation"]]);
    expect(now.anchor).toMatchObject({ state: "revoked" });
    expect(now.revocations).toEqual([{ anchor: revocation, target_anchor_id: claims.agent.anchor_id }]);
    const as_of = revocation.sequence - 1;
    const before = verifiedClaimSchema.parse((await verifyClaim({ anchor_id: claims.agent.anchor_id, as_of })).json);
    expect([before.valid, before.state, before.revocations]).toEqual([true, "active", []]);
    expect(before.as_of).toMatchObject({ sequence: as_of });
  });

  test("a renewed one is superseded, its renewal stands", async () => {
    const renewed = await claimed(harness, names.agent, { issuedAt: START_MS });
    const old = verifiedClaimSchema.parse((await verifyClaim({ anchor_id: claims.agent.anchor_id })).json);
    expect([old.valid, old.state, failing(old)]).toEqual([false, "superseded", ["superseded"]]);
    const young = verifiedClaimSchema.parse((await verifyClaim({ anchor_id: renewed.anchor_id })).json);
    expect([young.valid, young.state]).toEqual([true, "active"]);
  });

  test("as_of a time is the position of the last leaf that old", async () => {
    const expiresAt = START_MS + 50_000;
    const { anchor_id, accepted_at } = await claimed(harness, `guest ${names.root}`, { expiresAt });
    const at = async (as_of: string | number | null) =>
      verifiedClaimSchema.parse((await verifyClaim({ anchor_id, as_of })).json);
    expect(await at(accepted_at)).toMatchObject({ valid: true, state: "active" });
    expect(await at(new Date(expiresAt - 1).toISOString())).toMatchObject({ valid: true, state: "active" });
    const late = await at(new Date(expiresAt).toISOString());
    expect([late.valid, late.state, failing(late)]).toEqual([false, "expired", ["window"]]);
    expect(await at(null)).toMatchObject({ valid: false, state: "expired" });
    expect(failing(await at(new Date(START_MS - 1).toISOString()))).toContain("exists");
  });

  test("nothing exists before the first leaf", async () => {
    const { status, json } = await verifyClaim({ anchor_id: claims.agent.anchor_id, as_of: "1970-01-01T00:00:00Z" });
    const answer = verifiedClaimSchema.parse(json);
    expect([status, answer.valid, answer.as_of.sequence]).toEqual([200, false, null]);
    expect(failing(answer)).toContain("exists");
  });

  test("a claim younger than as_of does not exist there", async () => {
    const as_of = claims.root.sequence;
    const answer = verifiedClaimSchema.parse((await verifyClaim({ anchor_id: claims.agent.anchor_id, as_of })).json);
    expect([answer.valid, failing(answer)]).toEqual([false, ["exists"]]);
  });

  test.each<[string, () => object, number, string]>([
    ["an unknown id", () => ({ anchor_id: hex(9) }), 404, "anchor_not_found"],
    ["a grant", () => ({ anchor_id: lower.anchor_id }), 409, "wrong_kind"],
    ["a position yet to come", () => ({ anchor_id: claims.agent.anchor_id, as_of: 1e6 }), 400, "as_of_future"],
    ["trusted roots", () => ({ anchor_id: claims.agent.anchor_id, trusted_roots: [] }), 400, "invalid_request"],
    ["no id", () => ({}), 400, "invalid_request"],
  ])("%s is %#", async (_what, body, status, code) => {
    const answer = await verifyClaim(body());
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });
});

describe("verifying a grant", () => {
  test("a good one shows the delegation it stands on", async () => {
    const answer = await grantAnswer({ anchor_id: lower.anchor_id });
    expect([answer.valid, answer.state, failing(answer)]).toEqual([true, "active", []]);
    expect(answer.delegation.map((hop) => [hop.grant, hop.grantor_claim, hop.grantee_claim])).toEqual([
      [lower, claims.deployer, claims.agent],
      [upper, claims.root, claims.deployer],
    ]);
    expect(answer.delegation_omitted).toBe(0);
    expect(answer.checks.find(({ code }) => code === "root_authority")?.result).toBe("not_checked");
    expect(verdictOf(harness, answer.receipt)).toBe("valid");
  });

  test("trusted roots decide: by lineage, and an id that is none trusts nobody", async () => {
    const renewed = await claimed(harness, names.root, { issuedAt: START_MS });
    const valid = async (...trusted_roots: string[]) =>
      (await grantAnswer({ anchor_id: lower.anchor_id, trusted_roots })).valid;
    expect(await valid(claims.root.anchor_id)).toBe(true);
    expect(await valid(hex(7), renewed.anchor_id)).toBe(true);
    expect(await valid(claims.deployer.anchor_id)).toBe(false);
    expect(await valid(hex(7))).toBe(false);
    expect(await valid(lower.anchor_id)).toBe(false);
  });

  test.each<[string, () => Promise<AnchorJson>, string[]]>([
    ["itself", () => revoke(lower), ["revocation"]],
    ["its parent", () => revoke(upper), ["delegation_chain", "revocation"]],
    ["its grantee's claim", () => revoke(claims.agent), ["grantee_claim", "revocation"]],
    ["the claim between", () => revoke(claims.deployer), ["delegation_chain", "grantor_claim", "revocation"]],
    ["the root's claim", () => revoke(claims.root), ["delegation_chain", "revocation"]],
  ])("a revocation of %s ends it, and it is good right before", async (_what, revokeIt, codes) => {
    const revocation = await revokeIt();
    const now = await grantAnswer({ anchor_id: lower.anchor_id });
    expect([now.valid, now.state, failing(now)]).toEqual([false, "revoked", codes]);
    expect(now.revocations.map(({ anchor }) => anchor)).toEqual([revocation]);
    expect(now.delegation[0]?.grant).toMatchObject({ state: "revoked" });
    const before = await grantAnswer({ anchor_id: lower.anchor_id, as_of: revocation.sequence - 1 });
    expect([before.valid, before.state, before.revocations]).toEqual([true, "active", []]);
    expect(before.delegation.map(({ grant }) => grant)).toEqual([lower, upper]);
  });

  test("a newer grant between the same two supersedes it, and what hangs on it", async () => {
    await grantedBetween(harness, { names, claims }, "root", "deployer", { depth: 5 });
    const old = await grantAnswer({ anchor_id: upper.anchor_id });
    expect([old.state, failing(old)]).toEqual(["superseded", ["superseded"]]);
    const below = await grantAnswer({ anchor_id: lower.anchor_id });
    expect([below.state, failing(below)]).toEqual(["superseded", ["delegation_chain"]]);
  });

  test("a claim is wrong_kind, an unknown id not found", async () => {
    const wrong = await verifyGrant({ anchor_id: claims.root.anchor_id });
    const unknown = await verifyGrant({ anchor_id: hex(9) });
    expect([wrong.status, wrong.json.code]).toEqual([409, "wrong_kind"]);
    expect([unknown.status, unknown.json.code]).toEqual([404, "anchor_not_found"]);
  });

  test("tables that lag are waited for, tables that fail are 503", async () => {
    harness.node.tables.staleSelects = 3;
    expect(await grantAnswer({ anchor_id: lower.anchor_id })).toMatchObject({ valid: true });
    harness.node.tables.failure = new StoreError("unavailable", "no connection");
    const failed = await verifyGrant({ anchor_id: lower.anchor_id });
    harness.node.tables.failure = null;
    expect([failed.status, failed.json.code]).toEqual([503, "unavailable"]);
  });
});

describe("verifying any kind", () => {
  test("batchVerify takes claims, grants and events alike, each with its state at as_of", async () => {
    const revocation = await revoke(upper);
    const ids = [claims.root, upper, lower, revocation].map(({ anchor_id }) => anchor_id);
    const verify = async (as_of: number | null) => {
      const anchors = [...ids, hex(9)].map((anchor_id) => ({ anchor_id }));
      const { json } = await harness.send("POST", "/v1/event-anchors:batchVerify", { anchors, as_of });
      return verifiedBatchSchema.parse(json);
    };
    const now = await verify(null);
    expect(now.summary).toEqual({ total: 5, valid: 4, invalid: 0, not_found: 1 });
    const states = (answer: typeof now) =>
      answer.results.map(({ anchor }) => (anchor !== undefined && "state" in anchor ? anchor.state : null));
    expect(states(now)).toEqual(["active", "revoked", "revoked", null, null]);
    const before = await verify(revocation.sequence - 1);
    expect(states(before)).toEqual(["active", "active", "active", null, null]);
    expect(before.summary).toEqual({ total: 5, valid: 3, invalid: 1, not_found: 1 });
  });

  test.each([
    ["the claim's subject", () => names.agent, "pass"],
    ["somebody else", () => "mallory", "fail"],
  ])("an event signed by %s says whether they are the subject of the claim it names", async (_who, actor, result) => {
    const irisRef = hexToBytes(claims.agent.anchor_id, 32);
    const event = await anchorOf(
      harness.send("POST", "/v1/event-anchors", signedEvent(harness, actor(), { semanticAnchor: { irisRef } })),
    );
    const { json } = await harness.send("POST", "/v1/event-anchors:verify", { anchor_id: event.anchor_id });
    const answer = verifiedSchema.parse(json);
    expect(answer.valid).toBe(true);
    expect(answer.checks.find(({ code }) => code === "actor_is_iris_subject")?.result).toBe(result);
  });
});
