import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createdBatchSchema, createdSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { partyOf } from "@event-anchoring/testkit/records";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { claimed, hex, signedEvent } from "./records.ts";
import type { Body } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
let claim: AnchorJson;
beforeAll(async () => {
  harness = await startHarness();
  claim = await claimed(harness, "actor");
});
afterAll(() => harness.close());

const post = (body: Body): Promise<Answer> => harness.send("POST", "/v1/event-anchors", body);
const batch = (events: readonly Body[], fields: object = {}): Promise<Answer> =>
  harness.send("POST", "/v1/event-anchors/batch", { origin_fingerprint: harness.origin, events, ...fields });
const byActor = (): Body => signedEvent(harness, "actor", { semanticAnchor: { irisRef: hexToBytes(claim.anchor_id) } });

describe("a signed event", () => {
  test("is anchored as its own kind, with key and signature", async () => {
    const { status, json } = await post(byActor());
    expect(status).toBe(201);
    const { anchor, receipt } = createdSchema.parse(json);
    const { actor_signature } = byActor();
    expect(anchor).toMatchObject({
      kind: "signed_event",
      actor_public_key: partyOf("actor").publicKeyHex,
      actor_signature,
    });
    expect(verdictOf(harness, receipt)).toBe("valid");
  });

  test("of another key than the claim's is recorded: authority is told, not required", async () => {
    const semanticAnchor = { irisRef: hexToBytes(claim.anchor_id) };
    expect((await post(signedEvent(harness, "somebody else", { semanticAnchor }))).status).toBe(201);
  });

  test("is another content than the same event unsigned, or signed by another", async () => {
    const signed = signedEvent(harness, "actor", { clientEventId: "signed" });
    const { actor_public_key: _key, actor_signature: _signature, ...unsigned } = signed;
    const answers = [
      await post(signed),
      await post(signed),
      await post(unsigned),
      await post(signedEvent(harness, "other", { clientEventId: "signed" })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 409, 409]);
    expect(answers[2]?.json.code).toBe("client_event_id_conflict");
  });

  test.each<[string, Body]>([
    ["another event", { event_hash: hex(9) }],
    ["another reference", { semantic_anchor: { scroll_ref: hex(9) } }],
    ["another key", { actor_public_key: partyOf("other").publicKeyHex }],
    ["a signature of zeros", { actor_signature: "00".repeat(64) }],
    ["a key of small order", { actor_public_key: "01".padEnd(64, "0") }],
  ])("%s than was signed is 422 with its pointer, and nothing is written", async (_what, replaced) => {
    const before = harness.node.leaves.length;
    const { status, json } = await post({ ...byActor(), ...replaced });
    expect([status, json.code, json.errors[0]?.pointer]).toEqual([422, "signature_invalid", "/actor_signature"]);
    expect(harness.node.leaves).toHaveLength(before);
  });

  test.each<[string, Body, string]>([
    ["a key alone", { actor_signature: undefined }, "/actor_signature"],
    ["a signature alone", { actor_public_key: null }, "/actor_public_key"],
    ["a short signature", { actor_signature: "ab".repeat(63) }, "/actor_signature"],
  ])("%s is 400", async (_what, replaced, pointer) => {
    const { status, json } = await post({ ...byActor(), ...replaced });
    expect([status, json.code, json.errors[0]?.pointer]).toEqual([400, "invalid_request", pointer]);
  });
});

describe("signed events of a batch", () => {
  test("stand beside unsigned ones; a forged one is refused by itself", async () => {
    const forged = { ...byActor(), event_hash: hex(9) };
    const { status, json } = await batch([byActor(), { event_hash: hex(1) }, forged]);
    expect(status).toBe(200);
    const { results } = createdBatchSchema.parse(json);
    expect(results.map((result) => [result.status, result.anchor?.kind])).toEqual([
      [201, "signed_event"],
      [201, "event"],
      [422, undefined],
    ]);
    expect(results[2]?.problem?.errors?.[0]?.pointer).toBe("/events/2/actor_signature");
  });

  test("256 are decided; one more is 400 before the ledger is asked", async () => {
    const one = byActor();
    const full = await batch(Array.from({ length: 256 }, () => one));
    expect(createdBatchSchema.parse(full.json).summary).toMatchObject({ total: 256, created: 256 });
    const before = harness.node.submitted.length;
    const { status, json } = await batch([...Array.from({ length: 257 }, () => one), { event_hash: hex(1) }]);
    expect([status, json.code]).toEqual([400, "batch_too_many_signatures"]);
    expect(harness.node.submitted).toHaveLength(before);
  });

  test("in an atomic batch a forged one refuses all", async () => {
    const before = harness.node.leaves.length;
    const { status, json } = await batch([byActor(), { ...byActor(), event_hash: hex(9) }], { atomic: true });
    expect([status, json.code]).toEqual([409, "batch_refused"]);
    expect(harness.node.leaves).toHaveLength(before);
  });
});
