/** An origin that was lost in a restore: its last anchors are committed, and no certificate will ever cover them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventListSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import { hexToBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";
import { anchorOf, claimed, granted, hex } from "./records.ts";

let harness: Harness;
let covered: AnchorJson;
let event: AnchorJson;
let claim: AnchorJson;
let grant: AnchorJson;
const HASH = hex(0x77);

beforeAll(async () => {
  harness = await startHarness();
  const write = (): Promise<AnchorJson> =>
    anchorOf(harness.send("POST", "/v1/event-anchors", { origin_fingerprint: harness.origin, event_hash: HASH }));
  const grantor = await claimed(harness, "boss");
  covered = await write();
  harness.node.certifiedUpTo.set(harness.origin, covered.depth + 1);
  claim = await claimed(harness, "agent");
  const claims = { grantorClaim: grantor.anchor_id, granteeClaim: claim.anchor_id, grantor: "boss" };
  grant = await granted(harness, claims);
  event = await write();
});
afterAll(() => harness.close());

async function answered(method: string, path: string, body?: object): Promise<unknown> {
  const { status, json } = await harness.send(method, path, body, { prefer: "wait=1", "x-api-key": harness.key });
  return [status, json.code];
}

describe("an anchor that no certificate covers", () => {
  test("is waited for, and ends a list, while its origin is not lost", async () => {
    const { json } = await harness.send("GET", `/v1/event-anchors?event_hash=${HASH}`);
    expect(eventListSchema.parse(json).items).toMatchObject([{ anchor_id: covered.anchor_id, finality: "certified" }]);
    expect(await answered("GET", `/v1/event-anchors/${event.anchor_id}/receipt`)).toEqual([
      503,
      "certification_stalled",
    ]);
  });
});

describe("once its origin is lost", () => {
  beforeAll(() => {
    harness.node.setOriginStatus(toOriginFingerprint(hexToBytes(harness.origin)), "lost");
  });

  test("it is shown as committed, without a receipt, for good", async () => {
    const { status, json } = await harness.send("GET", `/v1/event-anchors/${event.anchor_id}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ anchor: { anchor_id: event.anchor_id, finality: "committed" }, receipt: null });
  });

  test("it stands in lists, which go on after it", async () => {
    const { json } = await harness.send("GET", `/v1/event-anchors?event_hash=${HASH}`);
    expect(eventListSchema.parse(json).items).toMatchObject([
      { anchor_id: covered.anchor_id, finality: "certified" },
      { anchor_id: event.anchor_id, finality: "committed" },
    ]);
  });

  test("what was certified before still has its receipt", async () => {
    const { status } = await harness.send("GET", `/v1/event-anchors/${covered.anchor_id}/receipt`);
    expect(status).toBe(200);
  });

  test.each([
    ["its receipt", () => answered("GET", `/v1/event-anchors/${event.anchor_id}/receipt`)],
    ["its trace", () => answered("GET", `/v1/event-anchors/${event.anchor_id}/trace`)],
    ["its verification", () => answered("POST", "/v1/event-anchors:verify", { anchor_id: event.anchor_id })],
    [
      "that of many, if it is among them",
      () =>
        answered("POST", "/v1/event-anchors:batchVerify", {
          anchors: [{ anchor_id: covered.anchor_id }, { anchor_id: event.anchor_id }],
        }),
    ],
    ["that of a claim", () => answered("POST", "/v1/claim-anchors:verify", { anchor_id: claim.anchor_id })],
    ["that of a grant", () => answered("POST", "/v1/grant-anchors:verify", { anchor_id: grant.anchor_id })],
    [
      "the active claim of a pair",
      () => {
        const { entity_fingerprint: entity, attribute_type: type } = claim as AnchorJson & Record<string, unknown>;
        return answered("GET", `/v1/claim-anchors?entity_fingerprint=${String(entity)}&attribute_type=${String(type)}`);
      },
    ],
  ])("%s is refused by name, and never waited for", async (_, ask) => {
    expect(await ask()).toEqual([409, "origin_lost"]);
  });
});
