import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { LIMITS, recordHistorySchema } from "@event-anchoring/api-contract";
import type { AnchorJson, RecordHistoryAnswer } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { bytesToHex } from "@event-anchoring/protocol";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { revoked } from "./delegation.ts";
import { seedOf } from "./fake-cluster.ts";
import { START_MS } from "./fake-node.ts";
import { claimed, granted, hex } from "./records.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const fingerprint = (entity: string): string => bytesToHex(seedOf(`entity ${entity}`));
const ofEntity = (entity: string, more = ""): string =>
  `claim-anchors?entity_fingerprint=${fingerprint(entity)}&history=true${more}`;
const ofGrants = (parties: { grantor?: string; grantee?: string }, more = ""): string => {
  const named = Object.entries(parties).map(([role, entity]) => `${role}_fingerprint=${fingerprint(entity)}`);
  return `grant-anchors?${named.join("&")}&history=true${more}`;
};

const ask = (query: string): Promise<Answer> => harness.send("GET", `/v1/${query}`);

async function listed(query: string): Promise<RecordHistoryAnswer> {
  const { status, json, text } = await ask(query);
  if (status !== 200) throw new Error(text);
  return recordHistorySchema.parse(json);
}

const idsOf = ({ items }: RecordHistoryAnswer): string[] => items.map(({ anchor }) => anchor.anchor_id);
const endsOf = ({ items }: RecordHistoryAnswer): unknown[] =>
  items.map(({ anchor, ended }) => [(anchor as { state?: string }).state, ended]);

/** Every page of a list, and what its items are. */
async function pagesOf(query: string, afterFirst: () => Promise<void> = () => Promise.resolve()): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: RecordHistoryAnswer = await listed(`${query}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    pages.push(idsOf(page));
    cursor = page.next_cursor;
    if (pages.length === 1) await afterFirst();
  }
  return pages;
}

async function parties(...entities: readonly [string, string]): Promise<[AnchorJson, AnchorJson]> {
  return [await claimed(harness, entities[0]), await claimed(harness, entities[1])];
}

describe("the claims of an entity", () => {
  test("of every type and lineage, each with what ended it, in the order of the log", async () => {
    const expiresAt = harness.clock.wallMs() + 60_000;
    const first = await claimed(harness, "storied", { attributeType: 1 });
    const passing = await claimed(harness, "storied", { attributeType: 2, expiresAt });
    const second = await claimed(harness, "storied", { attributeType: 1, issuedAt: START_MS });
    const revocation = await revoked(harness, second);
    const third = await claimed(harness, "storied", { attributeType: 1, issuedAt: START_MS + 1 });
    await claimed(harness, "somebody else");
    harness.clock.offsetMs += 60_001;
    const all = await listed(ofEntity("storied"));
    const ofType = await listed(ofEntity("storied", "&attribute_type=0x1"));
    harness.clock.offsetMs = 0;
    expect(idsOf(all)).toEqual([first, passing, second, third].map(({ anchor_id: id }) => id));
    expect(endsOf(all)).toEqual([
      [
        "superseded",
        { code: "claim_superseded", anchor_id: first.anchor_id, sequence: second.sequence, ended_by: second.anchor_id },
      ],
      ["expired", { code: "claim_expired", anchor_id: passing.anchor_id, sequence: null, ended_by: null }],
      [
        "revoked",
        {
          code: "claim_revoked",
          anchor_id: second.anchor_id,
          sequence: revocation.sequence,
          ended_by: revocation.anchor_id,
        },
      ],
      ["active", null],
    ]);
    expect(all.items.map(({ anchor }) => anchor.finality)).toEqual(Array(4).fill("certified"));
    expect([idsOf(ofType), ofType.next_cursor]).toEqual([[first, second, third].map((one) => one.anchor_id), null]);
  });

  test("says how far it reaches and at which position it judges", async () => {
    const claim = await claimed(harness, "positioned");
    const { certified, as_of: asOf } = await listed(ofEntity("positioned"));
    const wanted = harness.node.cluster.origins.map((origin) => ({
      origin_fingerprint: bytesToHex(origin),
      tree_size: harness.node.certificateOf(origin).treeSize,
    }));
    expect(certified).toHaveLength(wanted.length);
    expect(certified).toEqual(expect.arrayContaining(wanted));
    expect(asOf.sequence).toBeGreaterThanOrEqual(claim.sequence);
    expect(asOf.time_ms).toBeGreaterThanOrEqual(claim.accepted_ms);
  });

  test.each([1, 2, 3, 7, 100])("page by page of %i: nothing twice, nothing left out", async (limit) => {
    const entity = `paged ${limit}`;
    const wanted: string[] = [];
    const write = async (): Promise<void> => {
      wanted.push((await claimed(harness, entity, { issuedAt: wanted.length })).anchor_id);
    };
    for (let count = 0; count < 7; count++) await write();
    const pages = await pagesOf(ofEntity(entity, `&limit=${limit}`), limit < 7 ? write : undefined);
    expect(pages.flat()).toEqual(wanted);
    expect(pages).toHaveLength(Math.ceil(wanted.length / limit));
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit);
  });

  test("20 of them to a page unless another limit is given", async () => {
    for (let count = 0; count < 21; count++) await claimed(harness, "defaulted", { issuedAt: count });
    expect((await pagesOf(ofEntity("defaulted"))).map((page) => page.length)).toEqual([20, 1]);
  });

  test("nobody has none, and that is an answer", async () => {
    const { items, next_cursor: cursor } = await listed(ofEntity("nobody"));
    expect([items, cursor]).toEqual([[], null]);
    await claimed(harness, "of one type");
    expect((await listed(ofEntity("of one type", "&attribute_type=9"))).items).toEqual([]);
  });

  test("what no certificate covers yet is on a later page; late certificates are 503", async () => {
    const first = await claimed(harness, "overtaking");
    await claimed(harness, "overtaking", { issuedAt: 1 });
    harness.node.earlyReads = 1;
    const early = await listed(ofEntity("overtaking"));
    expect([idsOf(early), early.next_cursor]).toEqual([[first.anchor_id], null]);
    expect(idsOf(await listed(ofEntity("overtaking")))).toHaveLength(2);
    await harness.send("POST", "/v1/event-anchors", { origin_fingerprint: harness.origin, event_hash: hex(1) });
    harness.node.refusal = new RefusedError("certification_stalled", "late");
    const late = await ask(ofEntity("overtaking"));
    harness.node.refusal = null;
    expect([late.status, late.json.code]).toEqual([503, "certification_stalled"]);
  });

  test("tables behind the read index are waited for", async () => {
    const claim = await claimed(harness, "lagging");
    harness.node.staleSelects = 3;
    expect(idsOf(await listed(ofEntity("lagging")))).toEqual([claim.anchor_id]);
    expect(harness.node.staleSelects).toBe(0);
  });
});

describe("the grants of an entity", () => {
  test("by grantor, by grantee, and from one to the other", async () => {
    const [boss, agent] = await parties("boss", "agent");
    const [other, third] = await parties("other boss", "third");
    const grant = (from: [string, AnchorJson], to: AnchorJson, issuedAt = 0): Promise<AnchorJson> =>
      granted(harness, { grantorClaim: from[1].anchor_id, granteeClaim: to.anchor_id, grantor: from[0], issuedAt });
    const first = await grant(["boss", boss], agent);
    const second = await grant(["boss", boss], third);
    const fourth = await grant(["other boss", other], agent);
    const renewed = await grant(["boss", boss], agent, 1);
    const ids = (...grants: AnchorJson[]): string[] => grants.map(({ anchor_id: id }) => id);
    expect(idsOf(await listed(ofGrants({ grantor: "boss" })))).toEqual(ids(first, second, renewed));
    expect(idsOf(await listed(ofGrants({ grantee: "agent" })))).toEqual(ids(first, fourth, renewed));
    const both = await listed(ofGrants({ grantor: "boss", grantee: "agent" }));
    expect(idsOf(both)).toEqual(ids(first, renewed));
    expect(endsOf(both)).toEqual([
      [
        "superseded",
        {
          code: "grant_superseded",
          anchor_id: first.anchor_id,
          sequence: renewed.sequence,
          ended_by: renewed.anchor_id,
        },
      ],
      ["active", null],
    ]);
    expect((await listed(ofGrants({ grantor: "agent" }))).items).toEqual([]);
    const pages = await pagesOf(ofGrants({ grantee: "agent" }, "&limit=2"));
    expect(pages).toEqual([ids(first, fourth), ids(renewed)]);
  });

  test("revoked, expired, not begun, and ended with what they depend on", async () => {
    const [lord, page] = await parties("lord", "page");
    const below = await claimed(harness, "squire");
    const nowMs = harness.clock.wallMs();
    const between = { grantorClaim: lord.anchor_id, grantor: "lord" };
    const parent = await granted(harness, { ...between, granteeClaim: page.anchor_id, depth: 1 });
    const child = await granted(harness, {
      grantorClaim: page.anchor_id,
      granteeClaim: below.anchor_id,
      grantor: "page",
      parent: parent.anchor_id,
    });
    const brief = await granted(harness, { ...between, granteeClaim: below.anchor_id, expiresAt: nowMs + 60_000 });
    const revocation = await revoked(harness, parent);
    const coming = await granted(harness, { ...between, granteeClaim: page.anchor_id, notBefore: nowMs + 90_000 });
    harness.clock.offsetMs += 60_001;
    const ofSquire = await listed(ofGrants({ grantee: "squire" }));
    const ofPage = await listed(ofGrants({ grantee: "page" }));
    harness.clock.offsetMs = 0;
    const ended = { anchor_id: parent.anchor_id, sequence: revocation.sequence, ended_by: revocation.anchor_id };
    expect(idsOf(ofSquire)).toEqual([child.anchor_id, brief.anchor_id]);
    expect(endsOf(ofSquire)).toEqual([
      ["revoked", { code: "grant_revoked", ...ended }],
      ["expired", { code: "grant_expired", anchor_id: brief.anchor_id, sequence: null, ended_by: null }],
    ]);
    expect(idsOf(ofPage)).toEqual([parent.anchor_id, coming.anchor_id]);
    expect(endsOf(ofPage)).toEqual([
      ["revoked", { code: "grant_revoked", ...ended }],
      ["active", null],
    ]);
    const gone = await revoked(harness, below);
    const [first] = endsOf(await listed(ofGrants({ grantor: "lord", grantee: "squire" })));
    const code = "grantee_claim_revoked";
    expect(first).toEqual([
      "revoked",
      { code, anchor_id: below.anchor_id, sequence: gone.sequence, ended_by: gone.anchor_id },
    ]);
  });
});

test.each([
  [LIMITS.delegationLinksMax, [1, 1, 1]],
  [LIMITS.delegationLinksMax / 2 + 1, [1, 1, 1]],
  [LIMITS.delegationLinksMax / 2, [2, 1]],
  [LIMITS.delegationLinksMax / 3, [3]],
])("grants of %i links each: their chains together bound a page", async (links, sizes) => {
  const [from, to] = await parties(`from ${links}`, `to ${links}`);
  const between = { grantorClaim: from.anchor_id, granteeClaim: to.anchor_id, grantor: `from ${links}` };
  const wanted: string[] = [];
  for (let issuedAt = 0; issuedAt < 3; issuedAt++)
    wanted.push((await granted(harness, { ...between, issuedAt })).anchor_id);
  const { reads } = harness.node.tables;
  const { grantHistory } = reads;
  const long = jest.spyOn(reads, "grantHistory").mockImplementation(async (...query) => {
    const found = await grantHistory(...query);
    return { ...found, grants: found.grants.map((grant) => ({ ...grant, links })) };
  });
  const pages = await pagesOf(ofGrants({ grantee: `to ${links}` }, "&limit=100"));
  long.mockRestore();
  expect([pages.flat(), pages.map((page) => page.length)]).toEqual([wanted, sizes]);
});

describe("what is no history", () => {
  const entity = `entity_fingerprint=${hex(1)}`;
  const grantor = `grantor_fingerprint=${hex(1)}`;

  test.each([
    ["claims of nobody named", "claim-anchors?history=true", "entity_fingerprint"],
    ["claims by grantor", `claim-anchors?${entity}&history=true&${grantor}`, "grantor_fingerprint"],
    ["another word than true", `claim-anchors?${entity}&attribute_type=1&history=yes`, "history"],
    ["history twice", `claim-anchors?${entity}&history=true&history=true`, "history"],
    ["a cursor without history", `claim-anchors?${entity}&attribute_type=1&cursor=AQ`, "cursor"],
    ["a limit without history", `grant-anchors?${grantor}&grantee_fingerprint=${hex(2)}&limit=5`, "limit"],
    ["grants of nobody named", "grant-anchors?history=true", "grantor_fingerprint"],
    ["one party without history", `grant-anchors?${grantor}`, "grantee_fingerprint"],
    ["one party with history=false", `grant-anchors?${grantor}&history=false`, "grantee_fingerprint"],
    ["limit 0", `claim-anchors?${entity}&history=true&limit=0`, "limit"],
    ["limit 101", `grant-anchors?${grantor}&history=true&limit=101`, "limit"],
    ["a word for a cursor", `claim-anchors?${entity}&history=true&cursor=next`, "cursor"],
    ["an empty cursor", `grant-anchors?${grantor}&history=true&cursor=`, "cursor"],
    ["a cursor of other letters", `grant-anchors?${grantor}&history=true&cursor=%00`, "cursor"],
    ["an offset", `claim-anchors?${entity}&history=true&offset=20`, "offset"],
    ["a short fingerprint", `grant-anchors?${grantor.slice(0, -1)}&history=true`, "grantor_fingerprint"],
  ])("%s is 400 and names the parameter", async (_what, query, parameter) => {
    const { status, json } = await ask(query);
    expect([status, json.code]).toEqual([400, "invalid_request"]);
    expect(json.errors[0]).toMatchObject({ parameter });
  });

  test("a cursor is good for its own filter alone", async () => {
    const [from, to] = await parties("cursor boss", "cursor agent");
    const between = { grantorClaim: from.anchor_id, granteeClaim: to.anchor_id, grantor: "cursor boss" };
    for (let issuedAt = 0; issuedAt < 2; issuedAt++) await granted(harness, { ...between, issuedAt });
    await claimed(harness, "cursor agent", { issuedAt: 1 });
    const [claims, grants] = [ofEntity("cursor agent", "&limit=1"), ofGrants({ grantee: "cursor agent" }, "&limit=1")];
    const good = [(await listed(claims)).next_cursor, (await listed(grants)).next_cursor];
    const own = [`${claims}&cursor=${good[0]}`, `${grants}&cursor=${good[1]}`];
    const others = [
      `${claims}&attribute_type=1&cursor=${good[0]}`,
      `${claims}&cursor=${good[1]}`,
      ofEntity("cursor boss", `&cursor=${good[0]}`),
      ofGrants({ grantor: "cursor agent" }, `&cursor=${good[1]}`),
      ofGrants({ grantor: "cursor boss", grantee: "cursor agent" }, `&cursor=${good[1]}`),
      `event-anchors?event_hash=${fingerprint("cursor agent")}&cursor=${good[0]}`,
    ];
    const statuses = async (queries: string[]): Promise<number[]> =>
      Promise.all(queries.map(async (query) => (await ask(query)).status));
    expect([await statuses(own), await statuses(others)]).toEqual([
      [200, 200],
      [400, 400, 400, 400, 400, 400],
    ]);
  });
});
