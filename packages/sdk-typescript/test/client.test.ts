import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import {
  AnchoringError,
  ApiProblem,
  Client,
  InvalidInput,
  LocalKey,
  OutcomeUnknown,
  SigningFailed,
  VerificationError,
  delayBeforeRetry,
  isPassing,
  readers,
  signerOf,
  verifyTrustRoot,
} from "../src/index.ts";
import type { ClientOptions, FailedTry, RetryRule, Signer } from "../src/index.ts";
import { FakeTransport, ORIGIN, clientOf } from "./fake-transport.ts";
import type { Reaction } from "./fake-transport.ts";
import { recorded } from "./fake-ledger.ts";
import { exampleOf } from "./openapi-examples.ts";

const HASH = "2c".repeat(32);
const ID = "1b".repeat(32);
const CREATED: Reaction = recorded;
const LIMITS: Reaction = { status: 200, json: exampleOf("GET /v1/limits", 200) };
const UNREACHABLE: Reaction = { fails: "unreachable", wasSent: false };
const LOST: Reaction = { fails: "lost", wasSent: true };
const TIMEOUT: Reaction = { fails: "timeout", wasSent: true };

function problem(status: number, code: string, headers: Record<string, string> = {}): Reaction {
  return { status, json: { type: "t", title: "T", status, detail: "D", code, request_id: "r" }, headers };
}

async function errorOf(call: Promise<unknown>): Promise<AnchoringError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof AnchoringError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("asking again", () => {
  test.each([
    ["unreachable", UNREACHABLE],
    ["lost", LOST],
    ["timeout", TIMEOUT],
    ["500", problem(500, "internal_error")],
    ["502 of a proxy", { status: 502, text: "<html>" }],
    ["503", problem(503, "no_leader")],
    ["504", { status: 504, text: "" }],
  ] as [string, Reaction][])("after %s the next endpoint is asked", async (_, failure) => {
    const transport = new FakeTransport(failure, CREATED);
    const { client, timing } = clientOf(transport);
    await client.createEventAnchor(HASH);
    expect(transport.hosts).toEqual(["a.example", "b.example"]);
    expect(transport.requests[1]?.url).toBe("https://b.example/base/v1/event-anchors");
    expect(timing.waits).toEqual([100]);
    expect(transport.body(1)).toEqual(transport.body(0));
    expect(typeof transport.body(0)["client_event_id"]).toBe("string");
    await client.createEventAnchor(HASH);
    expect(transport.hosts[2]).toBe("b.example");
  });

  test("after 429 the same endpoint is asked, when it said", async () => {
    const transport = new FakeTransport(problem(429, "rate_limited", { "retry-after": "2" }), CREATED);
    const { client, timing } = clientOf(transport);
    await client.createEventAnchor(HASH, { clientEventId: null });
    expect(transport.hosts).toEqual(["a.example", "a.example"]);
    expect(timing.waits).toEqual([2000]);
  });

  test("Retry-After may be a date", async () => {
    const headers = { "retry-after": "Thu, 01 Jan 2026 00:00:03 GMT" };
    const transport = new FakeTransport(problem(503, "no_leader", headers), LIMITS);
    const { client, timing } = clientOf(transport);
    await client.limits();
    expect(timing.waits).toEqual([3000]);
  });

  test.each([400, 401, 403, 404, 405, 409, 410, 413, 415, 422])("never after %d", async (status) => {
    const transport = new FakeTransport(problem(status, "some_code"));
    const { client } = clientOf(transport);
    const error = await errorOf(client.createEventAnchor(HASH));
    expect(error).toMatchObject({ status, code: "some_code", retryAfter: null });
    expect(transport.requests).toHaveLength(1);
  });

  test("the budget of tries holds, and the backoff doubles", async () => {
    const transport = new FakeTransport(problem(503, "overloaded"));
    const { client, timing } = clientOf(transport);
    const error = await errorOf(client.limits());
    expect(error).toMatchObject({ name: "Unavailable", code: "overloaded" });
    expect(timing.waits).toEqual([100, 200, 400, 800]);
    expect(transport.hosts).toEqual(["a.example", "b.example", "c.example", "a.example", "b.example"]);
  });

  test("a Retry-After beyond the budget of time is reported at once", async () => {
    const transport = new FakeTransport(problem(503, "no_leader", { "retry-after": "31" }));
    const error = await errorOf(clientOf(transport).client.limits());
    expect(error).toMatchObject({ code: "no_leader", retryAfter: 31 });
    expect(transport.requests).toHaveLength(1);
  });

  test("a deadline bounds every try, and the call with all of them", async () => {
    const transport = new FakeTransport(problem(503, "no_leader"));
    const { client, timing } = clientOf(transport, { deadlineMs: 350, retry: { attemptsMax: 9 } });
    expect(await errorOf(client.limits())).toMatchObject({ code: "no_leader" });
    expect(timing.waits).toEqual([100, 200]);
    expect(transport.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([350, 250, 50]);
  });

  test("who waits for the next head has the time for it beyond timeout and deadline", async () => {
    const json = exampleOf("GET /v1/event-anchors/latest", 200);
    const transport = new FakeTransport({ status: 200, json });
    const { client } = clientOf(transport, { deadlineMs: 10_000 });
    await client.latest({ afterSize: 3, waitSeconds: 30 });
    expect(transport.requests[0]?.url).toMatch(/\/latest\?after_size=3&wait=30$/);
    expect(transport.requests[0]?.timeoutMs).toBe(40_000);
  });

  test("so has who waits for a receipt", async () => {
    const transport = new FakeTransport(recorded);
    const { client } = clientOf(transport, { deadlineMs: 2000 });
    await client.createEventAnchor(HASH, {}, { wait: 30 });
    expect(transport.requests[0]?.timeoutMs).toBe(32_000);
  });

  test("a try that the deadline cuts short does not hide what was said before, and still leaves a doubt", async () => {
    const options = { deadlineMs: 350, retry: { attemptsMax: 2 } };
    const read = clientOf(new FakeTransport(problem(503, "no_leader"), TIMEOUT), options).client;
    expect(await errorOf(read.limits())).toMatchObject({ code: "no_leader", endpoint: "https://a.example" });
    const write = clientOf(new FakeTransport(problem(503, "no_leader"), TIMEOUT), options).client;
    expect((await errorOf(write.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
    const first = clientOf(new FakeTransport(TIMEOUT), { ...options, retry: { attemptsMax: 1 } }).client;
    expect((await errorOf(first.limits())).name).toBe("TimedOut");
  });

  test("a rule of the caller's own decides, and every failed try that another follows is told", async () => {
    const transport = new FakeTransport(problem(429, "rate_limited"), problem(503, "no_leader"), LIMITS);
    const policy = { attemptsMax: 3, totalMs: 1000, backoffMs: 10, backoffMaxMs: 10 };
    const atOnce: RetryRule = (outcome, it) => (it.attempt === 1 ? 0 : delayBeforeRetry(policy, outcome, it));
    const failed: FailedTry[] = [];
    const { client, timing } = clientOf(transport, { retry: atOnce, onRetry: (it) => void failed.push(it) });
    await client.limits();
    expect(timing.waits).toEqual([0, 10]);
    expect(failed).toMatchObject([
      { attempt: 1, delayMs: 0, error: { code: "rate_limited", endpoint: "https://a.example" } },
      { attempt: 2, delayMs: 10, error: { code: "no_leader", endpoint: "https://b.example/base" } },
    ]);
  });

  test("an event without an id is sent once, unless it certainly did not leave", async () => {
    const lost = new FakeTransport(LOST, CREATED);
    const error = await errorOf(clientOf(lost).client.createEventAnchor(HASH, { clientEventId: null }));
    expect(error).toMatchObject({ code: "outcome_unknown", clientEventId: null });
    expect(error.message).toContain("a second time");
    const unreachable = new FakeTransport(UNREACHABLE, CREATED);
    const created = await clientOf(unreachable).client.createEventAnchor(HASH, { clientEventId: null });
    expect(created.clientEventId).toBeNull();
    expect(unreachable.requests).toHaveLength(2);
  });
});

describe("what nobody knows", () => {
  test("a write that may have left is unknown, and the message says how to ask again", async () => {
    const transport = new FakeTransport(TIMEOUT);
    const error = await errorOf(clientOf(transport).client.createEventAnchor(HASH, { clientEventId: "order-1" }));
    expect(error).toBeInstanceOf(OutcomeUnknown);
    expect(error).toMatchObject({ clientEventId: "order-1" });
    expect(error.message).toContain('ask again with the same client_event_id, "order-1"');
    expect(error.requestId).toBe(transport.requests[0]?.headers["x-request-id"]);
  });

  test("of a batch all ids are told", async () => {
    const { client } = clientOf(new FakeTransport(LOST));
    const events = [{ eventHash: HASH, clientEventId: "a" }, { eventHash: HASH }];
    const error = (await errorOf(client.createEventAnchors(events))) as OutcomeUnknown;
    expect(error.clientEventId).toBeNull();
    expect(error.clientEventIds).toEqual(["a", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(error.message).toContain("the same client_event_ids");
  });

  test("503 outcome_unknown is one, 503 no_leader is not", async () => {
    const unknown = new FakeTransport(problem(503, "outcome_unknown"));
    expect((await errorOf(clientOf(unknown).client.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
    const known = new FakeTransport(problem(503, "no_leader"));
    expect((await errorOf(clientOf(known).client.createEventAnchor(HASH))).name).toBe("Unavailable");
  });

  test("a doubt stays when later tries do not leave, and ends with a refusal by the ledger", async () => {
    const stays = new FakeTransport(LOST, UNREACHABLE);
    expect((await errorOf(clientOf(stays).client.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
    const refused = new FakeTransport(LOST, problem(422, "reference_not_found"));
    expect((await errorOf(clientOf(refused).client.createEventAnchor(HASH))).name).toBe("Unprocessable");
    const revoked = new FakeTransport(LOST, problem(401, "api_key_invalid"));
    expect((await errorOf(clientOf(revoked).client.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
  });

  test("a read is never in doubt", async () => {
    expect((await errorOf(clientOf(new FakeTransport(TIMEOUT)).client.limits())).name).toBe("TimedOut");
    expect((await errorOf(clientOf(new FakeTransport(LOST)).client.limits())).name).toBe("ConnectionFailed");
    const write = clientOf(new FakeTransport(UNREACHABLE)).client.createEventAnchor(HASH);
    expect((await errorOf(write)).name).toBe("ConnectionFailed");
  });

  test("cancelled before and after it left", async () => {
    const early = new FakeTransport({ fails: "cancelled", wasSent: false });
    expect((await errorOf(clientOf(early).client.createEventAnchor(HASH))).name).toBe("Cancelled");
    const late = new FakeTransport({ fails: "cancelled", wasSent: true });
    expect((await errorOf(clientOf(late).client.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
    expect(late.requests).toHaveLength(1);
  });

  test("a transport that throws something of its own leaves a doubt", async () => {
    const client = new Client({
      endpoint: "https://a.example",
      apiKey: "ea_key",
      originFingerprint: ORIGIN,
      retry: { attemptsMax: 1 },
      transport: () => Promise.reject(new Error("odd")),
    });
    expect((await errorOf(client.createEventAnchor(HASH))).name).toBe("OutcomeUnknown");
  });
});

describe("problems", () => {
  test.each([
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [409, "Conflict"],
    [410, "NotFound"],
    [418, "ApiProblem"],
    [422, "Unprocessable"],
    [429, "RateLimited"],
    [500, "Unavailable"],
  ])("%d is %s", async (status, name) => {
    const { client } = clientOf(new FakeTransport(problem(status, "c")), { retry: { attemptsMax: 1 } });
    const error = await errorOf(client.limits());
    expect(error.name).toBe(name);
    expect(error).toBeInstanceOf(ApiProblem);
  });

  test("say where, and all that the service said", async () => {
    const json = {
      code: "invalid_request",
      title: "T",
      detail: "D",
      status: 400,
      errors: [
        { pointer: "/event_hash", code: "wrong_format", detail: "hex" },
        { parameter: "limit", code: "too_large", detail: "100" },
      ],
      anchor_id: HASH,
    };
    const error = (await errorOf(clientOf(new FakeTransport({ status: 400, json })).client.limits())) as ApiProblem;
    expect(error.pointers).toEqual(["/event_hash"]);
    expect(error.errors[1]).toMatchObject({ parameter: "limit", pointer: null });
    expect(error.members["anchor_id"]).toBe(HASH);
  });

  test.each([1, 2 ** 32 - 1, null])("a rate of tokens a second is read: %p", async (rate) => {
    const json = { ...(exampleOf("GET /v1/limits", 200) as object), key_requests_per_second: rate };
    expect((await clientOf(new FakeTransport({ status: 200, json })).client.limits()).keyRequestsPerSecond).toBe(rate);
  });

  test.each([0.5, "1"])("a rate that is no whole number is no answer: %p", async (rate) => {
    const json = { ...(exampleOf("GET /v1/limits", 200) as object), key_requests_per_second: rate };
    expect((await errorOf(clientOf(new FakeTransport({ status: 200, json })).client.limits())).code).toBe(
      "answer_malformed",
    );
  });

  test.each([301, 302, 307])("a redirect (%d) is no answer", async (status) => {
    const transport = new FakeTransport({ status, text: "", headers: { location: "https://evil.example" } });
    expect((await errorOf(clientOf(transport).client.limits())).code).toBe("answer_malformed");
    expect(transport.requests).toHaveLength(1);
  });
});

describe("a request by its path", () => {
  test("has the API key, the retries, and an answer as it came", async () => {
    const transport = new FakeTransport(problem(503, "no_leader"), { status: 200, json: { some_id: ID, more: [1] } });
    const { client } = clientOf(transport);
    const answer = await client.request({ path: "/v1/new", query: { a: 1, b: "x y", c: null } });
    expect(transport.requests[0]?.url).toBe("https://a.example/v1/new?a=1&b=x%20y");
    expect(transport.requests[0]?.headers["authorization"]).toBe("Bearer ea_key");
    expect(answer).toMatchObject({ status: 200, endpoint: "https://b.example/base" });
    expect(answer.requestId).toBe(transport.requests[1]?.headers["x-request-id"]);
    expect(answer.json()).toEqual({ some_id: ID, more: [1] });
    expect(answer.read(readers.record({ someId: readers.hex32 }))).toEqual({ someId: ID });
  });

  test("needs no API key", async () => {
    const transport = new FakeTransport({ status: 200, json: {} });
    await clientOf(transport, { apiKey: undefined }).client.request({ path: "/healthz" });
    expect(transport.requests[0]?.headers["authorization"]).toBeUndefined();
  });

  test.each([
    ["no JSON", { status: 200, text: "<html>" }, "the answer is no JSON"],
    ["no object", { status: 200, json: [1] }, "the body of the answer is not an object"],
    [
      "another form",
      { status: 200, json: { items: [{ n: -1 }] } },
      "the body.items[0].n of the answer is not a number",
    ],
  ] as [string, Reaction, string][])(
    "is read as %s only to be refused, with its place",
    async (_, reaction, message) => {
      const { client } = clientOf(new FakeTransport(reaction));
      const answer = await client.request({ path: "/v1/new" });
      const reader = readers.record({ items: readers.listOf(readers.record({ n: readers.count })) });
      const refused = { code: "answer_malformed", message, endpoint: "https://a.example", requestId: answer.requestId };
      expect(() => answer.read(reader)).toThrow(expect.objectContaining(refused));
    },
  );

  test("is refused as every other call is, unless its status is wanted", async () => {
    const { client } = clientOf(new FakeTransport(problem(404, "no_active_claim")));
    const path = "/v1/claim-anchors";
    expect(await errorOf(client.request({ path }))).toMatchObject({ name: "NotFound", endpoint: "https://a.example" });
    const answer = await client.request({ path, isAnswer: (status) => !isPassing(status) });
    expect([answer.status, answer.json()["code"]]).toEqual([404, "no_active_claim"]);
  });

  test("that writes is not sent twice, and leaves a doubt, unless it is said to be known", async () => {
    const write = { method: "POST", path: "/v1/new", body: { a: 1 } } as const;
    const once = new FakeTransport(LOST, LIMITS);
    expect((await errorOf(clientOf(once).client.request(write))).name).toBe("OutcomeUnknown");
    expect(once.requests).toHaveLength(1);
    const again = new FakeTransport(LOST, LIMITS);
    expect((await clientOf(again).client.request({ ...write, isRepeatable: true })).status).toBe(200);
    const read = clientOf(new FakeTransport(LOST)).client.request({ ...write, isWrite: false });
    expect((await errorOf(read)).name).toBe("ConnectionFailed");
  });
});

describe("the origin", () => {
  const health = exampleOf("GET /healthz", 200) as { origin_fingerprint: string };

  test("is read once from /healthz and kept", async () => {
    const transport = new FakeTransport({ status: 200, json: health }, CREATED);
    const { client } = clientOf(transport, { originFingerprint: undefined });
    await Promise.all([client.createEventAnchor(HASH), client.createEventAnchor(HASH)]);
    await client.createEventAnchor(HASH);
    expect(transport.requests.filter(({ url }) => url.endsWith("/healthz"))).toHaveLength(1);
    expect(transport.body(1)["origin_fingerprint"]).toBe(health.origin_fingerprint);
  });

  test("is asked for again after a failure", async () => {
    const transport = new FakeTransport(UNREACHABLE, { status: 200, json: health });
    const { client } = clientOf(transport, { originFingerprint: undefined, retry: { attemptsMax: 1 } });
    expect((await errorOf(client.originFingerprint())).code).toBe("connection_failed");
    expect(await client.originFingerprint()).toBe(health.origin_fingerprint);
  });
});

describe("receipts of answers", () => {
  const chain = (exampleOf("GET /v1/trust-root", 200) as { chain: { document: string; root_thk: string }[] }).chain;
  const trustRoot = verifyTrustRoot({ documents: chain, pinnedRootThk: chain[0]?.root_thk ?? "" });
  const created = exampleOf("POST /v1/event-anchors", 201) as {
    anchor: { event_hash: string; semantic_anchor: Record<string, string | null>; kind: string };
    receipt: Record<string, unknown>;
  };
  const refs = created.anchor.semantic_anchor;
  const semanticAnchor = {
    irisRef: refs["iris_ref"],
    grantRef: refs["grant_ref"],
    eventDataHash: refs["event_data_hash"],
  };
  const eventHash = created.anchor.event_hash;

  test("are verified if a trust root is held", async () => {
    const { client } = clientOf(new FakeTransport({ status: 201, json: created }), { trustRoot });
    const result = await client.createEventAnchor(eventHash, { semanticAnchor });
    expect(result.receipt?.anchorId).toBe(result.anchor.anchorId);
  });

  test.each([
    ["another event", HASH, semanticAnchor],
    ["another reference", eventHash, { ...semanticAnchor, scrollRef: HASH }],
    ["a reference less", eventHash, { ...semanticAnchor, grantRef: null }],
  ])("that are about %s than was sent are refused", async (_, hash, refs) => {
    const { client } = clientOf(new FakeTransport({ status: 201, json: created }), { trustRoot });
    const error = await errorOf(client.createEventAnchor(hash, { semanticAnchor: refs }));
    expect(error).toBeInstanceOf(VerificationError);
    expect(error.code).toBe("content_differs");
  });

  test("whose proof is altered are refused", async () => {
    const receipt = { ...created.receipt, inclusion: [] };
    const { client } = clientOf(new FakeTransport({ status: 201, json: { ...created, receipt } }), { trustRoot });
    expect((await errorOf(client.createEventAnchor(eventHash, { semanticAnchor }))).code).toBe("inclusion_wrong");
  });
});

describe("configuration", () => {
  test.each([
    ["no endpoint", {}],
    ["no endpoints", { endpoints: [] }],
    ["both", { endpoint: "https://a", endpoints: ["https://b"] }],
    ["another scheme", { endpoint: "ftp://a.example" }],
    ["a user in it", { endpoint: "https://user:pass@a.example" }],
    ["plain http elsewhere", { endpoint: "http://a.example" }],
    ["plain http to what looks like this host", { endpoint: "http://localhost.example" }],
    ["plain http to what looks like its address", { endpoint: "http://127.0.0.1.example" }],
    ["a query", { endpoint: "https://a.example/?x=1" }],
    ["a key with a newline", { endpoint: "https://a.example", apiKey: "key\nx: y" }],
    ["an empty key", { endpoint: "https://a.example", apiKey: "" }],
    ["an origin of 63 digits", { endpoint: "https://a.example", originFingerprint: "a".repeat(63) }],
    ["no attempt", { endpoint: "https://a.example", retry: { attemptsMax: 0 } }],
    ["half an attempt", { endpoint: "https://a.example", retry: { attemptsMax: 1.5 } }],
    ["a negative time", { endpoint: "https://a.example", timeoutMs: -1 }],
  ] as [string, ClientOptions][])("refused: %s", (_, options) => {
    expect(() => new Client(options)).toThrow(InvalidInput);
  });

  test.each(["http://localhost:1", "http://127.0.0.1:8080", "http://127.1", "http://[::1]:8080"])(
    "plain http may go to this host: %s",
    (endpoint) => expect(new Client({ endpoint }).toJSON().endpoints).toEqual([endpoint]),
  );

  test("plain http may be allowed", () => {
    const endpoint = "http://a.example";
    expect(new Client({ endpoint, allowPlainHttp: true }).toJSON().endpoints).toEqual([endpoint]);
  });

  test("an API key is never printed", () => {
    const client = new Client({ endpoint: "https://a.example", apiKey: "ea_s3cret" });
    expect(inspect(client, { depth: 10, showHidden: true })).not.toContain("s3cret");
    expect(JSON.stringify({ client })).toBe('{"client":{"endpoints":["https://a.example"]}}');
    expect(() => new Client({ endpoint: "https://a.example", apiKey: "s3cret \n" })).toThrow(/^(?!.*s3cret)/);
  });
});

describe("signing", () => {
  const claim = { entityFingerprint: HASH, attributeType: 1, attributeHash: HASH };
  const [subject, issuer] = [LocalKey.fromSeed("61".repeat(32)), LocalKey.generate()];

  test("a signer may answer later, in hex, and learns its role", async () => {
    const roles: string[] = [];
    const later = signerOf(issuer.publicKey, async (payload, role) => {
      roles.push(role);
      await Promise.resolve();
      return Buffer.from(issuer.sign(payload)).toString("hex");
    });
    const transport = new FakeTransport(recorded);
    await clientOf(transport).client.createClaimAnchor({ ...claim, subjectSigner: subject, issuerSigner: later });
    expect(roles).toEqual(["issuer"]);
    expect(transport.requests).toHaveLength(1);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("HSM is away"))],
    ["signs something else", () => issuer.sign(new Uint8Array(3))],
    ["gives 63 bytes", () => new Uint8Array(63)],
    ["gives nothing", () => undefined as never],
  ] as [string, Signer["sign"]][])("a signer that %s: nothing is sent", async (_, sign) => {
    const transport = new FakeTransport(recorded);
    const bad = { publicKey: issuer.publicKey, sign };
    const call = clientOf(transport).client.createClaimAnchor({ ...claim, subjectSigner: subject, issuerSigner: bad });
    expect(await errorOf(call)).toBeInstanceOf(SigningFailed);
    expect(transport.requests).toHaveLength(0);
  });

  test.each([
    ["no subject", { issuerSigner: issuer }, "subjectPublicKey"],
    ["a key without its signature", { subjectPublicKey: HASH, issuerSigner: issuer }, "subjectSignature"],
    ["signer and signature", { subjectSigner: subject, subjectSignature: "00".repeat(64) }, "subjectSignature"],
    ["a signer of another key", { subjectSigner: subject, subjectPublicKey: HASH }, "subjectPublicKey"],
    ["a signer that cannot", { subjectSigner: { publicKey: HASH } }, "subjectSigner"],
  ])("refused: %s", async (_, parties, field) => {
    const transport = new FakeTransport(recorded);
    const input = { ...claim, issuerSigner: issuer, ...parties } as never;
    expect(await errorOf(clientOf(transport).client.createClaimAnchor(input))).toMatchObject({ field });
    expect(transport.requests).toHaveLength(0);
  });

  test("a local key does not print, and ends when destroyed", () => {
    const seed = Buffer.alloc(32, 0x61);
    const key = LocalKey.fromSeed(seed);
    const shown = [inspect(key, { showHidden: true, depth: 9 }), String(key), JSON.stringify({ key })].join("\n");
    expect(shown).not.toContain(seed.toString("hex"));
    expect(shown).not.toContain(seed.toString("base64"));
    expect(Buffer.from(key.exportSeed())).toEqual(seed);
    key.destroy();
    expect(key.isDestroyed).toBe(true);
    expect(() => key.sign(new Uint8Array(1))).toThrow(SigningFailed);
    expect(() => key.exportSeed()).toThrow(SigningFailed);
    expect(() => LocalKey.fromSeed("61".repeat(31))).toThrow(InvalidInput);
  });
});
