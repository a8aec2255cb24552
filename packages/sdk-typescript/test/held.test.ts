import { describe, expect, test } from "@jest/globals";
import { UnexpectedAnswer, VerificationError } from "../src/index.ts";
import type { Client } from "../src/index.ts";
import { eventOf, recorded } from "./fake-ledger.ts";
import { FakeTransport, ORIGIN, clientOf } from "./fake-transport.ts";
import { exampleOf, examplesOf } from "./openapi-examples.ts";

const ID = "1b".repeat(32);
const HASH = "2c".repeat(32);
type Body = Record<string, unknown>;

const answering = (json: unknown, status = 200): Client => clientOf(new FakeTransport({ status, json })).client;

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => null,
    (error: unknown) => (error instanceof VerificationError ? error.code : error),
  );
}

describe("an answer that is about something else", () => {
  test.each([
    ["getAnchor", "GET /v1/event-anchors/{anchor_id}", (client) => client.getAnchor(ID)],
    ["getReceipt", "GET /v1/event-anchors/{anchor_id}/receipt", (client) => client.getReceipt(ID)],
    ["verifyEventAnchor", "POST /v1/event-anchors:verify", (client) => client.verifyEventAnchor(ID)],
    ["verifyClaimAnchor", "POST /v1/claim-anchors:verify", (client) => client.verifyClaimAnchor(ID)],
    ["verifyGrantAnchor", "POST /v1/grant-anchors:verify", (client) => client.verifyGrantAnchor(ID)],
    ["trace", "GET /v1/event-anchors/{anchor_id}/trace", (client) => client.trace(ID)],
    [
      "eraseClientEventId",
      "POST /v1/event-anchors/{anchor_id}/erase-client-event-id",
      (client) => client.eraseClientEventId(ID),
    ],
  ] as [string, string, (client: Client) => Promise<unknown>][])("%s: another anchor", async (_, operation, use) => {
    expect(await codeOf(use(answering(exampleOf(operation, 200))))).toBe("anchor_id_differs");
  });

  const LATEST = "GET /v1/event-anchors/latest";
  const CONSISTENCY = "GET /v1/event-anchors/consistency";
  const BATCH = "POST /v1/event-anchors:batchVerify";
  test.each([
    ["another entity", "GET /v1/claim-anchors", (client) => client.getClaimAnchor(ID, 4097), "content_differs"],
    ["another hash", "GET /v1/event-anchors", (c) => c.listEventAnchors({ eventHash: ID }), "content_differs"],
    ["another actor", "GET /v1/event-anchors", (c) => c.listEventAnchors({ irisRef: ID }), "content_differs"],
    ["another id", "GET /v1/event-anchors", (c) => c.listEventAnchors({ clientEventId: "b" }), "content_differs"],
    ["another origin", LATEST, (client) => client.latest({ originFingerprint: ID }), "origin_differs"],
    [
      "a proof of another origin",
      CONSISTENCY,
      (client) => client.consistency({ fromSize: 6, originFingerprint: ID }),
      "origin_differs",
    ],
    ["a proof from another size", CONSISTENCY, (client) => client.consistency({ fromSize: 5 }), "consistency_wrong"],
    ["a proof to another size", CONSISTENCY, (c) => c.consistency({ fromSize: 6, toSize: 7 }), "consistency_wrong"],
    ["verdicts on another anchor", BATCH, (c) => c.verifyEventAnchors([{ anchorId: ID }]), "content_differs"],
  ] as [string, string, (client: Client) => Promise<unknown>, string][])("%s", async (_, operation, use, code) => {
    expect(await codeOf(use(answering(exampleOf(operation, 200))))).toBe(code);
  });

  test.each([
    [{ entityFingerprint: ID }, "content_differs"],
    [{ entityFingerprint: "", attributeType: 1 }, "content_differs"],
    [{ entityFingerprint: "", attributeType: 16 }, null],
  ])("claims of another entity or type: %j", async (filter, code) => {
    const history = examplesOf("GET /v1/claim-anchors").find(({ name }) => name === "history")?.value;
    const [item] = (history as { items: { anchor: Body }[] }).items;
    const entityFingerprint = filter.entityFingerprint || String(item?.anchor["entity_fingerprint"]);
    expect(await codeOf(answering(history).listClaimAnchors({ ...filter, entityFingerprint }))).toBe(code);
  });

  test("a proof that proves nothing", async () => {
    const body = exampleOf(CONSISTENCY, 200) as { proof: string[]; from: { tree_size: number } };
    const client = answering({ ...body, proof: body.proof.toReversed() });
    expect(await codeOf(client.consistency({ fromSize: body.from.tree_size }))).toBe("consistency_wrong");
  });

  test.each([
    { depth: 6 },
    { tree_size: 9 },
    { root_hash: HASH },
    { origin_fingerprint: HASH },
    { checkpoint: "none" },
  ])("a head of two trees: %j", async (changed) => {
    const client = answering({ ...(exampleOf(LATEST, 200) as Body), ...changed });
    expect(await codeOf(client.latest())).toBeInstanceOf(UnexpectedAnswer);
  });
});

describe("an anchor that is not what its id is the hash of", () => {
  const found = exampleOf("GET /v1/event-anchors/{anchor_id}", 200) as { anchor: Body };
  test.each([
    ["depth", 17],
    ["sequence", 17],
    ["accepted_ms", 17],
    ["accepted_at", "2025-01-01T00:00:00.060Z"],
    ["origin_fingerprint", HASH],
    ["event_hash", HASH],
    ["semantic_anchor", null],
    ["client_event_commit", HASH],
    ["kind", "signed_event"],
    ["kind", "claim"],
  ])("%s", async (name, lie) => {
    const client = answering({ ...found, anchor: { ...found.anchor, [name]: lie } });
    expect(await codeOf(client.getAnchor(String(found.anchor["anchor_id"])))).toBeInstanceOf(UnexpectedAnswer);
  });

  test("nor a client event id that the leaf does not commit to", async () => {
    const anchor = eventOf({ origin_fingerprint: ORIGIN, event_hash: HASH, client_event_id: "a" });
    for (const lie of [{ client_event_id: "b" }, { client_event_salt: ID }, { client_event_id: "é" }]) {
      const client = answering({ anchor: { ...anchor, ...lie }, receipt: null });
      expect(await codeOf(client.getAnchor(String(anchor["anchor_id"])))).toBeInstanceOf(UnexpectedAnswer);
    }
  });

  test("of a kind that came later nobody can say", async () => {
    const { anchor_id: id } = found.anchor;
    const anchor = { ...found.anchor, kind: "sealed_event", novelty: 7 };
    const { anchor: shown } = await answering({ ...found, anchor, receipt: null }).getAnchor(String(id));
    expect(shown).toMatchObject({ kind: "unknown", statedKind: "sealed_event", members: { novelty: 7 } });
  });
});

describe("what is recorded is what was sent", () => {
  const sent = { semanticAnchor: { irisRef: ID } };

  test.each([
    { event_hash: ID },
    { semantic_anchor: null },
    { semantic_anchor: { iris_ref: ID, bond_ref: ID } },
    { actor_public_key: ID, actor_signature: ID + ID },
  ])("not %j", async (lie) => {
    const lying = (_: string, body: Readonly<Body>) => ({
      status: 202,
      json: { anchor: eventOf({ ...body, ...lie }), receipt: null, replayed: false },
    });
    const { client } = clientOf(new FakeTransport(lying));
    expect(await codeOf(client.createEventAnchor(HASH, sent))).toBe("content_differs");
  });

  test("a replay may be in another origin", async () => {
    const replaying = (_: string, body: Readonly<Body>) => ({
      status: 200,
      json: { anchor: eventOf({ ...body, origin_fingerprint: ID }), receipt: null, replayed: true },
    });
    const { client } = clientOf(new FakeTransport(replaying));
    expect((await client.createEventAnchor(HASH, sent)).anchor.originFingerprint).toBe(ID);
  });

  test("a revocation of another claim", async () => {
    const other = () => recorded(`/v1/claim-anchors/${HASH}/revoke`, {});
    expect(await codeOf(clientOf(new FakeTransport(other)).client.revokeClaimAnchor(ID))).toBe("content_differs");
  });

  test("a batch that is answered in part is unknown", async () => {
    const forgetful = (path: string, body: Readonly<Body>) => recorded(path, { ...body, events: [] });
    const { client } = clientOf(new FakeTransport(forgetful));
    const call = client.createEventAnchors([{ eventHash: HASH, clientEventId: "a" }]);
    await expect(call).rejects.toMatchObject({ code: "outcome_unknown", clientEventIds: ["a"] });
  });
});

describe("the log as tiles", () => {
  const note = String((exampleOf("GET /v1/event-anchors/latest", 200) as Body)["checkpoint"]);
  const origin = String((exampleOf("GET /v1/event-anchors/latest", 200) as Body)["origin_fingerprint"]);
  const bytes = (...body: number[]) => ({ status: 200, text: String.fromCharCode(...body) });

  test("places and what is in them", async () => {
    const transport = new FakeTransport(
      { status: 200, text: note },
      bytes(...Array.from({ length: 64 }, () => 7)),
      bytes(0, 1, 9, 0, 0),
    );
    const { client } = clientOf(transport);
    expect(await client.getCheckpoint(origin)).toBe(note);
    expect(await client.getTile(ID, { level: 1, index: 1_234_067, width: 2 })).toHaveLength(2);
    expect(await client.getEntries(ID, { index: 0, width: 2 })).toEqual([Uint8Array.of(9), new Uint8Array()]);
    expect(transport.requests.map(({ url }) => new URL(url).pathname)).toEqual([
      `/v1/origins/${origin}/checkpoint`,
      `/v1/origins/${ID}/tile/1/x001/x234/067.p/2`,
      `/v1/origins/${ID}/tile/entries/000.p/2`,
    ]);
    expect(transport.requests[0]?.headers["accept"]).toBe("text/plain");
  });

  test.each([
    ["a tile of another size", bytes(7, 7), (client) => client.getTile(ID, { level: 0, index: 0 })],
    ["a bundle with less", bytes(0, 1, 9), (client) => client.getEntries(ID, { index: 0, width: 2 })],
    ["a bundle with more", bytes(0, 1, 9, 0, 0), (client) => client.getEntries(ID, { index: 0, width: 1 })],
    ["a bundle cut off", bytes(0, 9, 9), (client) => client.getEntries(ID, { index: 0, width: 1 })],
    ["no checkpoint", { status: 200, text: "<html>" }, (client) => client.getCheckpoint(origin)],
  ] as [string, { status: number; text: string }, (client: Client) => Promise<unknown>][])(
    "%s is refused",
    async (_, reaction, use) => {
      expect(await codeOf(use(clientOf(new FakeTransport(reaction)).client))).toBeInstanceOf(UnexpectedAnswer);
    },
  );

  test("is open without a key, and shows a key that there is", async () => {
    const shown = [{ status: 200, text: note }, bytes(...Array.from({ length: 32 }, () => 7)), bytes(0, 1, 9)];
    const receipt = exampleOf("GET /v1/event-anchors/{anchor_id}/receipt", 200) as Body;
    for (const apiKey of [undefined, "ea_key"]) {
      const transport = new FakeTransport(...shown, { status: 200, json: receipt });
      const { client } = clientOf(transport, { apiKey });
      await client.getCheckpoint(origin);
      await client.getTile(ID, { level: 0, index: 0, width: 1 });
      await client.getEntries(ID, { index: 0, width: 1 });
      await client.getReceipt(String(receipt["anchor_id"]));
      const sent = apiKey === undefined ? undefined : `Bearer ${apiKey}`;
      expect(transport.requests.map(({ headers }) => headers["authorization"])).toEqual(Array(4).fill(sent));
    }
  });

  test("a checkpoint of another origin is refused", async () => {
    const { client } = clientOf(new FakeTransport({ status: 200, text: note }));
    expect(await codeOf(client.getCheckpoint(ID))).toBe("origin_differs");
  });

  test.each([{ width: 0 }, { width: 257 }, { width: 1.5 }, { index: -1 }, { level: 64 }])("no place: %j", (wrong) => {
    const { client } = clientOf(new FakeTransport());
    expect(() => client.getTile(ID, { level: 0, index: 0, ...wrong })).toThrow("expected");
  });
});
