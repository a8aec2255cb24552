import { describe, expect, test } from "@jest/globals";
import { LocalKey, Receipt, UnexpectedAnswer } from "../src/index.ts";
import type { Client } from "../src/index.ts";
import { FakeTransport, ORIGIN, clientOf } from "./fake-transport.ts";
import { OPERATIONS, examplesOf } from "./openapi-examples.ts";

const ID = "1b".repeat(32);
const HASH = "2c".repeat(32);
const [subject, issuer] = [LocalKey.fromSeed("61".repeat(32)), LocalKey.fromSeed("62".repeat(32))];
const claim = {
  entityFingerprint: HASH,
  attributeType: "0x1001",
  attributeHash: HASH,
  subjectSigner: subject,
  issuerSigner: issuer,
};
const grant = {
  grantorClaimRef: ID,
  granteeClaimRef: ID,
  scopeHash: HASH,
  delegationDepth: 1,
  grantorSigner: subject,
  witnessSigner: issuer,
};

/** How each operation of the document is called. The page of the document is for browsers. */
const CALLS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  "POST /v1/event-anchors": (client) => client.createEventAnchor(HASH),
  "GET /v1/event-anchors": (client) => client.listEventAnchors({ eventHash: HASH }, { limit: 2, cursor: "a+b" }),
  "POST /v1/event-anchors/batch": (client) => client.createEventAnchors([{ eventHash: HASH }], { atomic: true }),
  "POST /v1/event-anchors/{anchor_id}/erase-client-event-id": (client) => client.eraseClientEventId(ID),
  "POST /v1/event-anchors:verify": (client) => client.verifyEventAnchor(ID, { eventHash: HASH, asOf: 3 }),
  "POST /v1/event-anchors:batchVerify": (client) => client.verifyEventAnchors([{ anchorId: ID }]),
  "GET /v1/event-anchors/latest": (client) => client.latest({ fromSize: 2 }),
  "GET /v1/event-anchors/consistency": (client) => client.consistency({ fromSize: 2 }),
  "GET /v1/event-anchors/{anchor_id}": (client) => client.getAnchor(ID),
  "GET /v1/event-anchors/{anchor_id}/receipt": (client) => client.getReceipt(ID),
  "GET /v1/event-anchors/{anchor_id}/trace": (client) => client.trace(ID, { trustedRoots: [ID, ID] }),
  "POST /v1/claim-anchors": (client) => client.createClaimAnchor(claim),
  "GET /v1/claim-anchors": (client) => client.getClaimAnchor(HASH, "0x10"),
  "POST /v1/claim-anchors:verify": (client) => client.verifyClaimAnchor(ID, { asOf: new Date(0) }),
  "POST /v1/claim-anchors/{anchor_id}/revoke": (client) => client.revokeClaimAnchor(ID),
  "POST /v1/grant-anchors": (client) => client.createGrantAnchor(grant),
  "GET /v1/grant-anchors": (client) => client.getGrantAnchor(HASH, ID),
  "POST /v1/grant-anchors:verify": (client) => client.verifyGrantAnchor(ID, { trustedRoots: [ID] }),
  "POST /v1/grant-anchors/{anchor_id}/revoke": (client) => client.revokeGrantAnchor(ID, { reason: "cessation" }),
  "GET /v1/trust-root": (client) => client.trustRoot(),
  "GET /v1/limits": (client) => client.limits(),
  "GET /healthz": (client) => client.healthz(),
  "GET /readyz": (client) => client.readyz(),
  "GET /openapi.json": (client) => client.openApi(),
  "GET /v1/origins/{origin_fingerprint}/checkpoint": (client) => client.getCheckpoint(ID),
  "GET /v1/origins/{origin_fingerprint}/tile/{level}/{index}": (client) => client.getTile(ID, { level: 0, index: 1 }),
  "GET /v1/origins/{origin_fingerprint}/tile/entries/{index}": (client) => client.getEntries(ID, { index: 1234067 }),
};

const PAGES = ["GET /docs", "GET /docs/{asset}"];
const TEXTS = Object.keys(CALLS).filter((operation) => operation.includes("/v1/origins/"));
const ASKED = Object.keys(CALLS).filter((operation) => OPERATIONS.includes(operation) && !TEXTS.includes(operation));

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Where a result does not say what the answer said. */
function lost(answer: unknown, result: unknown, path: string): string[] {
  if (result instanceof Receipt) return lost(answer, JSON.parse(JSON.stringify(result)), `${path}(receipt)`);
  if (result instanceof Uint8Array) return Buffer.from(result).toString("base64") === answer ? [] : [path];
  if (Array.isArray(answer))
    return answer.flatMap((item, at) => lost(item, (result as unknown[])[at], `${path}[${at}]`));
  if (typeof answer === "object" && answer !== null) {
    const given = result as Record<string, unknown>;
    return Object.entries(answer).flatMap(([name, member]) =>
      lost(member, given[camel(name)] ?? given[name], `${path}.${name}`),
    );
  }
  return (answer ?? null) === (result ?? null) ? [] : [path];
}

/** The members whose results are laid out in another way than the answer. */
const RESHAPED = ["GET /openapi.json"];

describe("operations of the OpenAPI document", () => {
  test("each has its method", () => {
    const known = [...Object.keys(CALLS), ...PAGES];
    const unknown = OPERATIONS.filter((operation) => !operation.includes("/v1/origins/") && !known.includes(operation));
    expect(unknown).toEqual([]);
  });

  test.each(ASKED.flatMap((operation) => examplesOf(operation).map((example) => ({ operation, ...example }))))(
    "$operation $status $name: the result says all that the answer says",
    async ({ operation, status, value }) => {
      const transport = new FakeTransport({ status, json: value });
      const result = await CALLS[operation]?.(clientOf(transport).client);
      expect(RESHAPED.includes(operation) ? [] : lost(value, result, "")).toEqual([]);
      expect(result instanceof Receipt || (result as { requestId: string }).requestId.length > 10).toBe(true);
    },
  );

  test.each(ASKED)("%s goes where the document says", async (operation) => {
    const [example] = examplesOf(operation);
    const transport = new FakeTransport({ status: example?.status ?? 200, json: example?.value });
    await CALLS[operation]?.(clientOf(transport).client);
    const [method = "", route = ""] = operation.split(" ");
    const path = new URL(transport.requests[0]?.url ?? "").pathname;
    expect(transport.requests[0]?.method).toBe(method);
    expect(path).toMatch(new RegExp(`^${route.replace(/\{[a-z_]+\}/g, "[^/]+")}$`));
    expect(transport.requests[0]?.headers["authorization"]).toBe("Bearer ea_key");
  });

  test.each([
    ["checkpoint", "/checkpoint"],
    ["tile", "/tile/0/001"],
    ["entries", "/tile/entries/x001/x234/067"],
  ])("C2SP: %s", async (name, tail) => {
    const operation = TEXTS.find((route) => route.includes(name === "tile" ? "{level}" : name)) ?? "";
    const transport = new FakeTransport({ status: 200, text: "bytes" });
    await CALLS[operation]?.(clientOf(transport).client);
    expect(new URL(transport.requests[0]?.url ?? "").pathname).toBe(`/v1/origins/${ID}${tail}`);
  });

  test.each(ASKED)("%s: an answer of another form is refused, with the request id", async (operation) => {
    for (const json of [{}, [], null, "text", 7, { anchor: {} }]) {
      if (RESHAPED.includes(operation) && typeof json === "object" && json !== null && !Array.isArray(json)) continue;
      const transport = new FakeTransport({ status: 200, json, headers: { "x-request-id": "r-17" } });
      const refused = CALLS[operation]?.(clientOf(transport).client);
      await expect(refused).rejects.toMatchObject({ code: "answer_malformed", requestId: "r-17" });
    }
  });

  test("what is not JSON is no answer", async () => {
    const transport = new FakeTransport({ status: 200, text: "<html>" });
    await expect(clientOf(transport).client.limits()).rejects.toBeInstanceOf(UnexpectedAnswer);
  });

  test("members that are not known are left out", async () => {
    const [example] = examplesOf("GET /healthz");
    const transport = new FakeTransport({ status: 200, json: { ...(example?.value as object), new_member: 1 } });
    expect(Object.keys(await clientOf(transport).client.healthz())).not.toContain("newMember");
  });
});

describe("bodies", () => {
  test("queries are percent-encoded, and a plus is a plus", async () => {
    const [example] = examplesOf("GET /v1/event-anchors");
    const transport = new FakeTransport({ status: 200, json: example?.value });
    await clientOf(transport).client.listEventAnchors({ clientEventId: "a b+c&d" });
    expect(transport.requests[0]?.url).toBe("https://a.example/v1/event-anchors?client_event_id=a%20b%2Bc%26d");
  });

  test("a claim goes out with both signatures and no empty member", async () => {
    const [example] = examplesOf("POST /v1/claim-anchors");
    const transport = new FakeTransport({ status: 200, json: example?.value });
    await clientOf(transport).client.createClaimAnchor({ ...claim, issuedAt: 0, expiresAt: null });
    expect(Object.keys(transport.body()).sort()).toEqual([
      "attribute_hash",
      "attribute_type",
      "entity_fingerprint",
      "issuer_public_key",
      "issuer_signature",
      "origin_fingerprint",
      "subject_public_key",
      "subject_signature",
    ]);
    expect(transport.body()["origin_fingerprint"]).toBe(ORIGIN);
  });

  test("the preferences of a write", async () => {
    const [example] = examplesOf("POST /v1/event-anchors");
    const transport = new FakeTransport({ status: 200, json: example?.value });
    await clientOf(transport).client.createEventAnchor(HASH, {}, { wait: 7, respondAsync: true, requestId: "mine" });
    expect(transport.requests[0]?.headers).toMatchObject({ prefer: "respond-async, wait=7", "x-request-id": "mine" });
    expect(transport.requests[0]?.timeoutMs).toBe(17_000);
  });

  test("a signed revocation asks for the target's origin", async () => {
    const [found] = examplesOf("GET /v1/event-anchors/{anchor_id}");
    const [revoked] = examplesOf("POST /v1/claim-anchors/{anchor_id}/revoke");
    const transport = new FakeTransport({ status: 200, json: found?.value }, { status: 201, json: revoked?.value });
    await clientOf(transport).client.revokeClaimAnchor(ID, { revokerSigner: issuer, reason: "key_compromise" });
    expect(transport.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
    expect(Object.keys(transport.body(1))).toEqual(["reason", "revoker_public_key", "revoker_signature"]);
  });
});
