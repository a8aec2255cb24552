import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LOCAL_WINDOW,
  LocalResponseReader,
  type LocalRequest,
  type LocalResponse,
  encodeLocalRequest,
  joinFrames,
} from "@event-anchoring/control-contract";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { LocalLink } from "../src/local/local-link.ts";
import { systemEnvironment } from "../src/process/system-environment.ts";
import { quietLogger } from "./doubles.ts";

const { clock } = systemEnvironment("error", "n1");

let folder: string;
let path: string;
let link: LocalLink;
let pending: { request: LocalRequest; respond: (response: LocalResponse) => void }[];
const sockets: Socket[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "link-"));
  path = join(folder, "control.sock");
  pending = [];
  link = new LocalLink({
    path,
    mode: 0o600,
    handle: (request, respond) => pending.push({ request, respond }),
    logger: quietLogger,
    clock,
  });
  await link.listen();
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await link.close();
  rmSync(folder, { recursive: true });
});

const metrics = (requestId: number): Uint8Array => encodeLocalRequest({ type: "metrics", requestId });
const read = (requestId: number): Uint8Array =>
  encodeLocalRequest({ type: "read", requestId, remainingMs: 1000, origins: "none" });
const text = (requestId: number): LocalResponse => ({ type: "metrics", requestId, text: `${requestId}` });

/** A client that collects what it is answered. */
async function client(): Promise<{ socket: Socket; answers: LocalResponse[]; ended: Promise<void> }> {
  const socket = connect(path);
  sockets.push(socket);
  const answers: LocalResponse[] = [];
  const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
  const reader = new LocalResponseReader();
  socket.on("data", (chunk: Buffer) => {
    for (const body of splitter.push(chunk)) {
      const response = reader.read(body);
      if (response !== null) answers.push(response);
    }
  });
  socket.on("error", () => {});
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return { socket, answers, ended };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe("the local link", () => {
  test("hands over requests however they are cut, and answers them in any order", async () => {
    const { socket, answers } = await client();
    for (const byte of joinFrames([metrics(1), metrics(2)])) socket.write(Uint8Array.of(byte));
    await until(() => pending.length === 2);
    pending[1]?.respond(text(2));
    pending[0]?.respond(text(1));
    await until(() => answers.length === 2);
    expect(answers).toEqual([text(2), text(1)]);
  });

  test("keeps connections apart", async () => {
    const left = await client();
    const right = await client();
    left.socket.write(joinFrames([metrics(7)]));
    await until(() => pending.length === 1);
    right.socket.write(joinFrames([metrics(7)]));
    await until(() => pending.length === 2);
    pending[1]?.respond(text(7));
    await until(() => right.answers.length === 1);
    expect(left.answers).toEqual([]);
  });

  test("refuses what goes beyond the window, and takes more once something is answered", async () => {
    const { socket, answers } = await client();
    const requests = Array.from({ length: LOCAL_WINDOW + 1 }, (_unused, at) => metrics(at));
    socket.write(joinFrames(requests));
    await until(() => answers.length === 1);
    expect(answers[0]).toMatchObject({ type: "refused", requestId: LOCAL_WINDOW, code: "overloaded" });
    expect(pending).toHaveLength(LOCAL_WINDOW);
    pending[0]?.respond(text(0));
    await until(() => answers.length === 2);
    socket.write(joinFrames([metrics(5000)]));
    await until(() => pending.length === LOCAL_WINDOW + 1);
    expect(pending.at(-1)?.request.requestId).toBe(5000);
  });

  test.each<[string, Uint8Array]>([
    ["garbage in a frame", joinFrames([Uint8Array.of(250, 1, 2, 3)])],
    ["an empty frame", Uint8Array.of(0, 0, 0, 0)],
    ["a truncated request", joinFrames([metrics(1).subarray(0, 3)])],
    ["a request with bytes after it", joinFrames([Uint8Array.of(...metrics(1), 0)])],
    ["a frame longer than any request", Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
  ])("cuts off a connection that sends %s, and no other", async (_what, bytes) => {
    const good = await client();
    const bad = await client();
    bad.socket.write(bytes);
    await bad.ended;
    expect(pending).toEqual([]);
    good.socket.write(joinFrames([metrics(3)]));
    await until(() => pending.length === 1);
    pending[0]?.respond(text(3));
    await until(() => good.answers.length === 1);
  });

  test("sends a certificate once on each connection, before the first answer that names it", async () => {
    const certificate = {
      originFingerprint: toOriginFingerprint(new Uint8Array(32).fill(1)),
      treeSize: 3,
      rootHash: new Uint8Array(32),
      certifiedAtS: 1,
      checkpoint: "checkpoint",
      trustRootVersion: 1,
    };
    const ready = (requestId: number): LocalResponse => {
      return {
        type: "ready_to_read",
        requestId,
        readIndex: 1,
        certificates: [certificate],
        trustRootVersion: 1,
        latest: null,
      };
    };
    const before = [await client(), await client()];
    for (const { socket, answers } of before) {
      socket.write(joinFrames([read(1), read(2)]));
      await until(() => pending.length === 2);
      for (const { request, respond } of pending.splice(0)) respond(ready(request.requestId));
      await until(() => answers.length === 2);
      expect(answers).toEqual([ready(1), ready(2)]);
    }
  });

  test("drops the answer to whoever has gone", async () => {
    const { socket, ended } = await client();
    socket.write(joinFrames([metrics(1)]));
    await until(() => pending.length === 1);
    socket.destroy();
    await ended;
    expect(() => pending[0]?.respond(text(1))).not.toThrow();
  });

  test("is for its owner alone", () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("takes over what a killed process left behind", async () => {
    const stale = join(folder, "stale.sock");
    writeFileSync(stale, "");
    const second = new LocalLink({ path: stale, mode: 0o600, handle: () => {}, logger: quietLogger, clock });
    await second.listen();
    expect(statSync(stale).isSocket()).toBe(true);
    await second.close();
  });

  test("leaves alone a socket that somebody serves", async () => {
    const second = new LocalLink({ path, mode: 0o600, handle: () => {}, logger: quietLogger, clock });
    await expect(second.listen()).rejects.toThrow("another process serves");
    const { socket } = await client();
    socket.write(joinFrames([metrics(1)]));
    await until(() => pending.length === 1);
    expect(pending).toHaveLength(1);
  });

  describe("before its end", () => {
    const LONG = { serveMs: 60_000, answerMs: 60_000 };

    test("serves as before, until nobody is connected", async () => {
      const { socket, answers } = await client();
      const drained = link.drain(LONG);
      socket.write(joinFrames([read(1)]));
      await until(() => pending.length === 1);
      pending[0]?.respond(text(1));
      await until(() => answers.length === 1);
      expect(answers).toHaveLength(1);
      socket.end();
      await expect(drained).resolves.toBeUndefined();
    });

    test("has nothing to wait for when nobody is", async () => {
      await expect(link.drain(LONG)).resolves.toBeUndefined();
    });

    test("takes nothing new when its time is over, and waits for what it took", async () => {
      const { socket, answers } = await client();
      socket.write(joinFrames([read(1)]));
      await until(() => pending.length === 1);
      const drained = link.drain({ ...LONG, serveMs: 1 });
      while (answers.length === 0) {
        socket.write(joinFrames([read(2)]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(answers[0]).toMatchObject({ type: "refused", requestId: 2, code: "unavailable" });
      // The state of the node can be asked for to the last.
      const taken = pending.length;
      socket.write(joinFrames([metrics(3)]));
      await until(() => pending.length === taken + 1);
      for (const { request, respond } of pending) respond(text(request.requestId));
      await drained;
    });

    test("does not wait for ever", async () => {
      const { socket } = await client();
      socket.write(joinFrames([read(1)]));
      await until(() => pending.length === 1);
      await link.drain({ serveMs: 1, answerMs: 1 });
      expect(pending).toHaveLength(1);
    });
  });
});
