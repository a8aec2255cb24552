import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { LIMITS, createdSchema, traceSchema } from "@event-anchoring/api-contract";
import type { AnchorJson, TraceAnswer } from "@event-anchoring/api-contract";
import { LIMITS as LEDGER_LIMITS } from "@event-anchoring/ledger";
import { LoadedRecords, TRACE_LIMITS } from "@event-anchoring/records";
import { hexToBytes } from "@event-anchoring/protocol";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { LOWER_EXPIRES_AT, delegated, revoked } from "./delegation.ts";
import type { Delegation } from "./delegation.ts";
import { START_MS } from "./fake-node.ts";
import { anchorOf, claimed, granted, hex, signedEvent } from "./records.ts";

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

async function act(claim: AnchorJson | null, grant: AnchorJson | null): Promise<AnchorJson> {
  const semantic_anchor = { iris_ref: claim?.anchor_id ?? null, grant_ref: grant?.anchor_id ?? null };
  const body = { origin_fingerprint: harness.origin, event_hash: hex(1), semantic_anchor };
  return createdSchema.parse((await harness.send("POST", "/v1/event-anchors", body)).json).anchor;
}

const revoke = (target: AnchorJson, body?: object): Promise<AnchorJson> => revoked(harness, target, body);

async function trace({ anchor_id }: AnchorJson, query = ""): Promise<TraceAnswer> {
  const { status, json, text } = await harness.send("GET", `/v1/event-anchors/${anchor_id}/trace?${query}`);
  if (status !== 200) throw new Error(text);
  return traceSchema.parse(json);
}

describe("an authorised act", () => {
  test("is traced to who acted, who delegated, and within what bounds", async () => {
    const event = await act(claims.agent, lower);
    const answer = await trace(event, `trusted_roots=${claims.root.anchor_id}`);
    expect(answer).toMatchObject({
      anchor: event,
      authorised_at_action: true,
      authorised_now: true,
      suspect: false,
      reasons: [],
      actor: { claim: claims.agent, state: "active", actor_signature: "not_checked" },
      delegation_omitted: 0,
      boundary: {
        depth: { granted: 2, used: 1, left: 1 },
        window: { not_before: 0, expires_at: LOWER_EXPIRES_AT },
      },
      root_authority: "pass",
      possible_parents: [],
      revocations: [],
      violations: [],
      references: [
        { field: "iris_ref", anchor_id: claims.agent.anchor_id, exists: true, kind: "claim" },
        { field: "grant_ref", anchor_id: lower.anchor_id, exists: true, kind: "grant" },
      ],
    });
    expect(answer.delegation.map((hop) => [hop.grant, hop.grantor_claim, hop.grantee_claim])).toEqual([
      [lower, claims.deployer, claims.agent],
      [upper, claims.root, claims.deployer],
    ]);
    expect(answer.parents.items[0]).toEqual(lower);
    expect(answer.eea.anchor_id).toBe(event.anchor_id);
  });

  test("signed by the subject of the claim, the actor's signature passes; by another, it is a violation", async () => {
    const semanticAnchor = {
      irisRef: hexToBytes(claims.agent.anchor_id, 32),
      grantRef: hexToBytes(lower.anchor_id, 32),
    };
    const signed = async (actor: string): Promise<TraceAnswer> =>
      trace(await anchorOf(harness.send("POST", "/v1/event-anchors", signedEvent(harness, actor, { semanticAnchor }))));
    expect(await signed(names.agent)).toMatchObject({
      actor_proven: true,
      authorised_at_action: true,
      actor: { actor_signature: "pass" },
      violations: [],
    });
    expect(await signed("mallory")).toMatchObject({
      actor_proven: false,
      authorised_at_action: false,
      authorised_now: false,
      reasons: [
        { verdict: "at_action", code: "actor_key_mismatch", anchor_id: claims.agent.anchor_id },
        { verdict: "now", code: "actor_key_mismatch", anchor_id: claims.agent.anchor_id },
      ],
      actor: { actor_signature: "fail" },
      violations: [{ code: "actor_key_mismatch" }],
    });
  });
});

describe("what has become of an act", () => {
  test.each<[string, () => AnchorJson, string[]]>([
    ["the grant", () => lower, ["grant_revoked"]],
    ["its parent", () => upper, ["grant_revoked"]],
    ["the actor's claim", () => claims.agent, ["claim_revoked", "grantee_claim_revoked"]],
    ["the root's claim", () => claims.root, ["grantor_claim_revoked"]],
  ])("a revocation of %s tells the act before it from the act after it", async (_what, target, codes) => {
    const before = await act(claims.agent, lower);
    const anchor = target();
    const revocation = await revoke(anchor);
    const after = await act(claims.agent, lower);
    const first = await trace(before);
    expect([first.authorised_at_action, first.authorised_now]).toEqual([true, false]);
    expect(first.reasons).toEqual(
      codes.map((code) => ({ verdict: "now", code, anchor_id: anchor.anchor_id, sequence: revocation.sequence })),
    );
    expect(first.revocations).toEqual([
      { anchor: revocation, target_anchor_id: anchor.anchor_id, before_action: false },
    ]);
    const second = await trace(after);
    expect([second.authorised_at_action, second.authorised_now]).toEqual([false, false]);
    expect(second.revocations).toMatchObject([{ before_action: true }]);
    const earlier = await trace(before, `as_of=${before.sequence}`);
    expect([earlier.authorised_at_action, earlier.authorised_now, earlier.revocations]).toEqual([true, true, []]);
  });

  test("a renewed claim acts for the same lineage; the old one no longer", async () => {
    const renewed = await claimed(harness, names.agent, { issuedAt: START_MS });
    const [old, young] = [await act(claims.agent, lower), await act(renewed, lower)];
    expect(await trace(old)).toMatchObject({
      authorised_at_action: false,
      actor: { state: "superseded", claim: { state: "superseded" } },
      reasons: [
        { verdict: "at_action", code: "claim_superseded", sequence: renewed.sequence },
        { verdict: "now", code: "claim_superseded" },
      ],
    });
    expect(await trace(young)).toMatchObject({ authorised_at_action: true, reasons: [] });
  });

  test("claims that a lineage went on to are listed: the newest at the act, and at as_of", async () => {
    expect((await trace(lower)).lineage_claims).toBeUndefined();
    const second = await claimed(harness, names.deployer, { issuedAt: 1 });
    const event = await act(claims.agent, lower);
    const third = await claimed(harness, names.deployer, { issuedAt: 2 });
    const fourth = await claimed(harness, names.deployer, { issuedAt: 3 });
    const { lineage_claims: listed, authorised_now: isAuthorised } = await trace(event);
    expect(isAuthorised).toBe(true);
    expect(listed).toEqual([{ ...second, state: "superseded" }, fourth]);
    const { lineage_claims: before } = await trace(event, `as_of=${third.sequence}`);
    expect(before).toEqual([{ ...second, state: "superseded" }, third]);
    const [named] = (await trace(claims.deployer)).lineage_claims ?? [];
    expect(named).toEqual(fourth);
  });

  test("suspicion is shown and changes no verdict", async () => {
    const event = await act(claims.agent, lower);
    await revoke(lower, { suspect_since: event.accepted_ms });
    expect(await trace(event)).toMatchObject({ suspect: true, authorised_at_action: true });
    const later = await act(claims.agent, lower);
    await revoke(upper, { suspect_since: later.accepted_ms + 1_000 });
    expect(await trace(event, `as_of=${event.sequence}`)).toMatchObject({ suspect: false });
  });

  test("without the references that would decide, it is unknown", async () => {
    const codes = async (event: AnchorJson): Promise<string[]> => {
      const { authorised_at_action, authorised_now, reasons } = await trace(event);
      expect([authorised_at_action, authorised_now]).toEqual(["unknown", "unknown"]);
      return reasons.filter(({ verdict }) => verdict === "now").map(({ code }) => code);
    };
    expect(await codes(await act(null, lower))).toEqual(["iris_ref_empty"]);
    expect(await codes(await act(claims.agent, null))).toEqual(["grant_ref_empty"]);
    expect(await codes(lower)).toEqual(["not_an_event"]);
    expect(await codes(claims.root)).toEqual(["not_an_event"]);
    expect(await codes(await revoke(upper))).toEqual(["not_an_event"]);
  });
});

describe("where authority comes from", () => {
  test("grants in force to the root grantor are its possible parents", async () => {
    const event = await act(claims.agent, lower);
    const board = await claimed(harness, `board ${names.root}`);
    const council = await claimed(harness, `council ${names.root}`);
    const toRoot = (claim: AnchorJson, grantor: string): Promise<AnchorJson> =>
      granted(harness, { grantorClaim: claim.anchor_id, granteeClaim: claims.root.anchor_id, grantor });
    const first = await toRoot(board, `board ${names.root}`);
    const second = await toRoot(council, `council ${names.root}`);
    expect((await trace(event)).possible_parents).toEqual([first.anchor_id, second.anchor_id]);
    expect((await trace(event, `as_of=${first.sequence}`)).possible_parents).toEqual([first.anchor_id]);
    await revoke(board);
    expect((await trace(event)).possible_parents).toEqual([second.anchor_id]);
  });

  test("trusted roots are compared with the root grant alone", async () => {
    const event = await act(claims.agent, lower);
    expect((await trace(event)).root_authority).toBe("not_checked");
    expect((await trace(event, `trusted_roots=${claims.deployer.anchor_id}`)).root_authority).toBe("fail");
    expect((await trace(event, `trusted_roots=${hex(9)},${claims.root.anchor_id}`)).root_authority).toBe("pass");
  });

  test("a grant shows its own delegation, and claims of other references are not on the way", async () => {
    const { delegation, boundary } = await trace(lower);
    expect(delegation.map(({ grant }) => grant.anchor_id)).toEqual([lower.anchor_id, upper.anchor_id]);
    expect(boundary?.depth).toEqual({ granted: 2, used: 1, left: 1 });
    const other = await claimed(harness, `other ${names.root}`);
    const semantic_anchor = { iris_ref: claims.agent.anchor_id, grant_ref: lower.anchor_id, bond_ref: other.anchor_id };
    const body = { origin_fingerprint: harness.origin, event_hash: hex(1), semantic_anchor };
    const event = await anchorOf(harness.send("POST", "/v1/event-anchors", body));
    await revoke(other);
    expect(await trace(event)).toMatchObject({ authorised_now: true, revocations: [] });
  });

  /** An event at the end of so many grants, each under the one before. */
  async function actAfter(hops: number, depth: number): Promise<{ event: AnchorJson; grants: readonly AnchorJson[] }> {
    const grants: AnchorJson[] = [];
    let grantor = await claimed(harness, `link ${names.root} 0`);
    for (let at = 0; at < hops; at++) {
      const grantee = await claimed(harness, `link ${names.root} ${at + 1}`);
      const parent = grants.at(-1)?.anchor_id;
      const refs = { grantorClaim: grantor.anchor_id, granteeClaim: grantee.anchor_id };
      const chained = parent === undefined ? {} : { parent };
      const by = { grantor: `link ${names.root} ${at}`, depth: depth - at };
      grants.push(await granted(harness, { ...refs, ...chained, ...by }));
      grantor = grantee;
    }
    return { event: await act(grantor, grants.at(-1) ?? null), grants };
  }

  test("a delegation comes in pages of a hundred hops; each judges the whole of it at the same position", async () => {
    const { event, grants } = await actAfter(230, 300);
    const wanted = grants.map(({ anchor_id: id }) => id).toReversed();
    const first = await trace(event);
    expect([first.delegation.length, first.delegation_omitted]).toEqual([LIMITS.traceHopsMax, 130]);
    // What comes later is not in the pages that follow.
    const [root] = grants;
    if (root === undefined) throw new Error("no grant");
    await revoke(root);
    const pages = [first];
    for (let next = first.delegation_next_cursor; next !== null;) {
      const page = await trace(event, `delegation_cursor=${next}`);
      pages.push(page);
      next = page.delegation_next_cursor;
    }
    expect(pages.map(({ delegation }) => delegation.length)).toEqual([100, 100, 30]);
    expect(pages.map(({ delegation_omitted: omitted }) => omitted)).toEqual([130, 30, 0]);
    expect(pages.flatMap(({ delegation }) => delegation.map(({ grant }) => grant.anchor_id))).toEqual(wanted);
    for (const page of pages) {
      expect(page).toMatchObject({ authorised_at_action: true, authorised_now: true, violations: [], revocations: [] });
      expect(page.as_of).toEqual(first.as_of);
      expect(page.boundary?.depth).toEqual({ granted: 300, used: 229, left: 71 });
    }
    expect(await trace(event)).toMatchObject({ authorised_now: false, delegation_omitted: 130 });
    const verified = await harness.send("POST", "/v1/grant-anchors:verify", { anchor_id: grants.at(-1)?.anchor_id });
    expect(verified.json).toMatchObject({ delegation_omitted: 130 });
  });

  test.each(["1", "0.1.1", "1001.1.1", "1.1", "1.1.1.1", "01.1.1", "-1.1.1", "1.99999999999999999.1", "a.b.c"])(
    "%s is no cursor of hops",
    async (cursor) => {
      const path = `/v1/event-anchors/${lower.anchor_id}/trace?delegation_cursor=${cursor}`;
      const { status, json } = await harness.send("GET", path);
      expect([status, json.code]).toEqual([400, "invalid_request"]);
    },
  );

  test.each([
    ["a sequence that is not there yet", () => `1.${lower.sequence + 1_000_000}.1`],
    ["a time to come", () => `1.${lower.sequence}.${harness.clock.wallMs() + 60_000}`],
  ])("a cursor of %s is as_of_future", async (_what, cursor) => {
    const path = `/v1/event-anchors/${lower.anchor_id}/trace?delegation_cursor=${cursor()}`;
    const { status, json } = await harness.send("GET", path);
    expect([status, json.code]).toEqual([400, "as_of_future"]);
  });

  test("a long delegation is verified once and traced again from memory", async () => {
    const { event } = await actAfter(39, 50);
    const answers = [await trace(event), await trace(event)];
    for (const answer of answers) {
      expect(answer).toMatchObject({ authorised_at_action: true, violations: [], delegation_omitted: 0 });
      expect(answer.boundary?.depth).toEqual({ granted: 50, used: 38, left: 12 });
      expect(answer.delegation).toHaveLength(39);
    }
  });
});

test("the parents of a page have their states at as_of", async () => {
  const event = await act(claims.agent, lower);
  await revoke(upper);
  const states = ({ parents }: TraceAnswer) =>
    parents.items.slice(0, 3).map((item) => ("state" in item ? item.state : null));
  expect(states(await trace(event, "limit=3"))).toEqual(["revoked", "revoked", "active"]);
  expect(states(await trace(event, `limit=3&as_of=${event.sequence}`))).toEqual(["active", "active", "active"]);
});

test("what a trace shows at most is what the limits say", () => {
  expect(LIMITS).toMatchObject({
    traceDelegationMax: TRACE_LIMITS.delegationMax,
    possibleParentsMax: TRACE_LIMITS.possibleParentsMax,
    delegationLinksMax: LEDGER_LIMITS.delegationLinksMax,
  });
});

describe("tables that contradict themselves", () => {
  const withoutRecords = async (ask: () => Promise<Answer>): Promise<Answer> => {
    const empty = { appliedIndex: harness.node.tables.appliedIndex, records: new LoadedRecords([], []) };
    const spy = jest.spyOn(harness.node.reads, "records").mockResolvedValue(empty);
    const answer = await ask();
    spy.mockRestore();
    return answer;
  };

  test("without records a verdict is unknown, and says why", async () => {
    const event = await act(claims.agent, lower);
    await act(null, null);
    const path = `/v1/event-anchors/${event.anchor_id}/trace?cursor=1`;
    const { status, json } = await withoutRecords(() => harness.send("GET", path));
    const answer = traceSchema.parse(json);
    expect([status, answer.authorised_at_action, answer.authorised_now]).toEqual([200, "unknown", "unknown"]);
    expect(answer.reasons.map(({ verdict, code }) => [verdict, code])).toEqual([
      ["at_action", "records_not_loaded"],
      ["at_action", "records_not_loaded"],
      ["now", "records_not_loaded"],
      ["now", "records_not_loaded"],
    ]);
    expect([answer.actor.claim, answer.delegation, answer.boundary]).toEqual([null, [], null]);
  });

  test("a claim whose record is missing is not said to be in any state", async () => {
    const ask = (): Promise<Answer> =>
      harness.send("POST", "/v1/claim-anchors:verify", { anchor_id: claims.agent.anchor_id });
    const { status, json } = await withoutRecords(ask);
    expect([status, json.code]).toEqual([503, "unavailable"]);
  });
});
