import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createdBatchSchema, createdSchema, eventListSchema } from "@event-anchoring/api-contract";
import type { AnchorJson, EventListAnswer } from "@event-anchoring/api-contract";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { RefusedError } from "@event-anchoring/api";
import { clientIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { claimed, granted, hex, signedEvent } from "./records.ts";

let harness: Harness;
let claim: AnchorJson;
let grant: AnchorJson;
beforeAll(async () => {
  harness = await startHarness();
  claim = await claimed(harness, "actor");
  const boss = await claimed(harness, "boss");
  grant = await granted(harness, { grantorClaim: boss.anchor_id, granteeClaim: claim.anchor_id, grantor: "boss" });
});
afterAll(() => harness.close());

async function create(fields: object, key = harness.key): Promise<AnchorJson> {
  const body = { origin_fingerprint: harness.origin, event_hash: hex(1), ...fields };
  const { json } = await harness.send("POST", "/v1/event-anchors", body, { "x-api-key": key });
  return createdSchema.parse(json).anchor;
}

const list = (query: string, key = harness.key): Promise<Answer> =>
  harness.send("GET", `/v1/event-anchors?${query}`, undefined, { "x-api-key": key });

async function listed(query: string, key?: string): Promise<EventListAnswer> {
  const { status, json, text } = await list(query, key);
  if (status !== 200) throw new Error(text);
  return eventListSchema.parse(json);
}

const idsOf = ({ items }: EventListAnswer): string[] => items.map((item) => item.anchor_id);

describe("listing events", () => {
  test("by their hash: signed ones, of every origin, in the order of the log, all certified", async () => {
    const other = bytesToHex(harness.node.cluster.origins[1] ?? new Uint8Array());
    const first = await create({ event_hash: hex(20) });
    const second = await create({ event_hash: hex(20), origin_fingerprint: other });
    const body = signedEvent(harness, "actor", { eventHash: hexToBytes(hex(20)) });
    const third = createdSchema.parse((await harness.send("POST", "/v1/event-anchors", body)).json).anchor;
    await create({ event_hash: hex(21) });
    const answer = await listed(`event_hash=${hex(20).toUpperCase()}`);
    expect(idsOf(answer)).toEqual([first.anchor_id, second.anchor_id, third.anchor_id]);
    expect(answer.items.map(({ kind, finality }) => [kind, finality])).toEqual([
      ["event", "certified"],
      ["event", "certified"],
      ["signed_event", "certified"],
    ]);
    expect(answer.next_cursor).toBeNull();
  });

  test("by the claim of who acts, and by the grant under which it was done", async () => {
    const both = await create({ semantic_anchor: { iris_ref: claim.anchor_id, grant_ref: grant.anchor_id } });
    const one = await create({ semantic_anchor: { iris_ref: claim.anchor_id } });
    await create({ semantic_anchor: { scroll_ref: claim.anchor_id } });
    expect(idsOf(await listed(`iris_ref=${claim.anchor_id}`))).toEqual([both.anchor_id, one.anchor_id]);
    expect(idsOf(await listed(`grant_ref=${grant.anchor_id}`))).toEqual([both.anchor_id]);
  });

  test("says the certified size of every origin that it has looked at", async () => {
    const { certified } = await listed(`event_hash=${hex(22)}`);
    const wanted = harness.node.cluster.origins.map((origin) => ({
      origin_fingerprint: bytesToHex(origin),
      tree_size: harness.node.certificateOf(origin).treeSize,
    }));
    expect(certified).toHaveLength(wanted.length);
    expect(certified).toEqual(expect.arrayContaining(wanted));
  });

  test("page by page: nothing twice, nothing left out, however much is written between", async () => {
    const events = Array.from({ length: 45 }, () => ({ event_hash: hex(30) }));
    const batch = { origin_fingerprint: harness.origin, events };
    const { results } = createdBatchSchema.parse((await harness.send("POST", "/v1/event-anchors/batch", batch)).json);
    const wanted = results.map(({ anchor }) => anchor?.anchor_id ?? "");
    const found: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: EventListAnswer = await listed(`event_hash=${hex(30)}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      found.push(...idsOf(page));
      sizes.push(page.items.length);
      cursor = page.next_cursor;
      if (sizes.length === 1) wanted.push((await create({ event_hash: hex(30) })).anchor_id);
    }
    expect([found, sizes]).toEqual([wanted, [20, 20, 6]]);
  });

  test.each([
    [1, 5],
    [2, 3],
    [5, 1],
    [100, 1],
  ])("limit %i takes %i pages of five", async (limit, pages) => {
    const hash = hex(40 + pages);
    for (let index = 0; index < 5; index++) await create({ event_hash: hash });
    let count = 0;
    let query = `event_hash=${hash}&limit=${limit}`;
    for (;;) {
      const page = await listed(query);
      count += 1;
      expect(page.items.length).toBeLessThanOrEqual(limit);
      if (page.next_cursor === null) break;
      query = `event_hash=${hash}&limit=${limit}&cursor=${page.next_cursor}`;
    }
    expect(count).toBe(pages);
  });

  test("what has no such event is an empty list", async () => {
    expect(await listed(`event_hash=${hex(99)}`)).toMatchObject({ items: [], next_cursor: null });
    expect((await listed("client_event_id=nobody")).items).toEqual([]);
  });

  test("by the caller's own client_event_id: another client's is another list", async () => {
    const other = harness.keyWith("other client", ["read", "write"]);
    const own = await create({ client_event_id: "shared" });
    const theirs = await create({ client_event_id: "shared", event_hash: hex(2) }, other);
    expect(idsOf(await listed("client_event_id=shared"))).toEqual([own.anchor_id]);
    expect(idsOf(await listed("client_event_id=shared", other))).toEqual([theirs.anchor_id]);
    expect((await listed("client_event_id=shared")).items[0]).toMatchObject({ client_event_id: "shared" });
  });

  test("another client's id and salt are not shown in any list", async () => {
    await create({ event_hash: hex(50), client_event_id: "secret" });
    const other = harness.keyWith("curious", ["read"]);
    const [item] = (await listed(`event_hash=${hex(50)}`, other)).items;
    expect(item).not.toHaveProperty("client_event_id");
    expect(item).not.toHaveProperty("client_event_salt");
    expect(item).toHaveProperty("client_event_commit", expect.stringMatching(/^[0-9a-f]{64}$/));
  });

  test("an erased client_event_id: 410 with the anchor that it belonged to", async () => {
    const anchor = await create({ client_event_id: "to forget" });
    const admin = harness.keyWith("eraser", ["read", "admin"], { apiClientId: clientIdOf("default") });
    const path = `/v1/event-anchors/${anchor.anchor_id}/erase-client-event-id`;
    await harness.send("POST", path, undefined, { "x-api-key": admin });
    const { status, json } = await list("client_event_id=to%20forget");
    expect(status).toBe(410);
    expect(json).toMatchObject({ code: "client_event_id_erased", anchor_id: anchor.anchor_id });
  });

  test("what was written after the read began is on a later page", async () => {
    const first = await create({ event_hash: hex(61) });
    await create({ event_hash: hex(61) });
    harness.node.earlyReads = 1;
    const early = await listed(`event_hash=${hex(61)}`);
    expect([idsOf(early), early.next_cursor]).toEqual([[first.anchor_id], null]);
    expect(idsOf(await listed(`event_hash=${hex(61)}`))).toHaveLength(2);
  });

  test("while certificates are late the answer is 503, not a shorter list", async () => {
    await create({ event_hash: hex(60) });
    harness.node.isCertifying = false;
    const { status, json } = await list(`event_hash=${hex(60)}`);
    harness.node.isCertifying = true;
    expect([status, json.code]).toEqual([503, "certification_stalled"]);
  });
});

describe("a list that is refused", () => {
  test.each([
    ["no filter", "", "event_hash"],
    ["two filters", `event_hash=${hex(1)}&iris_ref=${hex(1)}`, "event_hash"],
    ["an empty filter", "event_hash=", "event_hash"],
    ["a short hash", `event_hash=${hex(1).slice(1)}`, "event_hash"],
    ["an id beyond ASCII", "client_event_id=%C3%A4", "client_event_id"],
    ["an empty id", "client_event_id=", "client_event_id"],
    ["limit 0", `event_hash=${hex(1)}&limit=0`, "limit"],
    ["limit 101", `event_hash=${hex(1)}&limit=101`, "limit"],
    ["limit 1e2", `event_hash=${hex(1)}&limit=1e2`, "limit"],
    ["a word for a cursor", `event_hash=${hex(1)}&cursor=next`, "cursor"],
    ["an empty cursor", `event_hash=${hex(1)}&cursor=`, "cursor"],
    ["a cursor of other letters", `event_hash=${hex(1)}&cursor=%00`, "cursor"],
    ["an offset", `event_hash=${hex(1)}&offset=20`, "offset"],
    ["the same filter twice", `event_hash=${hex(1)}&event_hash=${hex(1)}`, "event_hash"],
    ["a filter of another kind", `scroll_ref=${hex(1)}`, "scroll_ref"],
  ])("%s is 400", async (_what, query, parameter) => {
    const before = harness.node.submitted.length;
    const { status, json } = await list(query);
    expect(status).toBe(400);
    expect(["invalid_request", "client_event_id_invalid"]).toContain(json.code);
    expect(json.errors[0]).toMatchObject({ parameter });
    expect(harness.node.submitted).toHaveLength(before);
  });

  test("a cursor is good for its own filter alone, and not for the same id of another client", async () => {
    for (let index = 0; index < 2; index++)
      await create({ event_hash: hex(70), semantic_anchor: { iris_ref: claim.anchor_id } });
    const { next_cursor: cursor } = await listed(`event_hash=${hex(70)}&limit=1`);
    const { status: own } = await list(`event_hash=${hex(70)}&cursor=${cursor}`);
    const others = [`event_hash=${hex(71)}`, `iris_ref=${claim.anchor_id}`, "client_event_id=x"];
    const statuses = await Promise.all(others.map(async (filter) => (await list(`${filter}&cursor=${cursor}`)).status));
    expect([own, statuses]).toEqual([200, [400, 400, 400]]);
  });

  test.each([
    ["an unknown claim", () => `iris_ref=${hex(99)}`, 404, "anchor_not_found"],
    ["an unknown grant", () => `grant_ref=${hex(99)}`, 404, "anchor_not_found"],
    ["a grant for a claim", () => `iris_ref=${grant.anchor_id}`, 409, "wrong_kind"],
    ["a claim for a grant", () => `grant_ref=${claim.anchor_id}`, 409, "wrong_kind"],
  ])("%s: an empty list would say that nobody acted", async (_what, query, status, code) => {
    const answer = await list(query());
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("a key without read, and a node without a leader", async () => {
    const writer = harness.keyWith("list writer", ["write", "revoke", "admin"]);
    const forbidden = await list(`event_hash=${hex(1)}`, writer);
    expect([forbidden.status, forbidden.json.code]).toEqual([403, "scope_missing"]);
    await list(`event_hash=${hex(1)}`);
    harness.node.refusal = new RefusedError("no_leader", "term 17", 2500);
    const { status, json } = await list(`event_hash=${hex(1)}`);
    harness.node.refusal = null;
    expect([status, json.code]).toEqual([503, "no_leader"]);
  });
});
