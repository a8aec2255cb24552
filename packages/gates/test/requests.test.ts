import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { OpenApiReader } from "@event-anchoring/testkit/openapi";
import { drive } from "../src/requests/drive.ts";
import { RequestSource } from "../src/requests/request-source.ts";
import type { MadeRequest } from "../src/requests/request-source.ts";
import { notLetGo } from "../src/gates/requests.ts";

const DOCUMENT = fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url));
const reader = new OpenApiReader(JSON.parse(readFileSync(DOCUMENT, "utf8")));
const REQUESTS = 600;
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
    for (const seed of [599, 20_001, 7, 0]) expect(again.request(seed)).toEqual(source.request(seed));
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

  const portOf = (): number => (server.address() as AddressInfo).port;

  async function judge(only: (made: MadeRequest) => boolean = () => true): Promise<readonly string[]> {
    const wanted = Array.from({ length: REQUESTS }, (_, seed) => source.request(seed)).filter(only);
    const failures: string[] = [];
    let counted = 0;
    await drive({
      doors: [{ name: "it", port: portOf(), ca: null }],
      connectionsPerDoor: 32,
      request: (seed) => wanted[seed] as MadeRequest,
      from: 0,
      until: wanted.length,
      statusOf: (code) => ({ overloaded: 503, internal_error: 500 })[code],
      isOver: () => false,
      note: (more) => void (counted += more),
      fail: ({ seed, what }) => failures.push(`${seed} ${what}`),
      timeoutMs: 2000,
    });
    expect(counted).toBe(wanted.length);
    return failures;
  }

  test("is good with answers below 500, and 503 with a code for it", async () => {
    expect(await judge()).toEqual([]);
    listener = (_request, response) => void response.writeHead(503).end('{"code":"overloaded"}');
    expect(await judge()).toEqual([]);
    listener = (_request, response) => void response.writeHead(503).end('{"ready":false,"checks":[]}');
    expect(await judge()).toEqual([]);
    expect(await notLetGo([{ name: "it", port: portOf(), ca: null }])).toEqual([]);
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
    const silent = await judge(isGet);
    expect(silent.length).toBeGreaterThan(0);
    for (const failure of silent) expect(failure).toContain("no answer in 2000 ms");
  });

  test("is found when it keeps the sockets of clients that have gone", async () => {
    server.close();
    const { createServer: createTcp } = await import("node:net");
    const leaking = createTcp({ allowHalfOpen: true }, (socket) => {
      held.add(socket);
      socket.on("error", () => {});
      socket.resume();
    });
    await new Promise<void>((resolve) => leaking.listen(0, "127.0.0.1", resolve));
    const door = { name: "it", port: (leaking.address() as AddressInfo).port, ca: null };
    const client = (await import("node:net")).connect(door.port, "127.0.0.1");
    await new Promise((resolve) => client.once("connect", resolve));
    client.end();
    const found = await notLetGo([door], 500);
    for (const socket of held) socket.destroy();
    await new Promise((resolve) => leaking.close(resolve));
    expect(found).toEqual(["it still holds 1 sockets of clients that have gone"]);
  });
});
