import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { anchorAnswerSchema, createdSchema, erasedSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { clientIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { claimed, hex } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
let admin: string;
beforeAll(async () => {
  harness = await startHarness();
  admin = harness.keyWith("admin", ["read", "admin"], { apiClientId: clientIdOf("default") });
});
afterAll(() => harness.close());

async function create(fields: object): Promise<Answer> {
  return harness.send("POST", "/v1/event-anchors", {
    origin_fingerprint: harness.origin,
    event_hash: hex(1),
    ...fields,
  });
}

async function created(fields: object): Promise<AnchorJson> {
  return createdSchema.parse((await create(fields)).json).anchor;
}

const erase = (anchorId: string, body?: unknown, key = admin): Promise<Answer> =>
  harness.send("POST", `/v1/event-anchors/${anchorId}/erase-client-event-id`, body, { "x-api-key": key });

describe("erasing a client_event_id", () => {
  test("takes id and salt away, and leaves the commit, the leaf and its receipt", async () => {
    const { anchor_id } = await created({ client_event_id: "name@example.org" });
    const { status, json } = await erase(anchor_id, {});
    expect(status).toBe(200);
    const { anchor, erased } = erasedSchema.parse(json);
    expect(erased).toBe(true);
    expect(anchor).toMatchObject({
      anchor_id,
      client_event_id: null,
      client_event_salt: null,
      client_event_erased: true,
    });
    const read = await harness.send("GET", `/v1/event-anchors/${anchor_id}`);
    const found = anchorAnswerSchema.parse(read.json);
    expect(found.anchor).toMatchObject({ client_event_id: null, client_event_erased: true });
    expect(found.anchor).toHaveProperty("client_event_commit", expect.stringMatching(/^[0-9a-f]{64}$/));
    expect(verdictOf(harness, found.receipt)).toBe("valid");
    expect(read.text).not.toContain("name@example.org");
  });

  test("a second time there is nothing to erase, as with an event that has none", async () => {
    const { anchor_id } = await created({ client_event_id: "twice" });
    const none = await created({});
    const answers = [await erase(anchor_id), await erase(anchor_id), await erase(none.anchor_id)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ json }) => erasedSchema.parse(json).erased)).toEqual([true, false, false]);
  });

  test("the same id still belongs to its event: replay and conflict are as before", async () => {
    const { anchor_id } = await created({ client_event_id: "kept" });
    await erase(anchor_id);
    const replayed = await create({ client_event_id: "kept" });
    const conflict = await create({ client_event_id: "kept", event_hash: hex(2) });
    expect([replayed.status, replayed.json.anchor.anchor_id]).toEqual([200, anchor_id]);
    expect(replayed.json.anchor.client_event_id).toBeNull();
    expect([conflict.status, conflict.json.code]).toEqual([409, "client_event_id_conflict"]);
  });

  test("whoever may not see the id is not told that it was erased", async () => {
    const { anchor_id } = await created({ client_event_id: "private" });
    await erase(anchor_id);
    const stranger = harness.keyWith("stranger", ["read"]);
    const path = `/v1/event-anchors/${anchor_id}`;
    const { json } = await harness.send("GET", path, undefined, { "x-api-key": stranger });
    expect(json.anchor).not.toHaveProperty("client_event_erased");
    expect(json.anchor).not.toHaveProperty("client_event_id");
  });

  test("needs the scope admin, and to be one's own event", async () => {
    const { anchor_id } = await created({ client_event_id: "mine" });
    const powerless = await erase(anchor_id, undefined, harness.key);
    const stranger = await erase(anchor_id, undefined, harness.keyWith("another's admin", ["read", "admin"]));
    expect([powerless.status, powerless.json.code]).toEqual([403, "scope_missing"]);
    expect([stranger.status, stranger.json.code]).toEqual([403, "not_own_record"]);
  });

  test.each<[string, () => Promise<string>, unknown, number, string]>([
    ["an unknown id", async () => hex(9), undefined, 404, "anchor_not_found"],
    ["a claim", async () => (await claimed(harness, "somebody")).anchor_id, undefined, 409, "wrong_kind"],
    ["half an id", async () => hex(9).slice(1), undefined, 400, "invalid_request"],
    ["a field", async () => hex(9), { client_event_id: "x" }, 400, "invalid_request"],
    ["a list", async () => hex(9), [], 400, "invalid_request"],
    ["broken JSON", async () => hex(9), "{", 400, "json_invalid"],
  ])("%s", async (_what, anchorId, body, status, code) => {
    const answer = await erase(await anchorId(), body);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("a node that cannot say what became of it says so", async () => {
    const { anchor_id } = await created({ client_event_id: "unlucky" });
    harness.node.refusal = new RefusedError("outcome_unknown", "term 17", 2500);
    const { status, json, headers } = await erase(anchor_id);
    harness.node.refusal = null;
    expect([status, json.code, headers["retry-after"]]).toEqual([503, "outcome_unknown", "3"]);
  });
});
