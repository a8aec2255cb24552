import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "@jest/globals";
import { HttpConnection } from "../src/clients/http-connection.ts";
import { HttpResponseReader, HttpSyntaxError } from "../src/clients/http-response-reader.ts";

/** The answers that come of a text when it arrives in parts of so many bytes. */
function read(text: string, partBytes: number): { readonly answers: string[]; readonly isLast: boolean } {
  const reader = new HttpResponseReader();
  const bytes = Buffer.from(text);
  const answers: string[] = [];
  for (let at = 0; at < bytes.length; at += partBytes) {
    const answer = reader.push(bytes.subarray(at, at + partBytes));
    if (answer !== null) answers.push(`${answer.status} ${answer.body.toString()}`);
  }
  return { answers, isLast: reader.isLast };
}

const PLAIN = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}';
const EMPTY = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nConnection: close\r\n\r\n";
const CHUNKS =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\nA\r\n:"0123456"\r\n1\r\n}\r\n0\r\n\r\n';

describe("HttpResponseReader", () => {
  test.each([1, 2, 3, 7, 1000])("reads answers that arrive %i bytes at a time", (partBytes) => {
    expect(read(PLAIN, partBytes)).toEqual({ answers: ['201 {"a":1}'], isLast: false });
    expect(read(EMPTY, partBytes)).toEqual({ answers: ["503 "], isLast: true });
    expect(read(CHUNKS, partBytes)).toEqual({ answers: ['200 {"a":"0123456"}'], isLast: false });
  });

  test("reads one answer after another", () => {
    const reader = new HttpResponseReader();
    const statuses = [PLAIN, CHUNKS, EMPTY, PLAIN].map((text) => reader.push(Buffer.from(text))?.status);
    expect(statuses).toEqual([201, 200, 503, 201]);
    expect(reader.isLast).toBe(false);
  });

  test.each([
    ["no status line", "HELLO\r\n\r\n"],
    ["another version", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["no length", "HTTP/1.1 200 OK\r\nx-content-length: 3\r\n\r\nabc"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["more than the length", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n\r\n"],
    ["a chunk longer than its size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"],
    ["a head without an end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(5000)}`],
  ])("refuses %s", (_, text) => {
    expect(() => read(text, 1 << 20)).toThrow(HttpSyntaxError);
  });
});

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
});

/** Hands every request, as text, to `answer`. @returns its address */
async function listen(answer: (request: string, socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", (bytes) => answer(bytes.toString(), socket));
    socket.on("error", () => socket.destroy());
  });
  return `http://${await listenOn(server)}`;
}

/** @returns host and port */
async function listenOn(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const BUILT = fileURLToPath(new URL("../dist/clients/http-connection.js", import.meta.url));

function connectionTo(url: string, timeoutMs = 5000): HttpConnection {
  return new HttpConnection({ url, headers: { authorization: "Bearer key" }, timeoutMs });
}

describe("HttpConnection", () => {
  test("asks again and again over one connection", async () => {
    const requests: string[] = [];
    const url = await listen((request, socket) => {
      requests.push(request);
      socket.write(PLAIN);
    });
    const connection = connectionTo(url);
    expect((await connection.send({ path: "/a", body: "ü" })).status).toBe(201);
    expect((await connection.send({ path: "/b", body: null })).body.toString()).toBe('{"a":1}');
    connection.close();
    expect(sockets).toHaveLength(1);
    const headers = `host: ${new URL(url).host}\r\nauthorization: Bearer key\r\n`;
    expect(requests).toEqual([
      `POST /a HTTP/1.1\r\n${headers}content-length: 2\r\n\r\nü`,
      `GET /b HTTP/1.1\r\n${headers}\r\n`,
    ]);
  });

  test("opens another connection when the server ends one", async () => {
    const connection = connectionTo(await listen((_, socket) => socket.write(EMPTY)));
    expect((await connection.send({ path: "/", body: null })).status).toBe(503);
    expect((await connection.send({ path: "/", body: null })).status).toBe(503);
    connection.close();
    expect(sockets).toHaveLength(2);
  });

  test("says so when no answer comes, and can be used again", async () => {
    let answer = (socket: Socket): unknown => socket.destroy();
    const connection = connectionTo(await listen((_, socket) => answer(socket)));
    const ask = (): Promise<unknown> => connection.send({ path: "/", body: null });
    await expect(ask()).rejects.toThrow("the connection was closed");
    answer = (socket) => socket.write("nonsense\r\n\r\n");
    await expect(ask()).rejects.toThrow(HttpSyntaxError);
    answer = (socket) => socket.write(PLAIN);
    await expect(ask()).resolves.toMatchObject({ status: 201 });
    connection.close();
  });

  test("gives up after silence", async () => {
    const silent = connectionTo(await listen(() => {}), 50);
    await expect(silent.send({ path: "/", body: null })).rejects.toThrow("no answer in 50 ms");
  });

  test("has one request under way at most, and speaks HTTP alone", async () => {
    const connection = connectionTo(await listen(() => {}));
    const first = connection.send({ path: "/", body: null });
    expect(() => connection.send({ path: "/", body: null })).toThrow("has not come yet");
    connection.close();
    await expect(first).rejects.toThrow("closed by the client");
    expect(() => connectionTo("ftp://127.0.0.1:1")).toThrow("neither http nor https");
  });

  test("over TLS, asks a server that it trusts, and no other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-tls-"));
    const [key, certificate] = [join(folder, "key"), join(folder, "crt")];
    const subject = ["-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
    const drawn = [
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      key,
      "-out",
      certificate,
    ];
    expect(spawnSync("openssl", ["req", "-x509", ...drawn, ...subject]).status).toBe(0);
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      socket.on("data", () => socket.write(PLAIN));
    });
    const url = `https://${await listenOn(server)}`;
    // A process reads what it trusts when it starts.
    const program = `import { HttpConnection } from ${JSON.stringify(BUILT)};
      const connection = new HttpConnection({ url: ${JSON.stringify(url)}, headers: {}, timeoutMs: 5000 });
      const answer = await connection.send({ path: "/", body: null }).catch((error) => error);
      console.log(answer.status ?? answer.code);
      connection.close();`;
    const run = promisify(execFile);
    const asked = async (env: NodeJS.ProcessEnv): Promise<string> =>
      (await run(process.execPath, ["--input-type=module", "--eval", program], { env })).stdout.trim();
    expect(await asked({ ...process.env, NODE_EXTRA_CA_CERTS: certificate })).toBe("201");
    expect(await asked({ ...process.env, NODE_EXTRA_CA_CERTS: "" })).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
    rmSync(folder, { recursive: true, force: true });
  });
});
