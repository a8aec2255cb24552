import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { anchorAnswerSchema, createdSchema } from "@event-anchoring/api-contract";
import type { AnchorAnswer, AnchorJson } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { claimBody } from "@event-anchoring/testkit/records";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { claimAbout, claimed, granted, hex, revocationOf } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.close());

const ASYNC = { prefer: "respond-async" };

function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return harness.send(method, path, body, { authorization: `Bearer ${harness.key}`, ...headers });
}

/** Asks where a 202 leads, at once. */
async function followed(location: string | undefined): Promise<AnchorAnswer> {
  const { status, json, text, headers } = await send("GET", location ?? "", undefined, ASYNC);
  if (status !== 200) throw new Error(text);
  expect(headers["preference-applied"]).toBe("respond-async");
  return anchorAnswerSchema.parse(json);
}

const eventBody = (): object => ({ origin_fingerprint: harness.origin, event_hash: hex(1) });

describe("the Location of a 202", () => {
  const writes: [string, () => Promise<[string, unknown]>][] = [
    ["event", async () => ["/v1/event-anchors", eventBody()]],
    ["claim", async () => ["/v1/claim-anchors", claimBody(claimAbout(harness, "somebody"))]],
    [
      "revocation",
      async () => {
        const claim = await claimed(harness, "revoked");
        return [`/v1/claim-anchors/${claim.anchor_id}/revoke`, revocationOf(claim)];
      },
    ],
  ];

  test.each(writes)("of an %s leads to the anchor: committed, then certified with a receipt", async (kind, write) => {
    const [path, body] = await write();
    harness.node.isCertifying = false;
    const { status, json, headers } = await send("POST", path, body, ASYNC);
    expect(status).toBe(202);
    const anchor: AnchorJson = (json as unknown as { anchor: AnchorJson }).anchor;
    expect([anchor.kind, headers.location]).toEqual([kind, `/v1/event-anchors/${anchor.anchor_id}`]);
    const early = await followed(headers.location);
    expect([early.anchor, early.receipt]).toEqual([anchor, null]);
    harness.node.isCertifying = true;
    const late = await followed(headers.location);
    expect(late.anchor).toEqual({ ...anchor, finality: "certified" });
    expect(verdictOf(harness, late.receipt)).toBe("valid");
  });

  test("asked for without the preference, an answer waits for the certificate or says why there is none", async () => {
    harness.node.isCertifying = false;
    const { headers } = await send("POST", "/v1/event-anchors", eventBody());
    const { status, json } = await send("GET", headers.location ?? "");
    expect([status, json.code]).toEqual([503, "certification_stalled"]);
  });

  test("an anchor whose certificate is in the tables is certified, also while no new one can be made", async () => {
    const { json, headers } = await send("POST", "/v1/event-anchors", eventBody());
    const { originFingerprint, treeSize, rootHash, certifiedAtS } = harness.node.certificateOf(harness.node.origin);
    const held = { originFingerprint, treeSize, rootHash, certifiedAtS, cosignatures: [], trustRootVersion: 1 };
    harness.node.tables.recordCertificate(held);
    harness.node.isCertifying = false;
    const later = await send("POST", "/v1/event-anchors", eventBody());
    expect(await followed(headers.location)).toEqual({ anchor: createdSchema.parse(json).anchor, receipt: null });
    expect((await followed(later.headers.location)).anchor.finality).toBe("committed");
  });

  test("shows the state of a claim and of a grant as it is, also while nothing is certified", async () => {
    const [boss, agent] = [await claimed(harness, "boss"), await claimed(harness, "agent")];
    const parties = { grantorClaim: boss.anchor_id, granteeClaim: agent.anchor_id, grantor: "boss" };
    const grant = await granted(harness, parties);
    harness.node.isCertifying = false;
    await send("POST", `/v1/claim-anchors/${agent.anchor_id}/revoke`);
    const states = await Promise.all(
      [boss, agent, grant].map(async ({ anchor_id }) => (await followed(`/v1/event-anchors/${anchor_id}`)).anchor),
    );
    expect(states.map((anchor) => ("state" in anchor ? anchor.state : null))).toEqual(["active", "revoked", "revoked"]);
  });

  test("an unknown id is 404, at once or not; a node without a leader is 503", async () => {
    for (const headers of [{}, ASYNC]) {
      const { status, json } = await send("GET", `/v1/event-anchors/${hex(9)}`, undefined, headers);
      expect([status, json.code]).toEqual([404, "anchor_not_found"]);
    }
    harness.node.refusal = new RefusedError("no_leader", "term 17", 1000);
    const { status, json } = await send("GET", `/v1/event-anchors/${hex(9)}`, undefined, ASYNC);
    expect([status, json.code]).toEqual([503, "no_leader"]);
  });

  test("wait= sets how long a read may take", async () => {
    const { headers } = await send("POST", "/v1/event-anchors", eventBody());
    const answer = await send("GET", headers.location ?? "", undefined, { prefer: "wait=2" });
    expect([answer.status, answer.headers["preference-applied"]]).toEqual([200, "wait=2"]);
  });
});

test("the replay of an event that is not certified yet is 202, at once or when the time is over", async () => {
  const body = { ...eventBody(), client_event_id: "once" };
  harness.node.isCertifying = false;
  const first = await send("POST", "/v1/event-anchors", body);
  const answers = [await send("POST", "/v1/event-anchors", body), await send("POST", "/v1/event-anchors", body, ASYNC)];
  expect(first.status).toBe(202);
  for (const { status, json } of answers) {
    expect(status).toBe(202);
    const { anchor, receipt, replayed } = createdSchema.parse(json);
    expect([anchor.anchor_id, receipt, replayed]).toEqual([first.json.anchor.anchor_id, null, true]);
  }
});
