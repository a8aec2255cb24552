/** Servers that do what they like with a connection: each call ends in time, in one error of ours, without the key. */
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "@jest/globals";
import { AnchoringError, Client } from "../src/index.ts";
import type { ClientOptions } from "../src/index.ts";
import { ORIGIN } from "./fake-transport.ts";
import { exampleOf } from "./openapi-examples.ts";

const ID = "1b".repeat(32);
const KEY = "ea_the-key-of-this-test";
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
type Behaviour = (socket: Socket) => void;

const servers: Server[] = [];
const open = new Set<Socket>();
afterAll(() => {
  servers.forEach((server) => server.close());
  open.forEach((socket) => socket.destroy());
});

/** A server that behaves once it was asked, and keeps what it was asked. */
async function serve(behave: Behaviour): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", (asked) => {
      seen.push(asked.toString("latin1"));
      behave(socket);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const once =
  (sent: string | Uint8Array): Behaviour =>
  (socket) =>
    socket.end(sent);

const withBody = (body: string, head = HEAD): string =>
  `${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;

/** Always a little more, so that no single read takes long. */
const withoutEnd =
  (first: string, part: string, pauseMs = 10): Behaviour =>
  (socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(part), pauseMs);
    socket.on("close", () => clearInterval(timer));
  };

function clientOf(url: string, options: Partial<ClientOptions> = {}): Client {
  return new Client({ endpoint: url, apiKey: KEY, originFingerprint: ORIGIN, retry: { attemptsMax: 1 }, ...options });
}

/** What a read and a write come to, and all that a log would show of it. */
async function errorsOf(client: Client): Promise<readonly string[]> {
  const calls = [() => client.getAnchor(ID), () => client.createEventAnchor(ID)];
  const names: string[] = [];
  for (const call of calls) {
    const error: unknown = await call().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(AnchoringError);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(KEY);
    names.push((error as AnchoringError).name);
  }
  return names;
}

describe("what has no end ends in time", () => {
  test.each([
    ["nothing", () => undefined],
    ["a status line without end", withoutEnd("HTTP/1.1 200 O", "K")],
    ["headers without end", withoutEnd(HEAD, "x: y\r\n")],
    ["hints without end", withoutEnd("", "HTTP/1.1 103 Early Hints\r\n\r\n")],
    ["a body byte by byte", withoutEnd(`${HEAD}content-length: 99999\r\n\r\n`, " ")],
    ["chunks without end", withoutEnd(`${HEAD}transfer-encoding: chunked\r\n\r\n`, "1\r\n \r\n")],
  ] as [string, Behaviour][])("%s", async (_, behave) => {
    const { url, seen } = await serve(behave);
    const names = await errorsOf(clientOf(url, { timeoutMs: 300 }));
    // Whoever floods with hints is cut off before that.
    expect([
      ["TimedOut", "OutcomeUnknown"],
      ["ConnectionFailed", "OutcomeUnknown"],
    ]).toContainEqual(names);
    expect(seen[0]).toContain(KEY);
  });
});

describe("what breaks is a lost connection", () => {
  test.each([
    ["hung up", once("")],
    ["no HTTP", once("SSH-2.0-OpenSSH_9.6\r\n")],
    ["cut off", once(`${HEAD}content-length: 500\r\n\r\n{`)],
    ["two lengths", once(`${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`)],
    ["a length that is none", once(`${HEAD}content-length: -1\r\n\r\n{}`)],
    ["a chunk that is none", once(`${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{}`)],
    ["a header of a megabyte", once(`${HEAD}x: ${"y".repeat(1_000_000)}\r\n\r\n`)],
    ["gzip that is none", once(`${HEAD}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}`)],
  ])("%s", async (_, behave) => {
    const { url } = await serve(behave);
    expect(await errorsOf(clientOf(url))).toEqual(["ConnectionFailed", "OutcomeUnknown"]);
  });
});

describe("what is not of the API", () => {
  test.each([
    ["truncated JSON", withBody('{"status":"ok","node')],
    ["another type", withBody('{"anchor":7}')],
    ["a page", withBody("<html>hello</html>", HEAD.replace("application/json", "text/html"))],
    ["not UTF-8", Buffer.from(withBody("  {}").replace("  {}", "\xff\xfe{}"), "latin1")],
    ["NaN", withBody('{"status":NaN}')],
    ["deep", withBody("[".repeat(200_000))],
  ])("%s", async (_, sent) => {
    const { url } = await serve(once(sent));
    expect(await errorsOf(clientOf(url))).toEqual(["UnexpectedAnswer", "OutcomeUnknown"]);
  });

  test.each(["content-length: 209715200", "transfer-encoding: chunked"])(
    "200 MB, %s",
    async (header) => {
      const part = " ".repeat(4 * 1024 * 1024);
      const chunk = header.includes("chunked") ? `${part.length.toString(16)}\r\n${part}\r\n` : part;
      const flood: Behaviour = (socket) => {
        socket.write(`${HEAD}${header}\r\n\r\n`);
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.on("drain", more);
        more();
      };
      const { url, seen } = await serve(flood);
      const client = clientOf(url, { retry: { attemptsMax: 5 } });
      await expect(client.getAnchor(ID)).rejects.toMatchObject({ code: "answer_malformed" });
      await expect(client.createEventAnchor(ID)).rejects.toMatchObject({ code: "outcome_unknown" });
      expect(seen).toHaveLength(2);
    },
    60_000,
  );
});

describe("the API key", () => {
  test.each([301, 302, 303, 307, 308])("is taken nowhere by a redirect (%d)", async (status) => {
    const elsewhere = await serve(once(withBody(JSON.stringify(exampleOf("GET /healthz", 200)))));
    const head = `HTTP/1.1 ${status} Go\r\nlocation: ${elsewhere.url}/v1\r\nconnection: close\r\n`;
    const { url, seen } = await serve(once(withBody("", head)));
    expect(await errorsOf(clientOf(url))).toEqual(["UnexpectedAnswer", "UnexpectedAnswer"]);
    expect(seen.map((asked) => asked.includes(KEY))).toEqual([true, true]);
    expect(elsewhere.seen).toEqual([]);
  });

  test("is not repeated if it is echoed", async () => {
    const said = `you sent Bearer ${KEY}\u001b[2J${"x".repeat(5000)}`;
    const problem = { code: "invalid_request", title: said, detail: said, errors: [{ detail: said }], [KEY]: said };
    const head = HEAD.replace("200 OK", "400 Bad");
    const { url } = await serve(once(withBody(JSON.stringify(problem), head)));
    expect(await errorsOf(clientOf(url))).toEqual(["ApiProblem", "ApiProblem"]);
    const error = (await clientOf(url)
      .getAnchor(ID)
      .catch((reason: unknown) => reason)) as AnchoringError;
    expect(error.message).toContain("<API_KEY>");
    expect(error.message).not.toContain("\u001b");
    expect(error.message.length).toBeLessThanOrEqual(1000);
  });

  test("is not sent where none is needed, and calls that need one say so", async () => {
    const { url, seen } = await serve(once(withBody(JSON.stringify(exampleOf("GET /v1/limits", 200)))));
    await clientOf(url).limits();
    expect(seen[0]).not.toContain(KEY);
    const keyless = new Client({ endpoint: url });
    await expect(keyless.getAnchor(ID)).rejects.toMatchObject({ code: "invalid_input", field: "apiKey" });
    expect(seen).toHaveLength(1);
  });
});
