import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  anchorAnswerSchema,
  createdBatchSchema,
  createdSchema,
  latestSchema,
  problemSchema,
  receiptSchema,
  refusedBatchSchema,
  traceSchema,
  verifiedBatchSchema,
  verifiedSchema,
} from "@event-anchoring/api-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  base64ToBytes,
  hexToBytes,
  parseProof,
  receiptFromJson,
  verifyConsistency,
  verifyReceipt,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import { RefusedError } from "@event-anchoring/api";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";

const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

function create(fields: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const body = { origin_fingerprint: harness.origin, event_hash: hex(1), ...fields };
  return harness.send("POST", "/v1/event-anchors", body, { authorization: `Bearer ${harness.key}`, ...headers });
}

function verdictOf(receipt: unknown): string {
  const { trustRoot } = harness.node.cluster;
  const chain = verifyTrustRootChain({ documents: [trustRoot.note], pinnedRootThk: trustRoot.rootThk }, nodeCrypto);
  if (chain.result !== "verified") throw new Error(chain.detail);
  const stated = receiptFromJson(receipt);
  const expected = { anchorId: stated.anchorId };
  return verifyReceipt({ receipt: stated.receipt, trustRoots: chain.chain, expect: expected }, nodeCrypto).verdict;
}

describe("creating one event anchor", () => {
  test("201 carries an anchor and a receipt that verifies offline", async () => {
    const { status, json, headers } = await create({ client_event_id: "first" });
    expect(status).toBe(201);
    const answer = createdSchema.parse(json);
    expect(answer.replayed).toBe(false);
    expect(answer.anchor).toMatchObject({
      kind: "event",
      finality: "certified",
      semantic_anchor: null,
      event_hash: hex(1),
      client_event_id: "first",
      client_event_salt: hex(7),
    });
    expect(headers.location).toBe(`/v1/event-anchors/${answer.anchor.anchor_id}`);
    expect(verdictOf(answer.receipt)).toBe("valid");
  });

  test("the same client_event_id and content is 200 with the first anchor and a receipt of now", async () => {
    const first = await create({ client_event_id: "again" });
    const second = await create({ client_event_id: "again", event_hash: hex(1).toUpperCase() });
    expect([first.status, second.status]).toEqual([201, 200]);
    const answer = createdSchema.parse(second.json);
    expect(answer).toMatchObject({ replayed: true, anchor: { anchor_id: first.json.anchor.anchor_id } });
    expect(verdictOf(answer.receipt)).toBe("valid");
  });

  test("an event without client_event_id shows neither id, nor salt, nor commit", async () => {
    const { json } = await create();
    expect(json.anchor).toMatchObject({
      client_event_id: null,
      client_event_salt: null,
      client_event_commit: null,
    });
  });

  test("an empty semantic anchor in any of its spellings is null; a set one is answered as it was", async () => {
    for (const semantic_anchor of [null, {}, { iris_ref: "" }, { bond_ref: hex(0) }, { event_data_hash: null }]) {
      const { status, json } = await create({ semantic_anchor });
      expect(status).toBe(201);
      expect(json.anchor.semantic_anchor).toBeNull();
    }
    const { json } = await create({ semantic_anchor: { event_data_hash: hex(1) } });
    expect(json.anchor.semantic_anchor).toEqual({
      iris_ref: null,
      scroll_ref: null,
      grant_ref: null,
      bond_ref: null,
      yield_ref: null,
      event_data_hash: hex(1),
    });
  });

  test("respond-async is 202 without a receipt, and the preference is said to be applied", async () => {
    const { status, json, headers } = await create({ event_hash: hex(9) }, { prefer: "respond-async" });
    expect(status).toBe(202);
    expect(createdSchema.parse(json)).toMatchObject({ receipt: null, anchor: { finality: "committed" } });
    expect(headers["preference-applied"]).toBe("respond-async");
    expect(harness.node.submitted.at(-1)?.answer).toBe("committed");
  });

  test.each([
    ["5 s without a preference", {}, 5000],
    ["as long as asked", { prefer: "wait=10" }, 10_000],
    ["30 s at most", { prefer: "wait=3600" }, 30_000],
    ["5 s for a preference that means nothing", { prefer: "wait=soon" }, 5000],
  ])("it waits %s", async (_what, headers: Record<string, string>, timeoutMs) => {
    await create({}, headers);
    const remainingMs = harness.node.submitted.at(-1)?.remainingMs ?? 0;
    expect(remainingMs).toBeLessThanOrEqual(timeoutMs);
    expect(remainingMs).toBeGreaterThan(timeoutMs - 1000);
  });

  test("committed and not certified in time is 202", async () => {
    harness.node.isCertifying = false;
    const { status, json } = await create();
    harness.node.isCertifying = true;
    expect(status).toBe(202);
    expect(json.anchor.finality).toBe("committed");
  });

  test.each([
    ["other content", { client_event_id: "taken", event_hash: hex(3) }, 409, "client_event_id_conflict"],
    ["an unknown origin", { origin_fingerprint: hex(8) }, 409, "origin_unknown"],
    ["an unknown reference", { semantic_anchor: { scroll_ref: hex(5) } }, 422, "reference_not_found"],
  ])("%s: refused with a stable code, nothing anchored", async (_what, fields, status, code) => {
    await create({ client_event_id: "taken" });
    const before = harness.node.leaves.length;
    const answer = await create(fields);
    expect(answer.status).toBe(status);
    expect(problemSchema.parse(answer.json)).toMatchObject({ code, status });
    expect(harness.node.leaves).toHaveLength(before);
  });

  test("a reference of the wrong kind is refused with its pointer", async () => {
    const first = await create();
    const { status, json } = await create({ semantic_anchor: { iris_ref: first.json.anchor.anchor_id } });
    expect(status).toBe(422);
    expect(json.code).toBe("reference_wrong_kind");
    expect(json.errors[0]?.pointer).toBe("/semantic_anchor/iris_ref");
  });

  test.each([
    "outcome_unknown",
    "no_leader",
    "clock_unsafe",
    "certification_stalled",
    "storage_full",
    "fenced",
    "halted",
  ] as const)("%s is 503 with Retry-After, and what the node said of it stays inside", async (code) => {
    harness.node.refusal = new RefusedError(code, "no leader for 4200 ms, term 17", 2500);
    const { status, json, headers, text } = await create();
    harness.node.refusal = null;
    expect(status).toBe(503);
    expect(json.code).toBe(code);
    expect(headers["retry-after"]).toBe("3");
    expect(text).not.toContain("term 17");
  });
});

describe("creating a batch", () => {
  const batch = (body: object): Promise<Answer> =>
    harness.send("POST", "/v1/event-anchors/batch", { origin_fingerprint: harness.origin, ...body });

  test("every item has its own result, in order", async () => {
    await create({ client_event_id: "batch-old", event_hash: hex(20) });
    const { status, json } = await batch({
      events: [
        { event_hash: hex(21), client_event_id: "batch-1" },
        { event_hash: hex(20), client_event_id: "batch-old" },
        { event_hash: hex(22), client_event_id: "batch-old" },
        { event_hash: hex(21), client_event_id: "batch-1" },
        { event_hash: hex(23), origin_fingerprint: harness.origin.toUpperCase() },
      ],
    });
    expect(status).toBe(200);
    const answer = createdBatchSchema.parse(json);
    expect(answer.results.map((result) => result.status)).toEqual([201, 200, 409, 200, 201]);
    expect(answer.summary).toEqual({ total: 5, created: 2, replayed: 2, committed: 0, refused: 1 });
    expect(answer.results[2]?.problem).toMatchObject({ code: "client_event_id_conflict" });
    expect(answer.results[3]?.anchor?.anchor_id).toBe(answer.results[0]?.anchor?.anchor_id);
    for (const index of [0, 1, 3, 4]) expect(verdictOf(answer.results[index]?.receipt)).toBe("valid");
  });

  test("receipts: shared: each checkpoint is there once, and every receipt can be made whole", async () => {
    const { status, json } = await batch({
      receipts: "shared",
      events: [
        { event_hash: hex(24), client_event_id: "shared-1" },
        { event_hash: hex(20), client_event_id: "batch-old" },
        { event_hash: hex(25), client_event_id: "batch-old" },
      ],
    });
    expect(status).toBe(200);
    const { results, checkpoints = [] } = createdBatchSchema.parse(json);
    expect(checkpoints).toHaveLength(1);
    expect(results.map((result) => result.receipt)).toEqual([undefined, undefined, undefined]);
    for (const { anchor, shared_receipt: shared } of results.slice(0, 2)) {
      const { checkpoint = -1, ...own } = shared ?? {};
      expect(verdictOf({ anchor_id: anchor?.anchor_id, ...own, ...checkpoints[checkpoint] })).toBe("valid");
    }
  });

  test.each([null, "whole"])("receipts: %j is as if it were absent", async (receipts) => {
    const { json } = await batch({ receipts, events: [{ event_hash: hex(26) }] });
    const answer = createdBatchSchema.parse(json);
    expect(verdictOf(answer.results[0]?.receipt)).toBe("valid");
    expect(answer.checkpoints).toBeUndefined();
  });

  test("receipts: shared, without waiting for certificates: there are none", async () => {
    const body = { origin_fingerprint: harness.origin, receipts: "shared", events: [{ event_hash: hex(27) }] };
    harness.node.isCertifying = false;
    const { json } = await harness.send("POST", "/v1/event-anchors/batch", body);
    harness.node.isCertifying = true;
    const { results, checkpoints } = createdBatchSchema.parse(json);
    expect([results[0]?.status, results[0]?.shared_receipt, checkpoints]).toEqual([202, null, []]);
  });

  test("atomic: one refused item refuses all, with every item's result", async () => {
    const before = harness.node.leaves.length;
    const { status, json } = await batch({
      atomic: true,
      events: [{ event_hash: hex(30) }, { event_hash: hex(31), semantic_anchor: { grant_ref: hex(77) } }],
    });
    expect(status).toBe(409);
    const answer = refusedBatchSchema.parse(json);
    expect(answer.code).toBe("batch_refused");
    expect(answer.results.map((result) => result.problem?.code)).toEqual(["batch_refused", "reference_not_found"]);
    expect(answer.results[1]?.problem?.errors?.[0]?.pointer).toBe("/events/1/semantic_anchor/grant_ref");
    expect(harness.node.leaves).toHaveLength(before);
  });

  test.each([
    ["a malformed item", { events: [{ event_hash: hex(1) }, { event_hash: "zz" }] }, "/events/1/event_hash"],
    ["no item", { events: [] }, "/events"],
    ["1,001 items", { events: Array.from({ length: 1001 }, () => ({ event_hash: hex(1) })) }, "/events"],
    [
      "an item of another origin",
      { events: [{ event_hash: hex(1), origin_fingerprint: hex(4) }] },
      "/events/0/origin_fingerprint",
    ],
    ["an unknown field", { events: [{ event_hash: hex(1), depth: 1 }] }, "/events/0/depth"],
    ["receipts of another kind", { receipts: "none", events: [{ event_hash: hex(1) }] }, "/receipts"],
  ])("%s refuses the whole request, and the ledger is not asked", async (_what, body, pointer) => {
    const before = harness.node.submitted.length;
    const { status, json } = await batch(body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: "invalid_request", errors: [{ pointer }] });
    expect(harness.node.submitted).toHaveLength(before);
  });

  test("1,000 items fit, within the time that a batch may take", async () => {
    const events = Array.from({ length: 1000 }, (_, index) => ({ event_hash: hex(index % 256) }));
    const { status, json } = await batch({ events });
    expect(status).toBe(200);
    expect(createdBatchSchema.parse(json).summary.created).toBe(1000);
  });
});

describe("reading", () => {
  let anchorId: string;
  beforeAll(async () => {
    anchorId = (await create({ client_event_id: "to-read", event_hash: hex(50) })).json.anchor.anchor_id;
  });

  test("an anchor with its receipt", async () => {
    const { status, json } = await harness.send("GET", `/v1/event-anchors/${anchorId.toUpperCase()}`);
    expect(status).toBe(200);
    const answer = anchorAnswerSchema.parse(json);
    expect(answer.anchor).toMatchObject({ anchor_id: anchorId, client_event_id: "to-read" });
    expect(verdictOf(answer.receipt)).toBe("valid");
  });

  test("client_event_id and salt are shown to the client that wrote them and to admin, the commit to all", async () => {
    const path = `/v1/event-anchors/${anchorId}`;
    const other = harness.keyWith("another client", ["read"]);
    const admin = harness.keyWith("administrator", ["read", "admin"]);
    const seenByOther = await harness.send("GET", path, undefined, { authorization: `Bearer ${other}` });
    const seenByAdmin = await harness.send("GET", path, undefined, { "x-api-key": admin });
    expect(seenByOther.status).toBe(200);
    expect(seenByOther.json.anchor).not.toHaveProperty("client_event_id");
    expect(seenByOther.json.anchor).not.toHaveProperty("client_event_salt");
    expect(seenByOther.json.anchor.client_event_commit).toMatch(/^[0-9a-f]{64}$/);
    expect(seenByAdmin.json.anchor).toMatchObject({ client_event_id: "to-read", client_event_salt: hex(7) });
  });

  test("a receipt as JSON, and as tlog-proof text", async () => {
    const path = `/v1/event-anchors/${anchorId}/receipt`;
    const asJson = await harness.send("GET", path);
    expect(verdictOf(receiptSchema.parse(asJson.json))).toBe("valid");
    const headers = { authorization: `Bearer ${harness.key}`, accept: "text/plain" };
    const asText = await harness.send("GET", path, undefined, headers);
    expect(asText.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(parseProof(asText.text)).toEqual(receiptFromJson(asJson.json).receipt);
  });

  test("the latest anchor, and the proof that it grew out of a pinned head", async () => {
    const pinned = latestSchema.parse((await harness.send("GET", "/v1/event-anchors/latest")).json);
    await create({ event_hash: hex(60) });
    await create({ event_hash: hex(61) });
    const path = `/v1/event-anchors/latest?origin_fingerprint=${harness.origin}&from_size=${pinned.tree_size}`;
    const { status, json } = await harness.send("GET", path);
    expect(status).toBe(200);
    const latest = latestSchema.parse(json);
    expect(latest.tree_size).toBe(pinned.tree_size + 2);
    expect(latest.anchor).toMatchObject({ depth: latest.depth, event_hash: hex(61), finality: "certified" });
    expect(latest.quorum).toMatchObject({ threshold: 2, trust_root_version: 1 });
    expect(latest.quorum.cosigners).toHaveLength(2);
    const proof = latest.consistency?.proof.map((hash) => base64ToBytes(hash, 32)) ?? [];
    const claim = {
      oldSize: pinned.tree_size,
      oldRoot: hexToBytes(pinned.root_hash, 32),
      size: latest.tree_size,
      root: hexToBytes(latest.root_hash, 32),
      path: proof,
    };
    expect(verifyConsistency(claim, nodeCrypto.sha256)).toBe(true);
  });

  test("an origin with nothing but its genesis leaf has no latest anchor", async () => {
    const other = harness.node.cluster.origins[1] ?? new Uint8Array();
    const path = `/v1/event-anchors/latest?origin_fingerprint=${Buffer.from(other).toString("hex")}`;
    const { status, json } = await harness.send("GET", path);
    expect([status, json.code]).toEqual([404, "no_anchor_yet"]);
  });

  test.each([
    ["/v1/event-anchors/latest?from_size=999999", 409, "from_size_ahead"],
    [`/v1/event-anchors/latest?origin_fingerprint=${hex(9)}`, 409, "origin_unknown"],
    ["/v1/event-anchors/latest?from_size=0", 400, "invalid_request"],
    ["/v1/event-anchors/latest?from_size=1.0", 400, "invalid_request"],
    ["/v1/event-anchors/latest?from_size=1&from_size=1", 400, "invalid_request"],
    ["/v1/event-anchors/latest?depth=1", 400, "invalid_request"],
    ["/v1/event-anchors/latest?from_size=%zz", 400, "invalid_request"],
    [`/v1/event-anchors/${hex(99)}`, 404, "anchor_not_found"],
    [`/v1/event-anchors/${hex(99)}/receipt`, 404, "anchor_not_found"],
    [`/v1/event-anchors/${hex(99)}/trace`, 404, "anchor_not_found"],
    [`/v1/event-anchors/${hex(99).slice(1)}`, 400, "invalid_request"],
    [`/v1/event-anchors/..%2f..%2fmetrics`, 400, "invalid_request"],
    [`/v1/event-anchors/%ff`, 400, "invalid_request"],
  ])("%s is %i %s", async (path, status, code) => {
    const answer = await harness.send("GET", path);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("tables behind the read index are waited for, not read", async () => {
    harness.node.staleSelects = 3;
    const { status } = await harness.send("GET", `/v1/event-anchors/${anchorId}`);
    expect(status).toBe(200);
    expect(harness.node.staleSelects).toBe(0);
  });
});

describe("verifying", () => {
  let anchorId: string;
  beforeAll(async () => {
    anchorId = (await create({ event_hash: hex(70) })).json.anchor.anchor_id;
  });
  const verify = (body: object): Promise<Answer> => harness.send("POST", "/v1/event-anchors:verify", body);
  const resultOf = (answer: Answer, code: string): string =>
    verifiedSchema.parse(answer.json).checks.find((check) => check.code === code)?.result ?? "absent";

  test("every deciding check passes; who acted is not checked", async () => {
    const answer = await verify({ anchor_id: anchorId, event_hash: hex(70) });
    expect(answer.status).toBe(200);
    expect(verifiedSchema.parse(answer.json).valid).toBe(true);
    for (const code of ["exists", "event_hash", "leaf", "parent", "inclusion", "certificate"]) {
      expect([code, resultOf(answer, code)]).toEqual([code, "pass"]);
    }
    expect(resultOf(answer, "actor_signature")).toBe("not_checked");
    expect(verdictOf(answer.json.receipt)).toBe("valid");
  });

  test("another event hash makes it invalid, and says which check failed", async () => {
    const answer = await verify({ anchor_id: anchorId, event_hash: hex(71) });
    expect(answer.json.valid).toBe(false);
    expect(resultOf(answer, "event_hash")).toBe("fail");
  });

  test("as_of before the anchor: it did not exist", async () => {
    for (const as_of of [0, "2026-01-01T00:00:00Z"]) {
      const answer = await verify({ anchor_id: anchorId, as_of });
      expect(answer.json.valid).toBe(false);
      expect(resultOf(answer, "exists")).toBe("fail");
    }
  });

  test("as_of as a sequence and as a time name the same position", async () => {
    const { sequence, accepted_at } = (await harness.send("GET", `/v1/event-anchors/${anchorId}`)).json.anchor;
    const bySequence = await verify({ anchor_id: anchorId, as_of: sequence });
    const byTime = await verify({ anchor_id: anchorId, as_of: accepted_at.replace("Z", "+00:00") });
    expect(bySequence.json.as_of).toEqual(byTime.json.as_of);
    expect([bySequence.json.valid, byTime.json.valid]).toEqual([true, true]);
  });

  test.each([
    ["a sequence that is not applied", { as_of: 999_999 }, "as_of_future"],
    ["a time ahead of the clock", { as_of: "2199-01-01T00:00:00Z" }, "as_of_future"],
    ["a time without offset", { as_of: "2026-01-01T00:00:00" }, "invalid_request"],
    ["digits in a string", { as_of: "5" }, "invalid_request"],
    ["a negative sequence", { as_of: -1 }, "json_invalid"],
  ])("as_of: %s is 400", async (_what, fields, code) => {
    const { status, json } = await verify({ anchor_id: anchorId, ...fields });
    expect([status, json.code]).toEqual([400, code]);
  });

  test("an unknown id is 404", async () => {
    const { status, json } = await verify({ anchor_id: hex(98) });
    expect([status, json.code]).toEqual([404, "anchor_not_found"]);
  });

  test("a batch keeps its order; an unknown id is a problem of its item", async () => {
    const anchors = [
      { anchor_id: anchorId },
      { anchor_id: hex(98) },
      { anchor_id: anchorId, event_hash: hex(71) },
      { anchor_id: anchorId },
    ];
    const { status, json } = await harness.send("POST", "/v1/event-anchors:batchVerify", { anchors });
    expect(status).toBe(200);
    const answer = verifiedBatchSchema.parse(json);
    expect(answer.results.map((result) => result.valid)).toEqual([true, false, false, true]);
    expect(answer.results[1]?.problem).toMatchObject({ code: "anchor_not_found" });
    expect(answer.summary).toEqual({ total: 4, valid: 2, invalid: 1, not_found: 1 });
  });
});

describe("tracing", () => {
  test("an event: parents page by page down to genesis, verdicts unknown, the EEA beside it", async () => {
    const own = await startHarness();
    try {
      const body = { origin_fingerprint: own.origin, event_hash: hex(1) };
      const created: string[] = [];
      for (let index = 0; index < 5; index++) {
        created.push((await own.send("POST", "/v1/event-anchors", body)).json.anchor.anchor_id);
      }
      const path = `/v1/event-anchors/${created[4]}/trace?limit=3`;
      const first = traceSchema.parse((await own.send("GET", path)).json);
      expect(first).toMatchObject({
        authorised_at_action: "unknown",
        authorised_now: "unknown",
        actor: { actor_signature: "not_checked" },
        violations: [],
        eea: { anchor_id: created[4], depth: 5 },
      });
      expect(first.parents.items.map((parent) => parent.depth)).toEqual([4, 3, 2]);
      const next = await own.send("GET", `${path}&cursor=${first.parents.next_cursor}`);
      const second = traceSchema.parse(next.json);
      expect(second.parents.items.map((parent) => parent.depth)).toEqual([1, 0]);
      expect(second.parents.next_cursor).toBeNull();
      expect(second.violations).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test("references show what they lead to", async () => {
    const target = (await create({ event_hash: hex(80) })).json.anchor.anchor_id;
    const { json } = await create({ semantic_anchor: { scroll_ref: target } });
    const { json: trace } = await harness.send("GET", `/v1/event-anchors/${json.anchor.anchor_id}/trace`);
    expect(traceSchema.parse(trace).references).toEqual([
      { field: "scroll_ref", anchor_id: target, exists: true, kind: "event" },
    ]);
  });

  test("as of a position before it, the anchor is not there", async () => {
    const { json } = await create();
    const { status } = await harness.send("GET", `/v1/event-anchors/${json.anchor.anchor_id}/trace?as_of=0`);
    expect(status).toBe(404);
  });

  test.each(["limit=0", "limit=101", "cursor=0", "trusted_roots=zz", "as_of=yesterday", "limit="])(
    "?%s is 400",
    async (query) => {
      const { json } = await create();
      const path = `/v1/event-anchors/${json.anchor.anchor_id}/trace?${query}`;
      expect((await harness.send("GET", path)).json.code).toBe("invalid_request");
    },
  );
});
