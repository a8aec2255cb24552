import { createServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { TransportFailure, fetchTransport } from "../src/index.ts";
import type { TransportRequest } from "../src/index.ts";

/** What comes of a request over real sockets. */
describe("fetch", () => {
  const servers: Server[] = [];
  const open = new Set<Socket>();
  let [web, rude, silent, gone] = ["", "", "", ""];

  const listen = (server: Server): Promise<string> =>
    new Promise((resolve) => {
      servers.push(server);
      server.on("connection", (socket: Socket) => open.add(socket));
      server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    });

  beforeAll(async () => {
    web = await listen(
      createServer((request, response) => {
        response.statusCode = request.url === "/elsewhere" ? 302 : 200;
        response.setHeader("location", "/");
        response.setHeader("x-asked-by", String(request.headers["x-request-id"]));
        request.pipe(response);
      }),
    );
    rude = await listen(createTcpServer((socket) => socket.once("data", () => socket.destroy())));
    silent = await listen(createTcpServer(() => undefined));
    gone = await listen(createTcpServer());
    servers.pop()?.close();
  });
  afterAll(() => {
    servers.forEach((server) => server.close());
    open.forEach((socket) => socket.destroy());
  });

  const ask = (url: string, options: Partial<TransportRequest> = {}) =>
    fetchTransport()({
      method: "POST",
      url,
      headers: { "x-request-id": "r1" },
      body: '{"a":"é"}',
      timeoutMs: 5000,
      signal: null,
      ...options,
    });

  const failureOf = async (call: Promise<unknown>): Promise<TransportFailure> => {
    const failure: unknown = await call.then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(TransportFailure);
    return failure as TransportFailure;
  };

  test("a request and its answer", async () => {
    const answer = await ask(web);
    expect(answer.status).toBe(200);
    expect(answer.headers["x-asked-by"]).toBe("r1");
    expect(new TextDecoder().decode(answer.body)).toBe('{"a":"é"}');
  });

  test("a redirect is not followed", async () => {
    expect((await ask(`${web}/elsewhere`)).status).toBe(302);
  });

  test("without a listener, or without an address, it did not leave", async () => {
    for (const url of [gone, "http://no-such-host.invalid"]) {
      expect(await failureOf(ask(url))).toMatchObject({ kind: "unreachable", wasSent: false });
    }
  });

  test("a connection that is cut may have had an effect", async () => {
    expect(await failureOf(ask(rude))).toMatchObject({ kind: "lost", wasSent: true });
  });

  test("no answer in time may have had an effect", async () => {
    expect(await failureOf(ask(silent, { timeoutMs: 50 }))).toMatchObject({ kind: "timeout", wasSent: true });
  });

  test("the caller may stop, before and while it is under way", async () => {
    const controller = new AbortController();
    const call = failureOf(ask(silent, { signal: controller.signal }));
    controller.abort();
    expect(await call).toMatchObject({ kind: "cancelled", wasSent: true });
    const late = failureOf(ask(silent, { signal: controller.signal }));
    expect(await late).toMatchObject({ kind: "cancelled", wasSent: false });
  });
});
