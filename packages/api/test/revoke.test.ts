import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { revokedSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import { bytesToHex, clientRevoker } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { RefusedError } from "@event-anchoring/api";
import { partyOf } from "@event-anchoring/testkit/records";
import { keyIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { seedOf } from "./fake-cluster.ts";
import { START_MS } from "./fake-node.ts";
import { claimed, granted, hex, revocationOf } from "./records.ts";
import type { Body, RevocationChoices } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

let round = 0;
let subject: string;
let claim: AnchorJson;
beforeEach(async () => {
  round += 1;
  subject = `subject ${round}`;
  claim = await claimed(harness, subject);
});

const withKey = (key: string, headers: Record<string, string> = {}) => ({ authorization: `Bearer ${key}`, ...headers });

function revoke(target: AnchorJson, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
  const kind = target.kind === "grant" ? "grant" : "claim";
  return harness.send("POST", `/v1/${kind}-anchors/${target.anchor_id}/revoke`, body, headers);
}

async function aGrant(): Promise<AnchorJson> {
  const grantee = await claimed(harness, `grantee of ${subject}`);
  return granted(harness, { grantorClaim: claim.anchor_id, granteeClaim: grantee.anchor_id, grantor: subject });
}

describe("revoking one's own unsigned", () => {
  test.each<[string, unknown, Record<string, string>]>([
    ["without a body", undefined, {}],
    ["with a type and no body", undefined, { "content-type": "application/json" }],
    ["with an empty body of another type", "", { "content-type": "text/plain", "content-length": "0" }],
    ["with {}", {}, {}],
    ["with every field null", { origin_fingerprint: null, reason: null, suspect_since: null, issued_at: null }, {}],
  ])("%s: 201 with the revocation record and its receipt", async (_what, body, headers) => {
    const { status, json, headers: answered } = await revoke(claim, body, withKey(harness.key, headers));
    expect(status).toBe(201);
    const { anchor, revoked_anchor_id, receipt, replayed } = revokedSchema.parse(json);
    expect([revoked_anchor_id, replayed]).toEqual([claim.anchor_id, false]);
    const apiClientId = seedOf("client default").slice(0, 16);
    expect(anchor).toMatchObject({
      kind: "revocation",
      target_anchor_id: claim.anchor_id,
      origin_fingerprint: claim.origin_fingerprint,
      authority: "operator",
      revoker: bytesToHex(clientRevoker(apiClientId, nodeCrypto.sha256)),
      reason: "unspecified",
      signature: null,
    });
    expect(answered.location).toBe(`/v1/event-anchors/${anchor.anchor_id}`);
    expect(verdictOf(harness, receipt)).toBe("valid");
  });

  test("in chunks of nothing is without a body; chunks of something need a type", async () => {
    const send = (chunks: string): Promise<string> =>
      harness.raw(
        `POST /v1/claim-anchors/${claim.anchor_id}/revoke HTTP/1.1\r\nHost: x\r\nX-API-Key: ${harness.key}\r\n` +
          `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
      );
    expect(await send("2\r\n{}\r\n0\r\n\r\n")).toMatch(/^HTTP\/1\.1 415 /);
    expect(await send("0\r\n\r\n")).toMatch(/^HTTP\/1\.1 201 /);
  });

  test("what it says is kept: reason, since when the key is suspect, when it was issued", async () => {
    const body = { reason: "key_compromise", suspect_since: START_MS - 5, issued_at: START_MS };
    const { json } = await revoke(claim, { ...body, origin_fingerprint: claim.origin_fingerprint.toUpperCase() });
    expect(revokedSchema.parse(json).anchor).toMatchObject(body);
  });

  test("the same again is 200 with the first record; other content is another record", async () => {
    const [first, second, other] = [
      await revoke(claim),
      await revoke(claim, {}),
      await revoke(claim, { reason: "cessation" }),
    ];
    expect([first.status, second.status, other.status]).toEqual([201, 200, 201]);
    const [created, replayed] = [first, second].map(({ json }) => revokedSchema.parse(json));
    expect(replayed?.anchor.anchor_id).toBe(created?.anchor.anchor_id);
    expect(replayed?.replayed).toBe(true);
    expect(verdictOf(harness, replayed?.receipt)).toBe("valid");
  });

  test("respond-async is 202, without a receipt", async () => {
    const { status, json, headers } = await revoke(claim, undefined, withKey(harness.key, { prefer: "respond-async" }));
    expect([status, headers["preference-applied"]]).toEqual([202, "respond-async"]);
    expect(revokedSchema.parse(json)).toMatchObject({ receipt: null, anchor: { finality: "committed" } });
  });
});

describe("revoking by signature", () => {
  test.each([
    ["issuer", () => "issuer"],
    ["subject", () => subject],
  ])("the %s of a claim", async (authority, revoker) => {
    const { status, json } = await revoke(claim, revocationOf(claim, { revoker: revoker(), reason: 1 }));
    expect(status).toBe(201);
    const { publicKeyHex } = partyOf(revoker());
    expect(revokedSchema.parse(json).anchor).toMatchObject({ authority, revoker: publicKeyHex });
  });

  test.each([
    ["grantor", () => subject],
    ["witness", () => "witness"],
  ])("the %s of a grant", async (authority, revoker) => {
    const grant = await aGrant();
    const { status, json } = await revoke(grant, revocationOf(grant, { revoker: revoker() }));
    expect(status).toBe(201);
    expect(revokedSchema.parse(json).anchor).toMatchObject({ authority, target_anchor_id: grant.anchor_id });
  });

  test.each<[string, RevocationChoices, Body, string]>([
    ["a stranger", { revoker: "stranger" }, {}, "/revoker_public_key"],
    ["a reason that was not signed", { revoker: "issuer" }, { reason: "superseded" }, "/revoker_signature"],
    ["a time that was not signed", { revoker: "issuer" }, { suspect_since: 5 }, "/revoker_signature"],
    ["a signature for another origin", { revoker: "issuer", signedOrigin: hex(7) }, {}, "/revoker_signature"],
    ["zeros", { revoker: "issuer" }, { revoker_signature: "00".repeat(64) }, "/revoker_signature"],
  ])("%s is 422", async (_what, choices, replaced, pointer) => {
    const { status, json } = await revoke(claim, { ...revocationOf(claim, choices), ...replaced });
    expect([status, json.code, json.errors[0]?.pointer]).toEqual([422, "signature_invalid", pointer]);
  });

  test("a signature for another target is 422", async () => {
    const other = await claimed(harness, `other ${subject}`);
    const { status, json } = await revoke(claim, revocationOf(other, { revoker: "issuer" }));
    expect([status, json.code]).toEqual([422, "signature_invalid"]);
  });
});

describe("who may revoke", () => {
  test.each([
    ["read", [403, "scope_missing"], [403, "scope_missing"]],
    ["write", [201, undefined], [403, "scope_missing"]],
    ["revoke", [201, undefined], [403, "not_own_record"]],
    ["admin", [403, "scope_missing"], [403, "scope_missing"]],
  ] as const)("another client's key with %s alone: signed %j, unsigned %j", async (scope, signed, unsigned) => {
    const key = harness.keyWith(`only ${scope} ${round}`, [scope]);
    const bySignature = await revoke(claim, revocationOf(claim, { revoker: "issuer", reason: 1 }), withKey(key));
    const byItself = await revoke(claim, { reason: "cessation" }, withKey(key));
    expect([bySignature.status, bySignature.json.code]).toEqual(signed);
    expect([byItself.status, byItself.json.code]).toEqual(unsigned);
  });

  test("no set of scopes lets another client revoke unsigned, a claim or a grant", async () => {
    const key = harness.keyWith(`every scope ${round}`, ["read", "write", "revoke", "admin"]);
    for (const target of [claim, await aGrant()]) {
      const { status, json } = await revoke(target, {}, withKey(key));
      expect([status, json.code, json.errors[0]?.pointer]).toEqual([403, "not_own_record", "/anchor_id"]);
    }
  });

  test("the early answer is the one that the ledger gives", () => {
    const verdicts = (["read", "write", "revoke", "admin"] as const).map((scope) => {
      const label = `judged ${scope} ${round}`;
      harness.keyWith(label, [scope]);
      const target = harness.node.leaves.at(-1);
      if (target === undefined) throw new Error("no leaf");
      const revocation = {
        targetKind: "claim" as const,
        targetAnchorId: target.anchorId,
        targetOriginFingerprint: target.originFingerprint,
        originFingerprint: null,
        reason: 0,
        suspectSince: 0,
        issuedAt: 0,
      };
      const signer = { publicKey: partyOf("stranger").publicKey, signature: new Uint8Array(64) };
      const credential = { keyId: keyIdOf(label), apiClientId: seedOf(`client ${label}`).slice(0, 16) };
      return [signer, null].map((each) => {
        const command = { kind: "record_revocation", credential, revocation: { ...revocation, signer: each } } as const;
        const [outcome] = harness.node.apply([command]);
        return outcome?.kind === "rejected" ? outcome.rejection.code : outcome?.kind;
      });
    });
    expect(verdicts).toEqual([
      ["scope_missing", "scope_missing"],
      ["records", "scope_missing"],
      ["records", "records"],
      ["scope_missing", "scope_missing"],
    ]);
  });

  test("who may not revoke is not told whether the target exists", async () => {
    const key = harness.keyWith(`writer ${round}`, ["write"]);
    const { status } = await harness.send("POST", `/v1/claim-anchors/${hex(9)}/revoke`, undefined, withKey(key));
    expect(status).toBe(403);
  });
});

describe("what a revocation is refused for", () => {
  test.each<[string, unknown, string]>([
    ["a key without a signature", { revoker_public_key: hex(1) }, "invalid_request"],
    ["a signature without a key", { revoker_signature: "ab".repeat(64) }, "invalid_request"],
    ["a reason nobody knows", { reason: "boredom" }, "invalid_request"],
    ["a reason by number", { reason: 1 }, "invalid_request"],
    ["a reason that is a property of every object", { reason: "constructor" }, "invalid_request"],
    ["an authority of its own choice", { authority: "issuer" }, "invalid_request"],
    ["a list", [], "invalid_request"],
    ["null", "null", "invalid_request"],
    ["spaces", " ", "json_invalid"],
    ["broken JSON", "{", "json_invalid"],
    ["a repeated key", '{"reason":"cessation","reason":"cessation"}', "json_invalid"],
    ["__proto__", '{"__proto__":{"reason":"cessation"}}', "json_invalid"],
    ["200,000 levels", "[".repeat(60_000), "json_invalid"],
    ["a number beyond all", '{"issued_at":1e400}', "json_invalid"],
  ])("%s is 400, before the ledger is asked", async (_what, body, code) => {
    const before = harness.node.submitted.length;
    const { status, json } = await revoke(claim, body);
    expect([status, json.code]).toEqual([400, code]);
    expect(harness.node.submitted).toHaveLength(before);
  });

  test.each<[string, () => string, number, string]>([
    ["an unknown id", () => `/v1/claim-anchors/${hex(9)}/revoke`, 404, "anchor_not_found"],
    ["an unknown grant", () => `/v1/grant-anchors/${hex(9)}/revoke`, 404, "anchor_not_found"],
    ["a claim as a grant", () => `/v1/grant-anchors/${claim.anchor_id}/revoke`, 409, "wrong_kind"],
    ["the genesis leaf", () => `/v1/claim-anchors/${genesisId()}/revoke`, 409, "wrong_kind"],
    ["half an id", () => `/v1/claim-anchors/${claim.anchor_id.slice(1)}/revoke`, 400, "invalid_request"],
    ["a path in the id", () => `/v1/claim-anchors/..%2f${claim.anchor_id}/revoke`, 400, "invalid_request"],
    ["a parameter", () => `/v1/claim-anchors/${claim.anchor_id}/revoke?force=1`, 400, "invalid_request"],
  ])("%s", async (_what, path, status, code) => {
    const answer = await harness.send("POST", path());
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test.each<[string, () => Body, number, string]>([
    ["an origin nobody knows", () => ({ origin_fingerprint: hex(8) }), 409, "origin_unknown"],
    ["the origin of another node", () => ({ origin_fingerprint: otherOrigin() }), 409, "origin_mismatch"],
    ["issued in the future", () => ({ issued_at: START_MS + 10_000_000 }), 422, "issued_in_future"],
  ])("%s", async (_what, body, status, code) => {
    const answer = await revoke(claim, body());
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  const genesisId = (): string => bytesToHex(harness.node.leaves[0]?.anchorId ?? new Uint8Array());
  const otherOrigin = (): string => bytesToHex(harness.node.cluster.origins[1] ?? new Uint8Array());

  test("a node that cannot answer for it says 503", async () => {
    harness.node.refusal = new RefusedError("no_leader", "term 17", 2500);
    const { status, json, headers } = await revoke(claim);
    harness.node.refusal = null;
    expect([status, json.code, headers["retry-after"]]).toEqual([503, "no_leader", "3"]);
  });
});

test("the target's origin is lost: the leaf goes to the active origin that the request names", async () => {
  const own = await startHarness();
  try {
    const [lost, active] = own.node.cluster.origins.map(bytesToHex);
    const target = await claimed(own, "stranded");
    own.node.setOriginStatus(own.node.origin, "lost");
    const path = `/v1/claim-anchors/${target.anchor_id}/revoke`;
    const unnamed = await own.send("POST", path);
    const named = await own.send("POST", path, { origin_fingerprint: active });
    expect([unnamed.status, unnamed.json.code]).toEqual([409, "origin_closed"]);
    expect(named.status).toBe(201);
    expect(lost).toBe(target.origin_fingerprint);
    const { anchor, receipt } = revokedSchema.parse(named.json);
    expect(anchor.origin_fingerprint).toBe(active);
    expect(verdictOf(own, receipt)).toBe("valid");
  } finally {
    await own.close();
  }
});
