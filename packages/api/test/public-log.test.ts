/** What a public log opens to callers without a key, and what it keeps from them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ROUTES, limitsSchema, receiptSchema } from "@event-anchoring/api-contract";
import { bytesToBase64, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { Proxies, PublicLog, RefusedError } from "@event-anchoring/api";
import { FakeClock, clientIdOf, keyIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { HeldReads, turns } from "./held-reads.ts";
import { anchorOf, hex } from "./records.ts";

const RATES = { addressRequestsPerSecond: 20, requestsPerSecond: 100 };
const PLENTY = { addressRequestsPerSecond: 100_000, requestsPerSecond: 100_000 };
const SIZE = 300;
const ID = "customer-4711-signed-contract";

let harness: Harness;
let closedLog: Harness;
/** An event with a client event id, below the certified size. */
let key: string;
let secretive: { readonly anchorId: string; readonly salt: string };

const LABEL = "acme-billing";

async function fill(service: Harness): Promise<string> {
  const events = Array.from({ length: SIZE - 2 }, (_, index) => ({ event_hash: hex(100 + (index % 100)) }));
  const batch = { origin_fingerprint: service.origin, events };
  const { status, text } = await service.send("POST", "/v1/event-anchors/batch", batch);
  if (status !== 200) throw new Error(text);
  const event = { origin_fingerprint: service.origin, event_hash: hex(9), client_event_id: ID };
  const writer = { "x-api-key": service.keyWith(LABEL, ["read", "write"]) };
  return (await anchorOf(service.send("POST", "/v1/event-anchors", event, writer))).anchor_id;
}

beforeAll(async () => {
  harness = await startHarness({ publicRates: PLENTY });
  closedLog = await startHarness();
  const anchorId = await fill(harness);
  await fill(closedLog);
  key = harness.keyWith("admin", ["read", "admin"]);
  const { json } = await harness.send("GET", `/v1/event-anchors/${anchorId}`, undefined, { "x-api-key": key });
  secretive = { anchorId, salt: String(json.anchor.client_event_salt) };
  if (json.anchor.client_event_id !== ID) throw new Error("the event has no client event id");
});
afterAll(async () => {
  await harness.close();
  await closedLog.close();
});

function visit(path: string, headers: Record<string, string> = {}, service = harness): Promise<Answer> {
  return service.send("GET", path, undefined, headers);
}

/** Everything that is open, by what it is. */
function openPaths(): Readonly<Record<string, string>> {
  const log = `/v1/origins/${harness.origin}`;
  return {
    checkpoint: `${log}/checkpoint`,
    fullTile: `${log}/tile/0/000`,
    fullEntries: `${log}/tile/entries/000`,
    partialTile: `${log}/tile/0/001.p/44`,
    partialEntries: `${log}/tile/entries/001.p/44`,
    receipt: `/v1/event-anchors/${secretive.anchorId}/receipt`,
    trustRoot: "/v1/trust-root",
  };
}

/** A path of a route, with something in each place. */
function pathOf(path: string): string {
  return path
    .replace("{anchor_id}", secretive.anchorId)
    .replace("{origin_fingerprint}", harness.origin)
    .replace("{level}", "0")
    .replace("{index}", "000");
}

describe("a log that is not public", () => {
  test("wants a key for all of it, and no page of another site may read an answer", async () => {
    for (const [what, path] of Object.entries(openPaths())) {
      const { status, headers } = await visit(path, {}, closedLog);
      expect([what, status]).toEqual([what, what === "trustRoot" ? 200 : 401]);
      expect([what, headers["access-control-allow-origin"], headers["cache-control"]]).toEqual([
        what,
        undefined,
        "no-store",
      ]);
    }
    const { json } = await visit("/v1/limits", {}, closedLog);
    expect(limitsSchema.parse(json)).toMatchObject({
      public_address_requests_per_second: null,
      public_requests_per_second: null,
    });
  });
});

describe("a public log", () => {
  test("shows without a key what it shows with one, byte by byte", async () => {
    for (const [what, path] of Object.entries(openPaths())) {
      const open = await visit(path);
      const keyed = await harness.send("GET", path);
      expect([what, open.status, open.headers["content-type"]]).toEqual([what, 200, keyed.headers["content-type"]]);
      expect([what, open.bytes]).toEqual([what, keyed.bytes]);
    }
    const receipt = openPaths()["receipt"] ?? "";
    const { text, headers } = await visit(receipt, { accept: "text/plain" });
    expect([text.startsWith("c2sp.org/tlog-proof@v1\n"), headers["content-type"]]).toEqual([
      true,
      "text/plain; charset=utf-8",
    ]);
    const { json } = await visit("/v1/limits");
    expect(limitsSchema.parse(json)).toMatchObject({ public_address_requests_per_second: 100_000 });
  });

  test("opens nothing else: every other route wants its key as before", async () => {
    for (const { method, path, scopes, isOpenOnPublicLog } of ROUTES) {
      if (scopes === null || isOpenOnPublicLog) continue;
      const { status, json, headers } = await harness.send(method, pathOf(path), undefined, {});
      expect([path, status, json.code]).toEqual([path, 401, "api_key_invalid"]);
      expect([path, headers["access-control-allow-origin"]]).toEqual([path, undefined]);
    }
  });

  test("takes a bad key for a bad key, and one without the scope for that", async () => {
    const path = openPaths()["checkpoint"] ?? "";
    for (const headers of [{ authorization: "Bearer x" }, { authorization: "" }, { "x-api-key": "x" }] as const) {
      const { status, json } = await visit(path, headers);
      expect([headers, status, json.code]).toEqual([headers, 401, "api_key_invalid"]);
    }
    const { status } = await visit(path, { "x-api-key": harness.keyWith("a writer", ["write"]) });
    expect(status).toBe(403);
  });

  test("says nothing that a writer has not made public: no id, salt, client or key", async () => {
    const salt = hexToBytes(secretive.salt, 32);
    const clientId = clientIdOf(LABEL);
    const keyId = keyIdOf(LABEL);
    const secrets = [
      ["the id", Buffer.from(ID)],
      ["the id in base64", Buffer.from(bytesToBase64(Buffer.from(ID)).replace(/=+$/, ""))],
      ["the label of its key", Buffer.from(LABEL)],
      ["a key", Buffer.from(key)],
      ...[salt, clientId, keyId].flatMap((bytes, at) => [
        [`bytes ${at}`, Buffer.from(bytes)] as const,
        [`hex ${at}`, Buffer.from(bytesToHex(bytes))] as const,
        [`base64 ${at}`, Buffer.from(bytesToBase64(bytes).replace(/=+$/, ""))] as const,
      ]),
    ] as const;
    const answers = Object.entries(openPaths()).map(async ([what, path]) => [what, await visit(path)] as const);
    const text = visit(openPaths()["receipt"] ?? "", { accept: "text/plain" });
    for (const [what, { bytes, headers }] of [...(await Promise.all(answers)), ["text", await text] as const]) {
      for (const [name, secret] of secrets) {
        const isIn = Buffer.from(bytes).includes(secret) || JSON.stringify(headers).includes(secret.toString("latin1"));
        expect([what, name, isIn]).toEqual([what, name, false]);
      }
    }
    // The same leaf, with a key that may see it: the test looks in the right place.
    const shown = { "x-api-key": key };
    const own = await harness.send("GET", `/v1/event-anchors/${secretive.anchorId}`, undefined, shown);
    expect([own.text.includes(ID), own.text.includes(secretive.salt)]).toEqual([true, true]);
  });

  test("a receipt has the fields of a receipt and no other", async () => {
    const { json } = await visit(openPaths()["receipt"] ?? "");
    const fields = ["anchor_id", "checkpoint", "inclusion", "index", "leaf", "tree_size", "trust_root_version"];
    expect(Object.keys(receiptSchema.parse(json)).sort()).toEqual(fields);
    expect(Object.keys(json).sort()).toEqual(fields);
  });

  test.each([
    ["fullTile", "public, max-age=31536000, immutable", undefined],
    ["fullEntries", "public, max-age=31536000, immutable", undefined],
    ["partialTile", "public, max-age=3600, immutable", undefined],
    ["partialEntries", "public, max-age=3600, immutable", undefined],
    ["checkpoint", "public, max-age=1", "Authorization, X-API-Key"],
    ["receipt", "public, max-age=3600", "Accept, Prefer, Authorization, X-API-Key"],
    ["trustRoot", "public, max-age=60", undefined],
  ])("%s may be kept: %s", async (what, kept, vary) => {
    const { headers } = await visit(openPaths()[what] ?? "");
    expect([headers["cache-control"], headers["vary"]]).toEqual([kept, vary]);
  });

  test("with a key nothing is shared: what the answers say is what they have always said", async () => {
    for (const [what, path] of Object.entries(openPaths())) {
      if (what === "trustRoot") continue;
      const { headers } = await harness.send("GET", path);
      const kept = what.startsWith("full") ? "private, max-age=31536000, immutable" : "no-store";
      expect([what, headers["cache-control"], headers["vary"]]).toEqual([what, kept, undefined]);
    }
  });

  test("any page may read it, problems too, but none can send a key", async () => {
    const log = `/v1/origins/${harness.origin}`;
    const problems = [`${log}/tile/0/009`, `${log}/tile/0/9`, `/v1/event-anchors/${hex(7)}/receipt`];
    for (const path of [...Object.values(openPaths()), ...problems]) {
      const { headers } = await visit(path, { origin: "https://elsewhere.example" });
      expect([path, headers["access-control-allow-origin"]]).toEqual([path, "*"]);
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    }
    const preflight = { origin: "https://elsewhere.example", "access-control-request-headers": "authorization" };
    const { status, headers } = await harness.send("OPTIONS", `${log}/checkpoint`, undefined, preflight);
    expect([status, headers["access-control-allow-origin"], headers["access-control-allow-headers"]]).toEqual([
      405,
      undefined,
      undefined,
    ]);
    for (const path of ["/v1/limits", "/healthz", "/v1/event-anchors/latest", "/openapi.json"]) {
      expect((await harness.send("GET", path)).headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  test("problems are kept by nobody", async () => {
    const { headers } = await visit(`/v1/event-anchors/${hex(7)}/receipt`);
    expect([headers["cache-control"], headers["vary"]]).toEqual(["no-store", undefined]);
  });
});

describe("what no certificate covers", () => {
  test("is not there, whatever is asked: not in tiles, and no receipt tells that it exists", async () => {
    const own = await startHarness({ publicRates: PLENTY });
    const origin = own.node.origin;
    await fill(own);
    const size = own.node.certificateOf(origin).treeSize;
    own.node.certifiedUpTo.set(own.origin, size);
    const event = { origin_fingerprint: own.origin, event_hash: hex(10) };
    const { anchor_id: uncovered } = await anchorOf(own.send("POST", "/v1/event-anchors", event));
    own.node.setOriginStatus(origin, "lost");
    const tail = `.p/${(size % 256) + 1}`;
    const log = `/v1/origins/${own.origin}`;
    const paths = [`${log}/tile/0/001${tail}`, `${log}/tile/entries/001${tail}`];
    for (const path of paths) expect((await visit(path, {}, own)).json.code).toBe("tile_not_found");
    const receipt = `/v1/event-anchors/${uncovered}/receipt`;
    const unknown = `/v1/event-anchors/${hex(77)}/receipt`;
    const answers = [await visit(receipt, {}, own), await visit(unknown, {}, own)];
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      [404, "anchor_not_found"],
      [404, "anchor_not_found"],
    ]);
    // Whoever has a key is told more.
    expect((await own.send("GET", receipt)).json.code).toBe("origin_lost");
    await own.close();
  });
});

const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });

describe("a flood without a key", () => {
  /** Visits that one address can have answered before its bucket is empty, and all addresses together. */
  const { addressRequestsPerSecond: OF_ADDRESS, requestsPerSecond: OF_ALL } = RATES;
  const FLOOD = 400;

  test("costs what its budget has, and nothing of a writer's", async () => {
    const own = await startHarness({ publicRates: RATES });
    const anchorId = await fill(own);
    const receipt = `/v1/event-anchors/${anchorId}/receipt`;
    const write = async (count: number): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (let at = 0; at < count; at += 1) {
        const event = { origin_fingerprint: own.origin, event_hash: hex(at) };
        statuses.push((await own.send("POST", "/v1/event-anchors", event)).status);
      }
      return statuses;
    };
    own.clock.stop();
    const before = { ...own.selects };
    await write(20);
    const alone = own.selects.keyed - before.keyed;
    const begun = { ...own.selects };
    const flood = Array.from({ length: FLOOD }, () => visit(receipt, from("203.0.113.7"), own));
    const writes = write(20);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(await writes).toEqual(Array.from({ length: 20 }, () => 201));
    // Some of the first ones are refused because eight are under way; the bucket of the address pays for them too.
    expect(statuses.filter((status) => status !== 429)).toHaveLength(OF_ADDRESS);
    expect(statuses.filter((status) => status === 429)).toHaveLength(FLOOD - OF_ADDRESS);
    expect(own.selects.keyed - begun.keyed).toBe(alone);
    // A receipt takes three statements.
    expect(own.selects.visits - begun.visits).toBeLessThanOrEqual(3 * OF_ADDRESS);
    await own.close();
  });

  test("of many addresses has one budget, and one address leaves the others theirs", async () => {
    const own = await startHarness({ publicRates: RATES });
    own.clock.stop();
    const path = `/v1/origins/${own.origin}/checkpoint`;
    const statusesOf = async (address: string, count: number): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (let at = 0; at < count; at += 1) statuses.push((await visit(path, from(address), own)).status);
      return statuses;
    };
    const good = (statuses: readonly number[]): number => statuses.filter((status) => status === 200).length;
    expect(good(await statusesOf("203.0.113.7", FLOOD))).toBe(OF_ADDRESS);
    expect(good(await statusesOf("203.0.113.8", 10))).toBe(10);
    let answered = OF_ADDRESS + 10;
    for (let at = 0; at < 10; at += 1) answered += good(await statusesOf(`198.51.100.${at}`, OF_ADDRESS));
    expect(answered).toBe(OF_ALL);
    const { status, json, headers } = await visit(path, from("192.0.2.1"), own);
    expect([status, json.code, headers["retry-after"]]).toEqual([429, "rate_limited", "1"]);
    expect((await own.send("GET", path)).status).toBe(200);
    own.clock.offsetMs += 1000;
    expect((await visit(path, from("192.0.2.1"), own)).status).toBe(200);
    await own.close();
  });

  test("has 8 visits of an address under way, and 32 in all: what comes with a key finds no queue", async () => {
    const held = new HeldReads({ isHolding: false });
    const own = await startHarness({ publicRates: PLENTY, controlPlane: held.controlPlane });
    const anchorId = await fill(own);
    held.isHolding = true;
    const receipt = `/v1/event-anchors/${anchorId}/receipt`;
    const flooding = Array.from({ length: 100 }, (_, at) => visit(receipt, from(`198.51.100.${at % 10}`), own));
    await turns(() => held.waiting === 32);
    expect((await visit(receipt, from("192.0.2.1"), own)).json.code).toBe("overloaded");
    const event = { origin_fingerprint: own.origin, event_hash: hex(3) };
    expect((await own.send("POST", "/v1/event-anchors", event)).status).toBe(201);
    expect((await own.send("GET", "/v1/event-anchors/latest")).status).toBe(200);
    held.open();
    const statuses = (await Promise.all(flooding)).map(({ status }) => status);
    expect([statuses.filter((status) => status === 200).length, held.waiting]).toEqual([32, 32]);
    expect((await visit(receipt, from("192.0.2.1"), own)).status).toBe(200);

    const second = new HeldReads({ isHolding: false });
    await own.close();
    const other = await startHarness({ publicRates: PLENTY, controlPlane: second.controlPlane });
    const path = `/v1/event-anchors/${await fill(other)}/receipt`;
    second.isHolding = true;
    const ofOne = Array.from({ length: 20 }, () => visit(path, from("203.0.113.7"), other));
    await turns(() => second.waiting === 8);
    expect((await visit(path, from("203.0.113.7"), other)).json.code).toBe("overloaded");
    second.open();
    expect((await Promise.all(ofOne)).filter(({ status }) => status === 200)).toHaveLength(8);
    await other.close();
  });
});

/** A response as far as bytes are counted. */
class FakeResponse extends EventEmitter {
  closed = false;
  destroyed = false;
}

function requestOf(remoteAddress: string, forwardedFor?: string): IncomingMessage {
  const headers = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
  return { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
}

describe("visitors", () => {
  const MIB = 1024 * 1024;
  const started = (clock = new FakeClock(), rates = PLENTY): PublicLog =>
    new PublicLog({ rates, proxies: new Proxies([]), clock });
  const isRoomFor = (log: PublicLog, address: string): boolean => {
    try {
      log.visitorOf(requestOf(address));
      return true;
    } catch (error) {
      if (error instanceof RefusedError && error.code === "overloaded") return false;
      throw error;
    }
  };

  test("have 8 MiB of unread answers, and one address two", () => {
    const log = started();
    const responses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"].map((address) => {
      const response = new FakeResponse();
      expect(isRoomFor(log, address)).toBe(true);
      log.count(response as unknown as ServerResponse, log.visitorOf(requestOf(address)), 2 * MIB);
      expect([address, isRoomFor(log, address)]).toEqual([address, false]);
      return response;
    });
    expect(isRoomFor(log, "192.0.2.5")).toBe(false);
    responses[0]?.emit("close");
    expect(["192.0.2.1", "192.0.2.2", "192.0.2.5"].map((address) => isRoomFor(log, address))).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("pay for what their reads cost", () => {
    const clock = new FakeClock();
    clock.stop();
    const log = started(clock, RATES);
    const visitor = log.visitorOf(requestOf("192.0.2.1"));
    log.charge(visitor, 25);
    expect(() => log.visitorOf(requestOf("192.0.2.1"))).toThrow("rate_limited");
    clock.offsetMs += 1000;
    expect(() => log.visitorOf(requestOf("192.0.2.1"))).not.toThrow();
  });

  test("beyond 4,096 addresses share one bucket, until old ones are full again", () => {
    const clock = new FakeClock();
    clock.stop();
    const log = started(clock, { addressRequestsPerSecond: 1, requestsPerSecond: 100_000 });
    const address = (at: number): string => `10.${Math.floor(at / 65_536)}.${Math.floor(at / 256) % 256}.${at % 256}`;
    for (let at = 0; at < 4097; at += 1) log.visitorOf(requestOf(address(at)));
    expect(() => log.visitorOf(requestOf(address(4097)))).toThrow("rate_limited");
    expect(() => log.visitorOf(requestOf(address(1)))).toThrow("rate_limited");
    clock.offsetMs += 1001;
    expect(() => log.visitorOf(requestOf(address(4098)))).not.toThrow();
    expect(() => log.visitorOf(requestOf(address(4099)))).not.toThrow();
  });
});

describe("what a visitor is counted as", () => {
  test.each([
    ["the address of the connection", "203.0.113.7", undefined, "203.0.113.7"],
    ["not what a stranger says of itself", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["what the gateway says", "10.0.0.2", "198.51.100.1", "198.51.100.1"],
    ["what the gateway has appended, not what it was told", "10.0.0.2", "192.0.2.66, 198.51.100.1", "198.51.100.1"],
    ["the one before two proxies", "10.0.0.2", "192.0.2.66, 198.51.100.1, 10.0.0.9", "198.51.100.1"],
    ["the proxy, if it says nothing", "10.0.0.2", undefined, "10.0.0.2"],
    ["the proxy, if it says what is no address", "10.0.0.2", "198.51.100.1, unknown", "10.0.0.2"],
    ["the proxy, if it says a port too", "10.0.0.2", "198.51.100.1:443", "10.0.0.2"],
    ["loopback is a proxy", "::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["of IPv6 the network of 64 bits", "2001:db8:1:2:3:4:5:6", undefined, "2001:db8:1:2"],
    ["likewise behind a proxy", "10.0.0.2", "2001:db8:1:2::9", "2001:db8:1:2"],
    ["nothing, if the connection is gone", "", "198.51.100.1", ""],
  ])("%s", (_what, remote, forwarded, counted) => {
    expect(new Proxies(["10.0.0.0/8"]).clientOf(remote, forwarded)).toBe(counted);
  });
});
