/** The feed of an origin, at servers that end it, repeat themselves, are slow, or lie. */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { bytesToBase64, bytesToHex } from "@event-anchoring/protocol";
import {
  Client,
  Conflict,
  Forbidden,
  InvalidInput,
  Rollback,
  SplitView,
  UnexpectedAnswer,
  VerificationError,
  verifyTrustRoot,
} from "../src/index.ts";
import type { ClientOptions, FailedTry, FollowQuestion, FollowedHead, SentRequest } from "../src/index.ts";
import { eventsIn } from "../src/event-stream.ts";
import { ORIGIN_HEX, ceremony, checkpointOf, leafHashes, proofOf } from "./fake-log.ts";
import { FakeTiming } from "./fake-transport.ts";

const VERSION = { version: 1, root_thk: bytesToHex(ceremony.rootThk), document: ceremony.document };
const TRUST_ROOT = { ...VERSION, chain: [VERSION] };

type Serve = (response: ServerResponse, request: IncomingMessage) => void;

const servers: Server[] = [];
let asked: IncomingMessage[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  asked = [];
});

/** A node that answers each request by the next of these, and the last again and again. */
async function node(...script: readonly Serve[]): Promise<string> {
  let count = 0;
  const server = createServer((request, response) => {
    if (request.url === "/v1/trust-root") {
      response.end(JSON.stringify(TRUST_ROOT));
      return;
    }
    asked.push(request);
    script[Math.min(count++, script.length - 1)]?.(response, request);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const LOG = leafHashes(40);

function headText(size: number, from: number | null, { log = LOG, cosigners = 2 } = {}): string {
  const hashes = log.slice(0, size);
  const proof = from === null ? [] : proofOf(hashes, from).map(bytesToBase64);
  const consistency = from === null ? null : { from_size: from, tree_size: size, proof };
  const event = { origin_fingerprint: ORIGIN_HEX, checkpoint: checkpointOf(hashes, cosigners), consistency };
  return `id: ${size}\nevent: head\ndata: ${JSON.stringify(event)}\n\n`;
}

const begin = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("retry: 1000\n\n:\n\n");
};
const shows =
  (...texts: readonly string[]): Serve =>
  (response) => {
    begin(response);
    response.write(texts.join(""));
  };
const endsAfter =
  (...texts: readonly string[]): Serve =>
  (response) => {
    begin(response);
    response.end(texts.join(""));
  };
const refuses =
  (status: number, code: string, headers: Record<string, string> = {}): Serve =>
  (response) => {
    response.writeHead(status, { "content-type": "application/problem+json", ...headers });
    response.end(JSON.stringify({ code, detail: code }));
  };

function clientOf(endpoints: readonly string[], options: Partial<ClientOptions> = {}) {
  const timing = new FakeTiming();
  const retried: FailedTry[] = [];
  const client = new Client({
    endpoints,
    apiKey: "ea_key",
    trustRoot: verifyTrustRoot({ documents: [ceremony.document], pinnedRootThk: ceremony.rootThk }),
    originFingerprint: ORIGIN_HEX,
    timing: { now: () => timing.now(), chance: () => 1, wait: (ms) => timing.wait(ms) },
    onRetry: (failed) => retried.push(failed),
    ...options,
  });
  return { client, timing, retried };
}

/** So many heads, or the error before. */
async function take(
  heads: AsyncIterable<FollowedHead>,
  count: number,
): Promise<{ heads: FollowedHead[]; error: unknown }> {
  const taken: FollowedHead[] = [];
  try {
    for await (const head of heads) {
      taken.push(head);
      if (taken.length === count) break;
    }
  } catch (error) {
    return { heads: taken, error };
  }
  return { heads: taken, error: null };
}

const sizes = (heads: readonly FollowedHead[]): unknown[] =>
  heads.map(({ treeSize, previousTreeSize }) => [previousTreeSize, treeSize]);

async function follow(script: readonly Serve[], count: number, question: FollowQuestion = {}) {
  const made = clientOf([await node(...script)]);
  return { ...made, ...(await take(made.client.followHeads(question), count)) };
}

const rootText = (size: number): string => checkpointOf(LOG.slice(0, size)).split("\n")[2] ?? "";

function rootOf(size: number) {
  return { treeSize: size, rootHash: bytesToHex(Buffer.from(rootText(size), "base64")) };
}

describe("a follower", () => {
  test("is given each head, verified and proved from the one before", async () => {
    const { heads } = await follow([shows(headText(3, null), headText(7, 3), ":\n\n", headText(8, 7))], 3);
    expect(sizes(heads)).toEqual([
      [null, 3],
      [3, 7],
      [7, 8],
    ]);
    expect(heads[2]).toMatchObject({ ...rootOf(8), originFingerprint: ORIGIN_HEX });
    expect(heads[2]?.cosigners).toHaveLength(2);
    const [request] = asked;
    expect(request?.url).toBe(`/v1/origins/${ORIGIN_HEX}/feed`);
    expect(request?.headers).toMatchObject({ authorization: "Bearer ea_key", accept: "text/event-stream" });
    expect(request?.headers["last-event-id"]).toBeUndefined();
  });

  test("goes on after the last head at the next node, and is not given one twice", async () => {
    const first = await node(endsAfter(headText(3, null), headText(5, 3), headText(9, 5).slice(0, -9)));
    const second = await node(
      endsAfter(headText(5, 3), headText(6, 5), 'event: end\ndata: {"code":"unavailable"}\n\n'),
    );
    const third = await node(shows(headText(9, 6)));
    const { client, retried } = clientOf([first, second, third]);
    const { heads } = await take(client.followHeads(), 4);
    expect(sizes(heads)).toEqual([
      [null, 3],
      [3, 5],
      [5, 6],
      [6, 9],
    ]);
    expect(asked.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "5", "6"]);
    expect(retried.map(({ attempt, error, delayMs }) => [attempt, error.code, delayMs])).toEqual([
      [1, "connection_failed", 250],
      [1, "connection_failed", 250],
    ]);
  });

  test("begins after a head that was held", async () => {
    const { heads } = await follow([shows(headText(7, 4))], 1, { after: rootOf(4) });
    expect(sizes(heads)).toEqual([[4, 7]]);
    expect(asked[0]?.headers["last-event-id"]).toBe("4");
  });

  test("waits longer and longer, and as long as it is told", async () => {
    const busy = refuses(503, "overloaded");
    const script = [
      endsAfter(),
      busy,
      refuses(429, "rate_limited", { "retry-after": "7" }),
      busy,
      shows(headText(3, null)),
    ];
    const { heads, timing, retried } = await follow(script, 1);
    expect(heads).toHaveLength(1);
    expect(timing.waits).toEqual([250, 500, 7000, 2000]);
    expect(retried.map(({ error }) => error.code)).toEqual([
      "connection_failed",
      "overloaded",
      "rate_limited",
      "overloaded",
    ]);
  });

  test("tells of each feed when it begins, is refused, or cannot be opened", async () => {
    const told: SentRequest[] = [];
    const endpoints = ["http://127.0.0.1:2", await node(refuses(503, "overloaded"), shows(headText(3, null)))];
    const { client } = clientOf(endpoints, { onRequest: (sent) => told.push(sent) });
    expect((await take(client.followHeads(), 1)).heads).toHaveLength(1);
    const outcomes = told.map(({ path, attempt, status, failure }) => [path, attempt, status, failure]);
    const path = `/v1/origins/${ORIGIN_HEX}/feed`;
    expect(outcomes).toEqual([
      [path, 1, null, "unreachable"],
      [path, 1, 503, null],
      [path, 1, null, "unreachable"],
      [path, 1, 200, null],
    ]);
    expect(JSON.stringify(told)).not.toContain("ea_key");
  });

  test("gives up if nobody opens a feed at all", async () => {
    const { error, timing } = await follow([refuses(503, "no_leader")], 1);
    expect(error).toMatchObject({ code: "no_leader" });
    expect(timing.waits).toHaveLength(4);
  });

  test("of a server that is silent asks the next one; a few bytes at a time are enough", async () => {
    const silent = await node(begin);
    const slow = await node((response) => {
      begin(response);
      const text = headText(3, null).replaceAll("\n", "\r\n");
      const writeFrom = (at: number): void => {
        if (at < text.length) response.write(text.slice(at, at + 9), () => writeFrom(at + 9));
      };
      writeFrom(0);
    });
    const { client, retried } = clientOf([silent, slow]);
    const { heads } = await take(client.followHeads({}, { timeoutMs: 300 }), 1);
    expect(sizes(heads)).toEqual([[null, 3]]);
    expect(retried.map(({ error }) => error.code)).toEqual(["timeout"]);
  });

  test("ends with its signal, without an error", async () => {
    const controller = new AbortController();
    const { client } = clientOf([await node(shows(headText(3, null)))]);
    const heads: FollowedHead[] = [];
    for await (const head of client.followHeads({}, { signal: controller.signal })) {
      heads.push(head);
      setTimeout(() => controller.abort(), 20);
    }
    expect(heads).toHaveLength(1);
  });

  test("who leaves the loop leaves no connection", async () => {
    let isClosed = (): void => undefined;
    const closed = new Promise<void>((resolve) => (isClosed = resolve));
    const { client } = clientOf([
      await node((response, request) => {
        request.socket.once("close", () => isClosed());
        shows(headText(3, null))(response, request);
      }),
    ]);
    expect((await take(client.followHeads(), 1)).heads).toHaveLength(1);
    await closed;
  });

  test("needs a trust root, and a transport that can stream", async () => {
    const { client } = clientOf([await node(shows(headText(3, null)))], { trustRoot: undefined });
    expect((await take(client.followHeads(), 1)).error).toMatchObject({ field: "trustRoot" });
    const transport = () => Promise.reject(new Error("unused"));
    const deaf = clientOf(["http://127.0.0.1:2"], { transport }).client;
    const { error } = await take(deaf.followHeads(), 1);
    expect(error).toBeInstanceOf(InvalidInput);
    expect(error).toMatchObject({ field: "transport" });
  });
});

describe("a feed that lies", () => {
  const forked = leafHashes(40, "other", 5);
  const wrong = (text: string, from: number, to: number): string =>
    text.replace(`"from_size":${from}`, `"from_size":${to}`);

  test.each([
    ["a head without a quorum", headText(7, 3, { cosigners: 1 }), VerificationError, "quorum_not_met"],
    ["a forged head", headText(7, 3).replace(rootText(7), rootText(6)), VerificationError, "signature_invalid"],
    ["another tree, later", headText(9, 3) + headText(12, 9, { log: forked }), SplitView, "split_view"],
    ["another tree of the same size", headText(8, 3) + headText(8, 3, { log: forked }), SplitView, "split_view"],
    ["a smaller tree", headText(9, 3) + headText(8, 3), Rollback, "rollback"],
    ["a proof from elsewhere", wrong(headText(7, 3), 3, 2), UnexpectedAnswer, "answer_malformed"],
    ["no proof", headText(7, null), UnexpectedAnswer, "answer_malformed"],
    ["no JSON", "event: head\ndata: {\n\n", UnexpectedAnswer, "answer_malformed"],
    ["no head", "event: head\ndata: {}\n\n", UnexpectedAnswer, "answer_malformed"],
  ])("%s", async (_, text, kind, code) => {
    const { error } = await follow([shows(headText(3, null), text)], 9);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code });
  });

  test("an event without an end", async () => {
    const { error } = await follow([shows(`data: ${"x".repeat(300_000)}`)], 1);
    expect(error).toMatchObject({ code: "answer_malformed" });
  });

  test.each([
    [refuses(403, "scope_missing"), Forbidden],
    [refuses(409, "from_size_ahead"), Rollback],
    [refuses(409, "something_else"), Conflict],
  ])("a refusal is thrown, and one to know what was seen is a rollback", async (refusal, kind) => {
    const { error, heads } = await follow([endsAfter(headText(3, null)), refusal], 9);
    expect(heads).toHaveLength(1);
    expect(error).toBeInstanceOf(kind);
  });
});

test("an event stream is read alike, wherever it is cut", async () => {
  const bytes = new TextEncoder().encode(
    "\ufeff:x\r\rdata: a\r\ndata:b\n\nid: 9\nevent: é\rdata\rdata:  c\r\n\r\nevent: none\n\ndata: d",
  );
  for (let at = 1; at < bytes.length; at++) {
    const read: unknown[] = [];
    const pieces = (async function* () {
      await Promise.resolve();
      yield* [bytes.slice(0, at), bytes.slice(at)];
    })();
    for await (const event of eventsIn(pieces)) read.push(event);
    expect(read).toEqual([
      { type: "message", text: "a\nb" },
      { type: "é", text: "\n c" },
    ]);
  }
});
