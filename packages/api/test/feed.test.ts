/** The feed of an origin: what a follower is shown, what it costs, and how it ends. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { ServerResponse } from "node:http";
import type { HeadEvent } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { until } from "@event-anchoring/testkit";
import { FeedReader, assertHeadsChained } from "@event-anchoring/testkit/clients";
import { StoreError } from "@event-anchoring/store";
import { StreamReader } from "../src/http/stream-reader.ts";
import { keyIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { hex } from "./records.ts";

const PLENTY = { addressRequestsPerSecond: 100_000, requestsPerSecond: 100_000 };

let harness: Harness;
let clients: FeedReader[];
let written: number;

beforeEach(async () => {
  harness = await startHarness({ publicRates: PLENTY });
  clients = [];
  written = 0;
  await write(9);
});
afterEach(async () => {
  for (const client of clients) client.close();
  await harness.close();
});

/** Events in one batch, which is one head. The size afterwards. */
async function write(count: number): Promise<number> {
  const events = Array.from({ length: count }, () => ({ event_hash: hex((written += 1) % 250) }));
  const batch = { origin_fingerprint: harness.origin, events };
  const { status, text } = await harness.send("POST", "/v1/event-anchors/batch", batch);
  if (status !== 200) throw new Error(text);
  return harness.node.certificateOf(harness.node.origin).treeSize;
}

const feedPath = (query = "", origin = harness.origin): string => `/v1/origins/${origin}/feed${query}`;

async function follow(query = "", headers: Record<string, string> = { "x-api-key": harness.key }): Promise<FeedReader> {
  const client = await FeedReader.open(harness.port, feedPath(query), headers);
  clients.push(client);
  return client;
}

function known({ tree_size: size, root_hash: root }: HeadEvent): { size: number; root: string } {
  return { size, root };
}

/** The event of the newest head. */
async function present(): Promise<HeadEvent> {
  const client = await follow();
  await client.reaches(1);
  const [head] = client.heads;
  client.close();
  if (head === undefined) throw new Error("no head");
  return head;
}

describe("a follower", () => {
  test("is shown the present head, and then every growth, each proved from the event before", async () => {
    const client = await follow();
    expect([client.status, client.headers["content-type"], client.headers["cache-control"]]).toEqual([
      200,
      "text/event-stream",
      "no-store",
    ]);
    await client.reaches(10);
    for (const count of [1, 5, 300, 1, 17]) await client.reaches(await write(count));
    expect(client.sizes).toEqual([10, 11, 16, 316, 317, 334]);
    assertHeadsChained(client.heads, null);
    expect(client.text.startsWith("retry: 1000\n\nid: 10\nevent: head\ndata: {")).toBe(true);
  });

  test("that comes back goes on where it was, by the header or the query", async () => {
    const before = await present();
    const size = await write(4);
    const ways = [
      await follow("", { "x-api-key": harness.key, "last-event-id": "10" }),
      await follow("?after_size=10"),
      await follow("?after_size=1", { "x-api-key": harness.key, "last-event-id": "10" }),
    ];
    for (const client of ways) {
      await client.reaches(size);
      expect(client.sizes).toEqual([size]);
      assertHeadsChained(client.heads, known(before));
    }
  });

  test("that is at the newest head waits for the next one", async () => {
    const before = await present();
    const client = await follow("?after_size=10");
    const size = await write(3);
    await client.reaches(size);
    expect(client.sizes).toEqual([size]);
    assertHeadsChained(client.heads, known(before));
  });

  test("that has seen more than this node has shown is neither refused nor shown less", async () => {
    const early = await follow();
    await early.reaches(10);
    // The feed learns of nothing by itself any more, as at a node that lags.
    harness.node.headPauseMs = 2500;
    await until("the feed waits", async () => harness.node.headsAsked > 1);
    const size = await write(5);
    const seen = await harness.send("GET", `/v1/event-anchors/latest`);
    const { root_hash: root } = seen.json as unknown as { root_hash: string };
    const client = await follow("", { "x-api-key": harness.key, "last-event-id": String(size) });
    expect(client.status).toBe(200);
    harness.node.headPauseMs = 5;
    const next = await write(2);
    await client.reaches(next);
    expect(client.sizes).toEqual([next]);
    assertHeadsChained(client.heads, { size, root });
  });

  test("that claims more than a quorum knows is told so", async () => {
    const { status, json } = await harness.send("GET", feedPath("?after_size=11"));
    expect([status, json.code]).toEqual([409, "from_size_ahead"]);
  });

  test("heads are left out, never sizes repeated, when there are many", async () => {
    harness.node.headPauseMs = 60;
    const client = await follow();
    await client.reaches(10);
    let size = 0;
    for (let at = 0; at < 40; at += 1) size = await write(1);
    await client.reaches(size);
    expect(client.sizes.length).toBeLessThan(40);
    assertHeadsChained(client.heads, null);
  });

  test("HEAD has the headers and an end", async () => {
    const { status, headers, text } = await harness.send("HEAD", feedPath());
    expect([status, headers["content-type"], text]).toEqual([200, "text/event-stream", ""]);
  });

  test.each(["x", "0", "-1", "1.5", "1e3", " 7 8", "99999999999999999"])("no id is %s", async (id) => {
    const headers = { "x-api-key": harness.key, "last-event-id": id };
    const answer = await harness.send("GET", feedPath(), undefined, headers);
    expect([answer.status, answer.json.code]).toEqual([400, "invalid_request"]);
    const query = await harness.send("GET", feedPath(`?after_size=${encodeURIComponent(id)}`));
    expect([query.status, query.json.code]).toEqual([400, "invalid_request"]);
  });

  test("of an unknown origin, without a key, with a key that may not read", async () => {
    expect((await harness.send("GET", feedPath("", hex(7)))).json.code).toBe("origin_unknown");
    const writer = { "x-api-key": harness.keyWith("writer", ["write"]) };
    expect((await harness.send("GET", feedPath(), undefined, writer)).status).toBe(403);
    const closedLog = await startHarness();
    const path = `/v1/origins/${closedLog.origin}/feed`;
    expect((await closedLog.send("GET", path, undefined, {})).status).toBe(401);
    await closedLog.close();
  });

  test("needs no key on a public log, and may be a page of any site", async () => {
    const client = await follow("", { origin: "https://elsewhere.example" });
    await client.reaches(10);
    expect([client.status, client.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  });
});

describe("what followers cost", () => {
  test("a head takes as many statements and requests to the control plane for 30 followers as for one", async () => {
    const costOf = async (followers: readonly FeedReader[]) => {
      const before = { ...harness.selects };
      const size = await write(3);
      for (const client of followers) await client.reaches(size);
      return [harness.selects.keyed - before.keyed, harness.selects.visits - before.visits];
    };
    const one = await follow();
    await one.reaches(10);
    const alone = await costOf([one]);
    const many = await Promise.all(Array.from({ length: 29 }, () => follow()));
    for (const client of many) await client.reaches(13);
    const asked = harness.node.headsAsked;
    harness.node.headPauseMs = 100;
    const together = await costOf([one, ...many]);
    // The tables are asked for the proof alone: once.
    expect([alone, together]).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(harness.node.headsAsked - asked).toBeLessThanOrEqual(4);
  });

  test("newcomers who were at one size share its proof, and without one take none", async () => {
    const size = await write(5);
    const before = { ...harness.selects };
    const back = await Promise.all(Array.from({ length: 20 }, () => follow("?after_size=10")));
    for (const client of back) await client.reaches(size);
    const fresh = await Promise.all(Array.from({ length: 10 }, () => follow()));
    for (const client of fresh) await client.reaches(size);
    expect([harness.selects.keyed - before.keyed, harness.selects.visits - before.visits]).toEqual([1, 0]);
  });

  test("when the last has gone, nobody asks the control plane any more", async () => {
    const client = await follow();
    await client.reaches(10);
    client.close();
    // A request that is under way comes back with this head; none follows it.
    await write(1);
    await until("no request is under way", () => harness.node.headsAwaited === 0);
    const asked = harness.node.headsAsked;
    await write(1);
    expect([harness.node.headsAwaited, harness.node.headsAsked]).toEqual([0, asked]);
    const again = await follow();
    await again.reaches(12);
  });
});

describe("limits", () => {
  test("one key has 32 feeds, and a place is free again when one has gone", async () => {
    const all = await Promise.all(Array.from({ length: 32 }, () => follow()));
    const { status, json, headers } = await harness.send("GET", feedPath());
    expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"]);
    const other = await follow("", { "x-api-key": harness.keyWith("other", ["read"]) });
    expect(other.status).toBe(200);
    all[0]?.close();
    await until("a place is free", async () => {
      const client = await follow();
      return client.status === 200;
    });
  });

  test("one address has 8, apart from those with keys", async () => {
    const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });
    const ofOne = await Promise.all(Array.from({ length: 8 }, () => follow("", from("203.0.113.7"))));
    expect(ofOne.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await follow("", from("203.0.113.7"))).status).toBe(503);
    expect((await follow("", from("203.0.113.8"))).status).toBe(200);
    expect((await follow()).status).toBe(200);
    for (let at = 0; at < 119; at += 1) {
      const client = await follow("", from(`198.51.${Math.floor(at / 8)}.1`));
      expect([at, client.status]).toEqual([at, 200]);
    }
    expect((await follow("", from("192.0.2.1"))).status).toBe(503);
    expect((await follow()).status).toBe(200);
    const { text } = await harness.metrics();
    expect(text).toContain('anchoring_api_feed_followers{by="address"} 128');
    expect(text).toContain('anchoring_api_feed_followers{by="key"} 2');
  });

  test("a refused feed takes no place", async () => {
    for (let at = 0; at < 40; at += 1) await harness.send("GET", feedPath("?after_size=999"));
    expect((await follow()).status).toBe(200);
  });

  test("whoever does not read is dropped, with what waits for it", () => {
    const dropped: string[] = [];
    const sent: number[] = [];
    const response = {
      destroyed: false,
      writableEnded: false,
      writableLength: 0,
      write: (bytes: Uint8Array) => sent.push(bytes.length),
      destroy: () => dropped.push("destroyed"),
    };
    const reader = new StreamReader(response as unknown as ServerResponse, () => dropped.push("counted"));
    const send = (bytes: Uint8Array): boolean => reader.send(bytes);
    expect([send(new Uint8Array(2000)), sent]).toEqual([true, [2000]]);
    response.writableLength = 16 * 1024;
    expect(send(new Uint8Array(2000))).toBe(true);
    response.writableLength = 16 * 1024 + 1;
    expect([send(new Uint8Array(2000)), sent, dropped]).toEqual([false, [2000, 2000], ["counted", "destroyed"]]);
    response.destroyed = true;
    expect([send(new Uint8Array(1)), sent.length]).toEqual([false, 2]);
  });
});

describe("the latest anchor, waited for", () => {
  const latest = (query: string, headers = { "x-api-key": harness.key }): Promise<Answer> =>
    harness.send("GET", `/v1/event-anchors/latest?${query}`, undefined, headers);
  const sizeOf = ({ json }: Answer): number => (json as unknown as { tree_size: number }).tree_size;

  test("comes at once if there is news, and with the next growth if there is none", async () => {
    expect(sizeOf(await latest("after_size=9&wait=30"))).toBe(10);
    const waiting = latest("after_size=10&wait=30");
    await until("somebody waits", () => harness.node.headsAwaited > 0);
    const size = await write(4);
    expect(sizeOf(await waiting)).toBe(size);
  });

  test("is what there is when the time is over, also if that is less than was asked for", async () => {
    const [same, less] = await Promise.all([latest("after_size=10&wait=1"), latest("after_size=99&wait=1")]);
    expect([same.status, sizeOf(same), less.status, sizeOf(less)]).toEqual([200, 10, 200, 10]);
    expect(sizeOf(await latest("after_size=10&wait=0"))).toBe(10);
    const grown = await latest("after_size=9&wait=1&from_size=4");
    expect(grown.json).toMatchObject({ tree_size: 10, consistency: { from_size: 4, tree_size: 10 } });
  });

  test("keeps its key, and takes the place of a feed for as long as it waits", async () => {
    const { status } = await harness.send("GET", "/v1/event-anchors/latest?after_size=10&wait=30", undefined, {});
    expect(status).toBe(401);
    const waiting = Array.from({ length: 32 }, () => latest("after_size=10&wait=30"));
    await until("they wait", async () => (await harness.send("GET", feedPath("?after_size=99"))).status === 503);
    expect((await latest("after_size=10&wait=30")).json.code).toBe("overloaded");
    expect((await latest("after_size=9")).status).toBe(400);
    const size = await write(1);
    expect((await Promise.all(waiting)).map(sizeOf)).toEqual(waiting.map(() => size));
    expect((await follow()).status).toBe(200);
  });

  test("ends with the node's word if that cannot say, and with the caller if it goes", async () => {
    const waiting = latest("after_size=10&wait=30");
    await until("somebody waits", () => harness.node.headsAwaited > 0);
    harness.node.refusal = new RefusedError("unavailable", "the session has ended");
    expect((await waiting).json.code).toBe("unavailable");
    harness.node.refusal = null;
    const gone = await Promise.all(
      Array.from({ length: 32 }, async () => {
        const path = "/v1/event-anchors/latest?after_size=10&wait=30";
        return harness.hold(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${harness.key}\r\n\r\n`);
      }),
    );
    await until("they wait", async () => (await harness.send("GET", feedPath("?after_size=99"))).status === 503);
    for (const socket of gone) socket.destroy();
    await until("there is room", async () => (await harness.send("GET", feedPath("?after_size=99"))).status === 409);
  });
});

describe("a feed ends", () => {
  test.each(["unavailable", "fenced", "halted", "origin_contradicted"] as const)(
    "with the node's own word, if it is %s",
    async (code) => {
      const client = await follow();
      await client.reaches(10);
      harness.node.refusal = new RefusedError(code, "detail that stays inside");
      await client.ends();
      expect(client.others).toEqual([`end {"code":"${code}"}`]);
      expect(client.text).not.toContain("stays inside");
      harness.node.refusal = null;
      const again = await follow("", { "x-api-key": harness.key, "last-event-id": "10" });
      await again.reaches(await write(1));
      assertHeadsChained(again.heads, known(client.heads[0] as HeadEvent));
    },
  );

  test("when the process stops: others are let in no more", async () => {
    const client = await follow();
    await client.reaches(10);
    await harness.endFeeds();
    await client.ends();
    expect(client.others).toEqual(['end {"code":"unavailable"}']);
    expect((await harness.send("GET", feedPath())).json.code).toBe("unavailable");
  });

  test("when a proof cannot be read: for those who need it alone", async () => {
    const good = await follow();
    await good.reaches(10);
    harness.node.storeFailure = new StoreError("unavailable", "gone");
    const size = await write(1).catch(() => harness.node.certificateOf(harness.node.origin).treeSize);
    await good.ends();
    expect(good.others).toEqual(['end {"code":"unavailable"}']);
    harness.node.storeFailure = null;
    const back = await follow("?after_size=10");
    await back.reaches(size);
  });

  test("an election ends none: what passes is waited for", async () => {
    const client = await follow();
    await client.reaches(10);
    const asked = harness.node.headsAsked;
    harness.node.refusal = new RefusedError("no_leader", "an election");
    await until("it was refused, and asked again", () => harness.node.headsAsked > asked + 1);
    harness.node.refusal = null;
    await client.reaches(await write(1));
    expect([client.isEnded, client.others]).toEqual([false, []]);
  });

  test("with a comment every 10 seconds it lives, and a key that has ended ends its own", async () => {
    const other = harness.keyWith("short", ["read"]);
    const [lasting, short] = [await follow(), await follow("", { "x-api-key": other })];
    await lasting.reaches(10);
    await short.reaches(10);
    harness.clock.offsetMs += 10_000;
    await write(1);
    await until("a comment", async () => lasting.comments === 1 && short.comments === 1);
    harness.node.revokeApiKey(keyIdOf("short"));
    harness.clock.offsetMs += 10_000;
    await write(1);
    await short.ends();
    expect([short.others, lasting.isEnded]).toEqual([['end {"code":"api_key_invalid"}'], false]);
    await until("another comment", async () => lasting.comments === 2);
  });

  test("after three comments without a quorum's word", async () => {
    const client = await follow();
    await client.reaches(10);
    harness.node.isCertifying = false;
    for (let at = 1; at <= 3; at += 1) {
      harness.clock.offsetMs += 10_000;
      if (at < 3) await until(`comment ${at}`, async () => client.comments === at);
    }
    await client.ends();
    expect(client.others).toEqual(['end {"code":"certification_stalled"}']);
    harness.node.isCertifying = true;
  }, 30_000);
});
