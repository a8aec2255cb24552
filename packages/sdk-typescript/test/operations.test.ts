import { describe, expect, test } from "@jest/globals";
import { AnchoringError, LocalKey, NotFound, Receipt, UnexpectedAnswer } from "../src/index.ts";
import type { ClaimAnchorInput, Client, EventToCreate, GrantAnchorInput, RevocationInput } from "../src/index.ts";
import { wireName } from "../src/wire-names.ts";
import { recorded } from "./fake-ledger.ts";
import { FakeTransport, ORIGIN, clientOf } from "./fake-transport.ts";
import { OPERATIONS, exampleOf, examplesOf } from "./openapi-examples.ts";

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

/** A member of an answer, by its path. */
function pick(answer: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce((value: unknown, name) => (value as Readonly<Record<string, unknown>> | null)?.[name], answer);
}

const text = (answer: unknown, path: string): string => String(pick(answer, path));
const number = (answer: unknown, path: string): number => Number(pick(answer, path));
const ownId = (answer: unknown): string => text(answer, "anchor.anchor_id");

/** Members of an anchor by the names of this package. */
function fieldsOf(anchor: unknown, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, pick(anchor, wireName(name))]));
}

const REFS = ["irisRef", "scrollRef", "grantRef", "bondRef", "yieldRef", "eventDataHash"];

/** An event as it was sent to be answered like this. */
function eventSent(anchor: unknown): EventToCreate {
  const refs = pick(anchor, "semantic_anchor");
  const isSigned = pick(anchor, "kind") === "signed_event";
  return {
    originFingerprint: text(anchor, "origin_fingerprint"),
    eventHash: text(anchor, "event_hash"),
    semanticAnchor: refs === null ? null : fieldsOf(refs, REFS),
    ...(isSigned ? fieldsOf(anchor, ["actorPublicKey", "actorSignature"]) : {}),
  };
}

const CLAIM = [
  "originFingerprint",
  "entityFingerprint",
  "attributeType",
  "attributeHash",
  "issuedAt",
  "expiresAt",
  "subjectPublicKey",
  "subjectSignature",
  "issuerPublicKey",
  "issuerSignature",
];
const GRANT = [
  "originFingerprint",
  "grantorClaimRef",
  "granteeClaimRef",
  "parentGrantRef",
  "scopeHash",
  "delegationDepth",
  "issuedAt",
  "notBefore",
  "expiresAt",
  "grantorPublicKey",
  "grantorSignature",
  "witnessPublicKey",
  "witnessSignature",
];

function revocationSent(answer: unknown): RevocationInput {
  const anchor = pick(answer, "anchor");
  const said = fieldsOf(anchor, ["reason", "suspectSince", "issuedAt"]);
  if (pick(anchor, "authority") === "operator") return said;
  const signed = { revokerPublicKey: text(anchor, "revoker"), revokerSignature: text(anchor, "signature") };
  return { ...said, ...signed, targetOriginFingerprint: text(anchor, "origin_fingerprint") };
}

const results = (answer: unknown): readonly unknown[] => pick(answer, "results") as readonly unknown[];

/** How each operation of the document is called to be answered like this. The page of the document is for browsers. */
const CALLS: Readonly<Record<string, (client: Client, answer: unknown) => Promise<unknown>>> = {
  "POST /v1/event-anchors": (client, answer) => {
    const { eventHash, ...event } = eventSent(pick(answer, "anchor"));
    return client.createEventAnchor(eventHash, event);
  },
  "GET /v1/event-anchors": (client, answer) =>
    client.listEventAnchors(
      { grantRef: text(answer, "items.0.semantic_anchor.grant_ref") },
      { limit: 2, cursor: "a+b" },
    ),
  "POST /v1/event-anchors/batch": (client, answer) =>
    client.createEventAnchors(
      results(answer).map((item) =>
        pick(item, "anchor") === undefined ? { eventHash: HASH } : eventSent(pick(item, "anchor")),
      ),
    ),
  "POST /v1/event-anchors/{anchor_id}/erase-client-event-id": (client, answer) =>
    client.eraseClientEventId(ownId(answer)),
  "POST /v1/event-anchors:verify": (client, answer) =>
    client.verifyEventAnchor(ownId(answer), { eventHash: HASH, asOf: 3 }),
  "POST /v1/event-anchors:batchVerify": (client, answer) =>
    client.verifyEventAnchors(results(answer).map((item) => ({ anchorId: text(item, "anchor_id") }))),
  "GET /v1/event-anchors/latest": (client, answer) =>
    client.latest({ originFingerprint: text(answer, "origin_fingerprint"), fromSize: 2 }),
  "GET /v1/event-anchors/consistency": (client, answer) =>
    client.consistency({ fromSize: number(answer, "from.tree_size"), toSize: number(answer, "to.tree_size") }),
  "GET /v1/event-anchors/{anchor_id}": (client, answer) => client.getAnchor(ownId(answer)),
  "GET /v1/event-anchors/{anchor_id}/receipt": (client, answer) => client.getReceipt(text(answer, "anchor_id")),
  "GET /v1/event-anchors/{anchor_id}/trace": (client, answer) =>
    client.trace(ownId(answer), { trustedRoots: [ID, ID] }),
  "POST /v1/claim-anchors": (client, answer) =>
    client.createClaimAnchor(fieldsOf(pick(answer, "anchor"), CLAIM) as unknown as ClaimAnchorInput),
  "GET /v1/claim-anchors": (client, answer) => {
    if (pick(answer, "items") !== undefined)
      return client.listClaimAnchors({ entityFingerprint: text(answer, "items.0.anchor.entity_fingerprint") });
    return client.getClaimAnchor(text(answer, "anchor.entity_fingerprint"), number(answer, "anchor.attribute_type"));
  },
  "POST /v1/claim-anchors:verify": (client, answer) => client.verifyClaimAnchor(ownId(answer), { asOf: new Date(0) }),
  "POST /v1/claim-anchors/{anchor_id}/revoke": (client, answer) =>
    client.revokeClaimAnchor(text(answer, "revoked_anchor_id"), revocationSent(answer)),
  "POST /v1/grant-anchors": (client, answer) =>
    client.createGrantAnchor(fieldsOf(pick(answer, "anchor"), GRANT) as unknown as GrantAnchorInput),
  "GET /v1/grant-anchors": (client, answer) =>
    pick(answer, "items") === undefined
      ? client.getGrantAnchor(HASH, ID)
      : client.listGrantAnchors({ grantorFingerprint: HASH }),
  "POST /v1/grant-anchors:verify": (client, answer) => client.verifyGrantAnchor(ownId(answer), { trustedRoots: [ID] }),
  "POST /v1/grant-anchors/{anchor_id}/revoke": (client, answer) =>
    client.revokeGrantAnchor(text(answer, "revoked_anchor_id"), revocationSent(answer)),
  "GET /v1/trust-root": (client) => client.trustRoot(),
  "GET /v1/limits": (client) => client.limits(),
  "GET /healthz": (client) => client.healthz(),
  "GET /readyz": (client) => client.readyz(),
  "GET /openapi.json": (client) => client.openApi(),
};
/** No key is sent to these. To /healthz it is: it tells a reader more. */
const PUBLIC = ["GET /v1/trust-root", "GET /v1/limits", "GET /readyz", "GET /openapi.json"];

const PAGES = ["GET /", "GET /verify", "GET /docs", "GET /docs/{asset}"];
/** Answers that are no JSON: held.test.ts. */
const LOG = [
  "GET /v1/origins/{origin_fingerprint}/checkpoint",
  "GET /v1/origins/{origin_fingerprint}/tile/entries/{index}",
  "GET /v1/origins/{origin_fingerprint}/tile/{level}/{index}",
];
/** No method reads it: any client of server-sent events does. */
const STREAMS = ["GET /v1/origins/{origin_fingerprint}/feed"];
const ASKED = Object.keys(CALLS);

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

describe("claims of lineages that went on", () => {
  const TRACE = "GET /v1/event-anchors/{anchor_id}/trace";

  test.each([
    ["absent is none", undefined, []],
    ["they are read as the anchors that they are", "shown", ["shown"]],
  ])("%s", async (_, given, expected) => {
    const answer = exampleOf(TRACE, 200) as Record<string, unknown>;
    const json = given === undefined ? answer : { ...answer, lineage_claims: [pick(answer, "anchor")] };
    const { client } = clientOf(new FakeTransport({ status: 200, json }));
    const { anchor, lineageClaims } = await client.trace(ownId(answer));
    expect(lineageClaims).toEqual(expected.map(() => anchor));
  });

  test.each([null, {}, [null], "none"])("%j is no list of them", async (lineageClaims) => {
    const answer = exampleOf(TRACE, 200) as Record<string, unknown>;
    const transport = new FakeTransport({ status: 200, json: { ...answer, lineage_claims: lineageClaims } });
    await expect(clientOf(transport).client.trace(ownId(answer))).rejects.toBeInstanceOf(UnexpectedAnswer);
  });
});

const BATCH = "POST /v1/event-anchors/batch";

describe("operations of the OpenAPI document", () => {
  test("each has its method", () => {
    const known = [...Object.keys(CALLS), ...PAGES, ...LOG, ...STREAMS];
    expect(OPERATIONS.filter((operation) => !known.includes(operation))).toEqual([]);
  });

  test.each(ASKED.flatMap((operation) => examplesOf(operation).map((example) => ({ operation, ...example }))))(
    "$operation $status $name: the result says all that the answer says",
    async ({ operation, status, value }) => {
      const transport = new FakeTransport({ status, json: value });
      const result = await CALLS[operation]?.(clientOf(transport).client, value);
      // Receipts that were shared are whole in the result: it says what the answer with whole ones says.
      const [said = value] =
        pick(value, "checkpoints") === undefined ? [value] : examplesOf(operation).map(({ value: whole }) => whole);
      expect(RESHAPED.includes(operation) ? [] : lost(said, result, "")).toEqual([]);
      expect(result instanceof Receipt || (result as { requestId: string }).requestId.length > 10).toBe(true);
    },
  );

  test.each(ASKED)("%s goes where the document says", async (operation) => {
    const [example] = examplesOf(operation);
    const transport = new FakeTransport({ status: example?.status ?? 200, json: example?.value });
    await CALLS[operation]?.(clientOf(transport).client, example?.value);
    const [method = "", route = ""] = operation.split(" ");
    const path = new URL(transport.requests[0]?.url ?? "").pathname;
    expect(transport.requests[0]?.method).toBe(method);
    expect(path).toMatch(new RegExp(`^${route.replace(/\{[a-z_]+\}/g, "[^/]+")}$`));
    const key = PUBLIC.includes(operation) ? undefined : "Bearer ea_key";
    expect(transport.requests[0]?.headers["authorization"]).toBe(key);
  });

  test.each(ASKED)("%s: an answer of another form is refused, with the request id", async (operation) => {
    const [example] = examplesOf(operation);
    for (const json of [{}, [], null, "text", 7, { anchor: {} }]) {
      if (RESHAPED.includes(operation) && typeof json === "object" && json !== null && !Array.isArray(json)) continue;
      const transport = new FakeTransport({ status: 200, json, headers: { "x-request-id": "r-17" } });
      const refused = CALLS[operation]?.(clientOf(transport).client, example?.value);
      // Nobody knows what became of a write.
      const isWrite = /^POST .*(anchors|batch|revoke|erase-client-event-id)$/.test(operation);
      const code = isWrite ? "outcome_unknown" : "answer_malformed";
      await expect(refused).rejects.toMatchObject({ code, requestId: "r-17" });
    }
  });

  test.each([
    ["a place that is none", { leaf: "", index: 0, inclusion: [], checkpoint: 7 }],
    ["no place", { leaf: "", index: 0, inclusion: [] }],
    ["no receipt", "none"],
  ])("a shared receipt with %s", async (_what, shared_receipt) => {
    const shared = examplesOf(BATCH).find(({ name }) => name === "shared")?.value as { results: readonly object[] };
    const [first, ...others] = shared.results;
    const json = { ...shared, results: [{ ...first, shared_receipt }, ...others] };
    const asked = CALLS[BATCH]?.(clientOf(new FakeTransport({ status: 200, json })).client, json);
    await expect(asked).rejects.toBeInstanceOf(AnchoringError);
  });

  test("sharedReceipts asks for them", async () => {
    const transport = new FakeTransport(recorded);
    const { client } = clientOf(transport);
    await client.createEventAnchors([{ eventHash: HASH }], { sharedReceipts: true });
    await client.createEventAnchors([{ eventHash: HASH }]);
    const bodies = transport.requests.map(({ body }) => JSON.parse(body ?? "{}"));
    expect(bodies.map(({ receipts }) => receipts)).toEqual(["shared", undefined]);
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

describe("histories", () => {
  const CLAIMS = "GET /v1/claim-anchors";
  const GRANTS = "GET /v1/grant-anchors";
  const pageOf = (operation: string, nextCursor: string | null): object => {
    const history = examplesOf(operation).find(({ name }) => name === "history")?.value;
    return { ...(history as object), next_cursor: nextCursor };
  };
  const entity = text(pageOf(CLAIMS, null), "items.0.anchor.entity_fingerprint");
  const type = number(pageOf(CLAIMS, null), "items.0.anchor.attribute_type");

  async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
    const found: Item[] = [];
    for await (const item of items) found.push(item);
    return found;
  }

  test.each([
    [
      CLAIMS,
      (client: Client) =>
        all(client.iterateClaimAnchors({ entityFingerprint: entity, attributeType: `0x${type.toString(16)}` })),
      { entity_fingerprint: entity, attribute_type: String(type), history: "true" },
    ],
    [
      GRANTS,
      (client: Client) => all(client.iterateGrantAnchors({ grantorFingerprint: ID, granteeFingerprint: HASH })),
      { grantor_fingerprint: ID, grantee_fingerprint: HASH, history: "true" },
    ],
    [
      GRANTS,
      (client: Client) => all(client.iterateGrantAnchors({ granteeFingerprint: HASH })),
      { grantee_fingerprint: HASH, history: "true" },
    ],
  ])("%s: every page, each with what is asked for", async (operation, items, query) => {
    const answers = ["a-_9", null].map((cursor) => ({ status: 200, json: pageOf(operation, cursor) }));
    const transport = new FakeTransport(...answers);
    const found = await items(clientOf(transport).client);
    expect(found.map(({ ended }) => ended?.code)).toEqual(Array(2).fill(`${text(found[0], "anchor.kind")}_revoked`));
    const asked = transport.requests.map(({ url }) => Object.fromEntries(new URL(url).searchParams));
    expect(asked).toEqual([query, { ...query, cursor: "a-_9" }]);
  });

  test("what cannot be asked for is refused before anything is sent", async () => {
    const transport = new FakeTransport();
    const { client } = clientOf(transport);
    await expect(client.listGrantAnchors({})).rejects.toMatchObject({ code: "invalid_input", field: "filter" });
    await expect(client.listClaimAnchors({ entityFingerprint: "ab" })).rejects.toMatchObject({ code: "invalid_input" });
    const tooWide = { entityFingerprint: HASH, attributeType: 2 ** 32 };
    await expect(client.listClaimAnchors(tooWide)).rejects.toMatchObject({ code: "invalid_input" });
    expect(transport.requests).toEqual([]);
  });

  test.each([{ items: [{ anchor: null, ended: null }] }, { items: [{}] }, { as_of: null }, { next_cursor: 7 }])(
    "an answer of another form is refused: %j",
    async (lie) => {
      const transport = new FakeTransport({ status: 200, json: { ...pageOf(GRANTS, null), ...lie } });
      const asked = clientOf(transport).client.listGrantAnchors({ grantorFingerprint: ID });
      await expect(asked).rejects.toBeInstanceOf(UnexpectedAnswer);
    },
  );
});

describe("bodies", () => {
  test("queries are percent-encoded, and a plus is a plus", async () => {
    const json = { items: [], next_cursor: null, certified: [] };
    const transport = new FakeTransport({ status: 200, json });
    await clientOf(transport).client.listEventAnchors({ clientEventId: "a b+c&d" });
    expect(transport.requests[0]?.url).toBe("https://a.example/v1/event-anchors?client_event_id=a%20b%2Bc%26d");
  });

  test("a claim goes out with both signatures and no empty member", async () => {
    const transport = new FakeTransport(recorded);
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
    const transport = new FakeTransport(recorded, recorded);
    await clientOf(transport).client.createEventAnchor(HASH, {}, { wait: 7, respondAsync: true, requestId: "mine" });
    expect(transport.requests[0]?.headers).toMatchObject({ prefer: "respond-async, wait=7", "x-request-id": "mine" });
    expect(transport.requests[0]?.timeoutMs).toBe(17_000);
    await clientOf(transport).client.createEventAnchor(HASH, {}, { wait: 7, witnessed: true });
    expect(transport.requests[1]?.headers).toMatchObject({ prefer: "wait=7, witnessed" });
  });

  test("the preferences of a question for an anchor or its receipt", async () => {
    const body = { type: "t", title: "T", status: 404, detail: "D", code: "anchor_not_found", request_id: "r" };
    const transport = new FakeTransport({ status: 404, json: body }, { status: 404, json: body });
    const { client } = clientOf(transport);
    const options = { wait: 7, witnessed: true };
    await expect(client.getAnchor(HASH, options)).rejects.toThrow(NotFound);
    await expect(client.getReceipt(HASH, options)).rejects.toThrow(NotFound);
    for (const { headers } of transport.requests) expect(headers).toMatchObject({ prefer: "wait=7, witnessed" });
  });

  test("a signed revocation asks for the target's origin", async () => {
    const [found] = examplesOf("GET /v1/event-anchors/{anchor_id}");
    const transport = new FakeTransport({ status: 200, json: found?.value }, recorded);
    const target = ownId(found?.value);
    await clientOf(transport).client.revokeClaimAnchor(target, { revokerSigner: issuer, reason: "key_compromise" });
    expect(transport.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
    expect(Object.keys(transport.body(1))).toEqual(["reason", "revoker_public_key", "revoker_signature"]);
  });
});

describe("a trace of a long delegation", () => {
  const whole = examplesOf("GET /v1/event-anchors/{anchor_id}/trace")[0]?.value as {
    readonly anchor: { readonly anchor_id: string };
    readonly delegation: readonly object[];
  };
  const page = (hops: number, omitted: number, next: string | null) => ({
    status: 200,
    json: {
      ...whole,
      delegation: Array.from({ length: hops }, () => whole.delegation[0]),
      delegation_omitted: omitted,
      delegation_next_cursor: next,
    },
  });

  test("has the hops of all its pages", async () => {
    const transport = new FakeTransport(page(2, 3, "2.7.9"), page(2, 1, "4.7.9"), page(1, 0, null));
    const trace = await clientOf(transport).client.trace(whole.anchor.anchor_id, { asOf: 7 });
    expect([trace.delegation.length, trace.delegationOmitted]).toEqual([5, 0]);
    expect(trace).not.toHaveProperty("delegationNextCursor");
    const queries = transport.requests.map(({ url }) => new URL(url).search);
    expect(queries).toEqual(["?as_of=7", "?as_of=7&delegation_cursor=2.7.9", "?as_of=7&delegation_cursor=4.7.9"]);
  });

  test("that has no end is no answer", async () => {
    const transport = new FakeTransport(...Array.from({ length: 101 }, () => page(1, 1, "1.1.1")));
    const asked = clientOf(transport).client.trace(whole.anchor.anchor_id);
    await expect(asked).rejects.toBeInstanceOf(UnexpectedAnswer);
    expect(transport.requests).toHaveLength(100);
  });
});
