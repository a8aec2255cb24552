import { afterEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LOCAL_WINDOW,
  LocalResponseWriter,
  decodeLocalRequest,
  joinFrames,
} from "@event-anchoring/control-contract";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import { ControlPlaneClient, RefusedError, StoppedNode } from "@event-anchoring/api";
import { silentLogger } from "./api-harness.ts";

/** The other end of the local link: keeps what it was asked, answers when told. */
class FakeControlPlane {
  readonly requests: LocalRequest[] = [];
  /** How many requests each chunk read from the socket held. */
  readonly chunks: number[] = [];
  connections = 0;
  answer: ((request: LocalRequest) => LocalResponse | null) | null = null;
  #socket: Socket | null = null;
  #writer = new LocalResponseWriter();
  readonly #server: Server;
  readonly #waiting: { count: number; resolve: () => void }[] = [];

  constructor(path: string) {
    this.#server = createServer((socket) => this.#accept(socket)).listen(path);
  }

  #accept(socket: Socket): void {
    this.#socket = socket;
    this.#writer = new LocalResponseWriter();
    this.connections += 1;
    const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      const requests = splitter.push(chunk).map(decodeLocalRequest);
      this.chunks.push(requests.length);
      for (const request of requests) this.#take(request);
    });
  }

  #take(request: LocalRequest): void {
    this.requests.push(request);
    const response = this.answer?.(request) ?? null;
    if (response !== null) this.send(response);
    for (const waiting of this.#waiting) if (this.requests.length >= waiting.count) waiting.resolve();
  }

  /** Resolves when so many requests have arrived. */
  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
    });
  }

  send(response: LocalResponse): void {
    this.sendBytes(joinFrames(this.#writer.bodiesOf(response)));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket?.write(bytes);
  }

  drop(): void {
    this.#socket?.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function socketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-api-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return join(folder, "control.sock");
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function startClient(path: string): ControlPlaneClient {
  const client = new ControlPlaneClient({ socketPath: path, logger: silentLogger });
  cleanups.push(() => client.close());
  client.start();
  return client;
}

async function connected(): Promise<{ server: FakeControlPlane; client: ControlPlaneClient; path: string }> {
  const path = socketPath();
  const server = new FakeControlPlane(path);
  cleanups.push(() => server.close());
  const client = startClient(path);
  await until(() => client.isConnected);
  return { server, client, path };
}

const ready = (request: LocalRequest): LocalResponse => ({
  type: "ready_to_read",
  requestId: request.requestId,
  readIndex: request.requestId + 100,
  certificates: [],
  trustRootVersion: 1,
  latest: null,
});

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof RefusedError)) throw new Error(`not refused: ${String(error)}`);
  return error.code;
}

const u32 = (value: number): readonly number[] => [0, 0, 0, value];
const u64 = (value: number): readonly number[] => [0, 0, 0, 0, ...u32(value)];

const WRITE = { kind: "mark_certify_point" } as const;
const PATIENT = { remainingMs: 5000, answer: "certified", call: { requestId: "r-1", trace: null } } as const;

describe("the local link", () => {
  test("to a control plane that has left word why it ended refuses with that, until one connects again", async () => {
    const path = socketPath();
    const stoppedFile = join(dirname(path), "stopped.json");
    const clock = { wallMs: () => 0, monotonicMs: () => (at += 300) };
    let at = 0;
    const { reason } = new StoppedNode(dirname(path), clock);
    const client = new ControlPlaneClient({ socketPath: path, logger: silentLogger, stoppedReason: reason });
    cleanups.push(() => client.close());
    client.start();
    const codes: string[] = [];
    for (const left of [
      null,
      '{"reason":"halted","check":"diverged","detail":"x","code":79}',
      '{"reason":"fenced","check":"peer_remembers_more"}',
      '{"reason":"fen',
      '{"reason":"bored"}',
      "[]",
    ]) {
      if (left !== null) writeFileSync(stoppedFile, left);
      codes.push(await refusalOf(client.read("none", 5000)), await refusalOf(client.submit(WRITE, PATIENT)));
    }
    const [none, halted, fenced, torn, other, list] = [
      "unavailable",
      "halted",
      "fenced",
      ...Array(3).fill("unavailable"),
    ];
    expect(codes).toEqual([none, halted, fenced, torn, other, list].flatMap((code) => [code, code]));
    writeFileSync(stoppedFile, '{"reason":"halted"}');
    const server = new FakeControlPlane(path);
    server.answer = ready;
    cleanups.push(() => server.close());
    await until(() => client.isConnected);
    expect((await client.read("none", 5000)).trustRootVersion).toBe(1);
  });

  test("answers find who asked, in whatever order they come", async () => {
    const { server, client } = await connected();
    const asked = [client.read("none", 5000), client.read("all", 5000), client.read("none", 5000)];
    await server.received(3);
    for (const request of server.requests.toReversed()) server.send(ready(request));
    const indexes = (await Promise.all(asked)).map((answer) => answer.readIndex);
    expect(indexes).toEqual(server.requests.map((request) => request.requestId + 100));
  });

  test("all requests of one turn of the event loop are one write", async () => {
    const { server, client } = await connected();
    server.answer = ready;
    await Promise.all(Array.from({ length: 50 }, () => client.read("none", 5000)));
    expect(server.chunks).toEqual([50]);
  });

  test("a refusal arrives with its code and hint", async () => {
    const { server, client } = await connected();
    server.answer = ({ requestId }) => ({
      type: "refused",
      requestId,
      code: "no_leader",
      detail: "election",
      retryAfterMs: 300,
    });
    await expect(client.submit(WRITE, { ...PATIENT, remainingMs: 1000 })).rejects.toMatchObject({
      code: "no_leader",
      retryAfterMs: 300,
    });
  });

  test("when it is lost, writes in flight are outcome_unknown and reads unavailable, at once", async () => {
    const { server, client } = await connected();
    const write = refusalOf(client.submit(WRITE, { ...PATIENT, remainingMs: 30_000 }));
    const read = refusalOf(client.read("all", 30_000));
    await server.received(2);
    server.drop();
    expect(await Promise.all([write, read])).toEqual(["outcome_unknown", "unavailable"]);
    expect(client.outstanding).toBe(0);
  });

  test("it comes back by itself, and old answers reach nobody", async () => {
    const { server, client } = await connected();
    const lost = refusalOf(client.read("none", 30_000));
    await server.received(1);
    server.drop();
    await lost;
    await until(() => client.isConnected);
    const again = client.read("none", 5000);
    await server.received(2);
    const [first, second] = server.requests;
    if (first === undefined || second === undefined) throw new Error("two requests were made");
    server.send(ready(first));
    server.send(ready(second));
    expect((await again).readIndex).toBe(second.requestId + 100);
    expect(server.connections).toBe(2);
  });

  test("without a connection nothing is sent and everything is unavailable", async () => {
    const client = startClient(socketPath());
    expect(await refusalOf(client.submit(WRITE, { ...PATIENT, remainingMs: 1000 }))).toBe("unavailable");
    expect(await refusalOf(client.status(1000))).toBe("unavailable");
  });

  test("it starts before its control plane and finds it later", async () => {
    const path = socketPath();
    const client = startClient(path);
    const server = new FakeControlPlane(path);
    cleanups.push(() => server.close());
    await until(() => client.isConnected);
    server.answer = ready;
    expect((await client.read("none", 1000)).trustRootVersion).toBe(1);
  });

  test("no answer in time: a write is outcome_unknown, a read deadline_exceeded; a late one is dropped", async () => {
    const { server, client } = await connected();
    const write = refusalOf(client.submit(WRITE, { ...PATIENT, remainingMs: 20 }));
    const read = refusalOf(client.read("none", 20));
    expect(await Promise.all([write, read])).toEqual(["outcome_unknown", "deadline_exceeded"]);
    for (const request of server.requests) server.send(ready(request));
    server.answer = ready;
    expect((await client.read("none", 1000)).trustRootVersion).toBe(1);
  });

  test("no time left: refused without being sent", async () => {
    const { server, client } = await connected();
    expect(await refusalOf(client.read("none", 0))).toBe("deadline_exceeded");
    expect(server.requests).toHaveLength(0);
  });

  test("the window holds 1,024; the next is overloaded, and there is room again after an answer", async () => {
    const { server, client } = await connected();
    const waiting = Array.from({ length: LOCAL_WINDOW }, () => client.read("none", 30_000));
    const settled = Promise.allSettled(waiting);
    expect(await refusalOf(client.read("none", 30_000))).toBe("overloaded");
    await server.received(LOCAL_WINDOW);
    const [first] = server.requests;
    if (first === undefined) throw new Error("no request");
    server.send(ready(first));
    await waiting[0];
    const next = client.read("none", 30_000);
    await server.received(LOCAL_WINDOW + 1);
    for (const request of server.requests.slice(1)) server.send(ready(request));
    expect((await next).trustRootVersion).toBe(1);
    expect((await settled).every(({ status }) => status === "fulfilled")).toBe(true);
  });

  test.each([
    ["a frame beyond the limit", Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
    ["an empty frame", Uint8Array.of(0, 0, 0, 0)],
    ["a frame that is no response", Uint8Array.of(0, 0, 0, 5, 99, 0, 0, 0, 1)],
    ["half a certificate", Uint8Array.of(0, 0, 0, 5, 7, 0, 0, 0, 1)],
    [
      "an answer under a certificate that never came",
      joinFrames([Uint8Array.of(2, ...u32(1), ...u64(5), ...u32(1), 0, 1, ...u64(1))]),
    ],
  ])("%s ends the connection: nothing after it can be believed", async (_what, bytes) => {
    const { server, client } = await connected();
    const read = refusalOf(client.read("none", 30_000));
    await server.received(1);
    server.sendBytes(bytes);
    expect(await read).toBe("unavailable");
    await until(() => server.connections === 2);
  });

  test("closing answers who waits and does not come back", async () => {
    const { server, client } = await connected();
    const write = refusalOf(client.submit(WRITE, { ...PATIENT, remainingMs: 30_000 }));
    await server.received(1);
    client.close();
    expect(await write).toBe("outcome_unknown");
    expect(await refusalOf(client.status(1000))).toBe("unavailable");
  });
});
