import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server as TcpServer, Socket } from "node:net";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { OpenApiReader } from "@event-anchoring/testkit/openapi";
import { answersIn } from "../src/requests/answers.ts";
import { drive } from "../src/requests/drive.ts";
import { framingOf } from "../src/requests/framing.ts";
import { notClosed, openFiles } from "../src/requests/open-files.ts";
import type { Door } from "../src/requests/raw-connection.ts";
import { RequestSource } from "../src/requests/request-source.ts";
import type { MadeRequest } from "../src/requests/request-source.ts";
import { notLetGo, plannedAnswers } from "../src/gates/requests.ts";

const DOCUMENT = fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url));
const reader = new OpenApiReader(JSON.parse(readFileSync(DOCUMENT, "utf8")));
/** A block: to every operation. */
const REQUESTS = 1000;
const KEY = "a-key-of-this-test";

function sourceOf(): RequestSource {
  return new RequestSource({ reader, known: new Map(), apiKey: KEY, host: "localhost" });
}

/** To read the document's patterns takes seconds. */
const source = sourceOf();

describe("requests by seed", () => {
  const many = Array.from({ length: REQUESTS }, (_, seed) => source.request(seed));

  test("are the same bytes again, whatever was asked for before", () => {
    const again = sourceOf();
    for (const seed of [999, 20_001, 7, 0]) expect(again.request(seed)).toEqual(source.request(seed));
  });

  test("are nearly all different, over several blocks", () => {
    const from = 50_000;
    const texts = Array.from({ length: 3 * REQUESTS }, (_, at) => source.request(from + at).bytes.toString("latin1"));
    expect(new Set(texts).size / texts.length).toBeGreaterThan(0.97);
  });

  test("say which way a node finds their route", () => {
    const ways = (wanted: string): string[] => {
      const made = many.filter(({ isFramed, bytes }) => isFramed && bytes.toString("latin1").startsWith(wanted));
      return [...new Set(made.map(({ way }) => way))];
    };
    expect(ways("POST /v1/event-anchors HTTP")).toEqual(["by the look-up"]);
    expect(ways("GET /v1/event-anchors/latest?")).toEqual(["by the router"]);
    expect(ways("POST http://localhost/v1/event-anchors HTTP")).toEqual(["by the router"]);
    expect(ways("GET /v1/limits HTTP")).toEqual(["by the look-up"]);
  });

  test("are to every operation, in every way", () => {
    const kinds = many.map(({ kind }) => kind.split(", "));
    const operations = reader.operations.map(({ id }) => id).sort();
    expect([...new Set(kinds.map(([id = ""]) => id))].sort()).toEqual(operations);
    expect(new Set(kinds.map(([, way]) => way))).toEqual(
      new Set(["as generated", "absolute target", "body", "body bytes", "target", "headers", "raw"]),
    );
  });

  test("have one head each, and as many bytes as they say, unless they are raw", () => {
    for (const { isFramed, bytes } of many) {
      if (!isFramed) continue;
      const text = bytes.toString("latin1");
      const end = text.indexOf("\r\n\r\n") + 4;
      expect(text.split("\r\n")[0]).toMatch(/^[A-Z]+ [^ ]+ HTTP\/1\.1$/);
      expect(Number(/\r\ncontent-length: (\d+)\r\n/.exec(text)?.[1] ?? 0)).toBe(bytes.length - end);
    }
  });
});

describe("bytes", () => {
  const post = (length: string, body: string): string => `POST /a HTTP/1.1\r\nhost: b\r\n${length}\r\n${body}`;

  test.each([
    ["GET / HTTP/1.1\r\n\r\n", 1, false],
    ["GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2, false],
    [post("content-length: 2\r\n", "{}"), 1, false],
    [post("content-length: 2\r\n", "{}}"), 1, true],
    [post("content-length: 3\r\n", "{}"), 0, true],
    [post("content-length: 2\r\ncontent-length: 2\r\n", "{}"), 0, true],
    [post("content-length: +2\r\n", "{}"), 0, true],
    [post("transfer-encoding: chunked\r\n", "0\r\n\r\n"), 0, true],
    ["GET / HTTP/1.1\r\nhost: a\r\n", 0, true],
    ["GET /\u00e9 HTTP/1.1\r\n\r\n", 0, true],
    ["GET / HTTP/1.1\r\nho st: a\r\n\r\n", 0, true],
  ])("of a client are told apart: %j", (text, whole, hasRest) => {
    expect(framingOf(Buffer.from(text, "latin1"))).toEqual({ whole, hasRest });
  });

  test("of a server are read answer by answer", () => {
    const one = "HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\n{}";
    const chunked = "HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    const all = answersIn(Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${one}${chunked}HTTP/1.0 400 Bad\r\n\r\nend`));
    expect(all).toEqual({
      answers: [
        { status: 503, text: "{}", isWhole: true, isStream: false },
        { status: 500, text: "x", isWhole: true, isStream: false },
        { status: 400, text: "end", isWhole: false, isStream: false },
      ],
      unreadable: null,
    });
    expect(answersIn(Buffer.from(one.slice(0, -1))).answers).toEqual([
      { status: 503, text: "{", isWhole: false, isStream: false },
    ]);
    expect(answersIn(Buffer.from(`${one}noise`))).toEqual({
      answers: [{ status: 503, text: "{}", isWhole: true, isStream: false }],
      unreadable: "noise",
    });
  });
});

describe("a server that is judged", () => {
  let server: Server;
  let listener: RequestListener;
  const held = new Set<Socket>();

  beforeEach(async () => {
    listener = (_request, response) => void response.end("{}");
    server = createServer((request, response) => listener(request, response));
    const bad = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    server.on("clientError", (_error, socket) => socket.end(bad));
    server.on("connection", (socket: Socket) => held.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterEach(async () => {
    for (const socket of held) socket.destroy();
    held.clear();
    await new Promise((resolve) => server.close(resolve));
  });

  const doorTo = (listening: TcpServer): Door => {
    return { name: "it", port: (listening.address() as AddressInfo).port, ca: null, isNode: true };
  };

  interface Judged {
    readonly failures: readonly string[];
    readonly counted: number;
    readonly figures: Readonly<Record<string, number>>;
  }

  interface Judging {
    readonly listening?: TcpServer;
    /** For servers that say nothing. */
    readonly timeoutMs?: number;
  }

  async function judgeAll(
    wanted: readonly MadeRequest[],
    { listening = server, timeoutMs = 30_000 }: Judging = {},
  ): Promise<Judged> {
    const failures: string[] = [];
    const figures: Record<string, number> = {};
    let counted = 0;
    await drive({
      doors: [doorTo(listening)],
      connectionsPerDoor: 32,
      apiKey: KEY,
      request: (seed) => wanted[seed] as MadeRequest,
      from: 0,
      until: wanted.length,
      statusOf: (code) => ({ overloaded: 503, internal_error: 500 })[code],
      unreadyPaths: new Set(["/readyz"]),
      isOver: () => false,
      note: (more, _seed, given) => {
        counted += more;
        for (const [name, figure] of Object.entries(given)) figures[name] = (figures[name] ?? 0) + figure;
      },
      fail: ({ seed, what }) => failures.push(`${seed} ${what}`),
      timeoutMs,
    });
    return { failures, counted, figures };
  }

  async function judge(
    only: (made: MadeRequest) => boolean = () => true,
    judging: Judging = {},
  ): Promise<readonly string[]> {
    const wanted = Array.from({ length: REQUESTS }, (_, seed) => source.request(seed)).filter(only);
    const { failures, counted } = await judgeAll(wanted, judging);
    expect(counted).toBe(wanted.length);
    return failures;
  }

  const spoiled = (text: string): MadeRequest => {
    return { seed: 0, kind: "getLimits, raw", isFramed: false, bytes: Buffer.from(text), way: "by the router" };
  };
  const GET = "GET /v1/limits HTTP/1.1\r\nhost: a\r\n\r\n";

  /** A server that says this to the first bytes of each connection. */
  /** @param drop said again and again, for ever */
  async function saying(text: string, drop = ""): Promise<TcpServer> {
    const plain = createTcpServer({ allowHalfOpen: true }, (socket) => {
      held.add(socket);
      socket.on("error", () => {});
      socket.once("data", () => void socket.write(text));
      if (drop === "") return;
      const again = setInterval(() => void socket.write(drop), 100);
      socket.once("close", () => clearInterval(again));
    });
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    return plain;
  }

  test("is good with answers below 500, and 503 with a code for it", async () => {
    expect(await judge()).toEqual([]);
    listener = (_request, response) => void response.writeHead(503).end('{"code":"overloaded"}');
    expect(await judge()).toEqual([]);
    expect(await notLetGo([doorTo(server)])).toEqual([]);
  });

  test("may say that it is not ready where it was asked, and nowhere else", async () => {
    listener = (_request, response) => void response.writeHead(503).end('{"ready":false,"checks":[]}');
    const asks = ({ isFramed, bytes }: MadeRequest): boolean => {
      return isFramed && /^GET (?:http:\/\/localhost)?\/readyz[ ?]/.test(bytes.toString("latin1"));
    };
    expect(await judge(asks)).toEqual([]);
    const elsewhere = await judge((made) => made.isFramed && !asks(made));
    expect(elsewhere.length).toBeGreaterThan(100);
    const { statusOf, unreadyPaths } = plannedAnswers(reader);
    expect([[...unreadyPaths], statusOf("overloaded"), statusOf("internal_error")]).toEqual([["/readyz"], 503, 500]);
  });

  test("is waited for, also where the bytes may be no request: a late fault is found", async () => {
    listener = (_request, response) => {
      setTimeout(() => response.writeHead(500).end('{"code":"internal_error"}'), 700);
    };
    const { failures, counted, figures } = await judgeAll([spoiled(GET), spoiled(GET.repeat(2)), spoiled("GET / HT")]);
    expect(failures).toHaveLength(3);
    for (const failure of failures) expect(failure).toContain("500 ");
    expect([counted, figures["spoiled, answered"]]).toEqual([3, 3]);
  });

  test("is judged by each of its answers: a planned one hides no other", async () => {
    const planned = 'HTTP/1.1 503 No\r\ncontent-length: 21\r\n\r\n{"code":"overloaded"}';
    const plain = await saying(`${planned}HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`);
    const { failures } = await judgeAll([spoiled(GET.repeat(2))], { listening: plain });
    const noise = await saying(`${planned}noise`);
    const { failures: ofNoise } = await judgeAll([spoiled(GET.repeat(2))], { listening: noise, timeoutMs: 500 });
    for (const socket of held) socket.destroy();
    for (const one of [plain, noise]) await new Promise((resolve) => one.close(resolve));
    expect(failures.map((failure) => failure.slice(0, 40))).toEqual([expect.stringContaining("500 ")]);
    expect(ofNoise[0]).toContain("no answer of HTTP: noise");
  });

  test("are answered by a stream, which never closes; bytes for ever are no answer", async () => {
    const cut = spoiled(GET + GET.slice(0, -4));
    const stream = await saying("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n:\n\n");
    const found = await judgeAll([cut], { listening: stream, timeoutMs: 60_000 });
    const drips = await saying("HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n", "x");
    const dripping = await judgeAll([cut], { listening: drips, timeoutMs: 1000 });
    for (const socket of held) socket.destroy();
    for (const one of [stream, drips]) await new Promise((resolve) => one.close(resolve));
    expect([found.counted, found.failures]).toEqual([1, []]);
    expect([dripping.counted, dripping.figures]).toEqual([0, { "spoiled, silent": 1 }]);
  });

  test("must answer or close when no more bytes come; what does neither is a failure, and not counted", async () => {
    const cut = spoiled(GET.slice(0, -4));
    const { counted, failures, figures } = await judgeAll([cut]);
    expect([counted, failures, figures["spoiled, answered"]]).toEqual([1, [], 1]);
    const silent = await saying("");
    const found = await judgeAll([cut, spoiled(GET)], { listening: silent, timeoutMs: 1000 });
    for (const socket of held) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
    expect([found.counted, found.figures]).toEqual([0, { "spoiled, silent": 2 }]);
    for (const failure of found.failures) expect(failure).toContain("it neither answers nor closes");
  });

  test("owes an answer to whole requests among such bytes, and may close upon others", async () => {
    listener = (request) => void request.socket.destroy();
    const { failures, figures } = await judgeAll([spoiled(GET), spoiled(GET.slice(0, -4))]);
    expect(failures.map((failure) => failure.slice(0, 80))).toEqual([
      expect.stringContaining("closed without an answer to a whole request"),
    ]);
    expect(figures["spoiled, closed without an answer"]).toBe(1);
  });

  test.each([
    ["500", 500, '{"code":"internal_error"}'],
    ["503 without a code", 503, "no"],
    ["503 with a code of 500", 503, '{"code":"internal_error"}'],
    ["504", 504, '{"code":"overloaded"}'],
  ])("is found with %s for some requests, by seed and without the key", async (_what, status, body) => {
    listener = (request, response) => void response.writeHead(request.method === "POST" ? status : 200).end(body);
    const failures = await judge();
    expect(failures.length).toBeGreaterThan(50);
    for (const failure of failures) expect(failure).toMatch(new RegExp(`^\\d+ it, \\w+, [a-z ]+: .*${status}`));
    expect(failures.join()).not.toContain(KEY);
  });

  test("is found when it closes without an answer, or gives none", async () => {
    const isGet = ({ isFramed, bytes }: MadeRequest): boolean =>
      isFramed && bytes.toString().startsWith("GET /v1/limits");
    listener = (request) => void request.socket.destroy();
    expect((await judge(isGet)).every((failure) => failure.includes("closed") || failure.includes("ECONNRESET"))).toBe(
      true,
    );
    listener = () => {};
    const silent = await judge(isGet, { timeoutMs: 2000 });
    expect(silent.length).toBeGreaterThan(0);
    for (const failure of silent) expect(failure).toContain("no answer in 2000 ms");
  });

  test("is found when it keeps the sockets of clients that have gone", async () => {
    server.close();
    const leaking = createTcpServer({ allowHalfOpen: true }, (socket) => {
      held.add(socket);
      socket.on("error", () => {});
      socket.resume();
    });
    await new Promise<void>((resolve) => leaking.listen(0, "127.0.0.1", resolve));
    const door = doorTo(leaking);
    const client = connect(door.port, "127.0.0.1");
    await new Promise((resolve) => client.once("connect", resolve));
    client.end();
    const found = await notLetGo([door], 500);
    for (const socket of held) socket.destroy();
    await new Promise((resolve) => leaking.close(resolve));
    expect(found).toEqual(["it still holds 1 sockets of clients that have gone"]);
  });
});

test("a process that does not close its files is found, by name", async () => {
  const before = openFiles(process.pid) ?? 0;
  const watched = [{ name: "api of n1", pid: process.pid, before, kept: 10 }];
  const files = Array.from({ length: 40 }, () => openSync(DOCUMENT, "r"));
  const [found] = await notClosed(watched, 200);
  for (const file of files) closeSync(file);
  expect(found).toMatch(/^api of n1 holds \d+ open files; at first \d+, and at most 10 more are kept$/);
  expect(await notClosed(watched, 5000)).toEqual([]);
});
