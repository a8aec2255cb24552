import { afterEach, describe, expect, test } from "@jest/globals";
import { ReadingThread, RefusedError } from "@event-anchoring/api";
import type { ControlPlane, CostlyRead, ReadyToRead } from "@event-anchoring/api";
import { silentLogger } from "./api-harness.ts";

const SETTINGS = {
  nodeId: "node-a",
  logLevel: "error",
  databaseUrl: "postgresql://nowhere",
  pinnedRootThk: null,
} as const;
const READY: ReadyToRead = { readIndex: 7, certificates: [], trustRootVersion: 1, latest: null };

function readOf(search: string): CostlyRead {
  return {
    routeId: "traceEventAnchor",
    call: { requestId: "r", trace: null },
    caller: null,
    isVisit: false,
    pathParameters: {},
    search,
    body: new Uint8Array(0),
    isAsync: false,
    prefersText: false,
    prefersWitnessed: false,
    acceptEncoding: "",
    ifNoneMatch: "",
    state: null,
    remainingMs: 1000,
  };
}

/** What the thread does with a read, by its query. */
const PROGRAM = `
  import { parentPort } from "node:worker_threads";
  let asked = 0;
  const waiting = new Map();
  const made = (id, text) => {
    const body = new TextEncoder().encode(text);
    const answer = { status: 200, headers: {}, mediaType: "t", body };
    parentPort.postMessage({ kind: "made", id, made: { answer, spent: [] } });
  };
  parentPort.on("message", (message) => {
    if (message.kind !== "make") return made(waiting.get(message.id), JSON.stringify(message.ready ?? message.refusal));
    const { id, read } = message;
    if (read.search === "answer") made(id, "pong");
    if (read.search === "refuse") {
      const failure = { problem: { code: "anchor_not_found" }, extension: { a: 1 }, cause: new Error("none") };
      parentPort.postMessage({ kind: "failed", id, ...failure });
    }
    if (read.search === "ask") {
      waiting.set(++asked, id);
      parentPort.postMessage({ kind: "ask", id: asked, question: ["all", 500] });
    }
    if (read.search === "throw") throw new Error("a fault that nobody expected");
    if (read.search === "exit") process.exit(0);
    if (read.search === "fill") for (const held = []; ; ) held.push(new Array(1e6).fill(id));
    if (read.search === "spin") for (;;);
  });
`;

const threads: ReadingThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close();
});

function threadWith(read: ControlPlane["read"] = () => Promise.resolve(READY), stuckMs?: number): ReadingThread {
  const program = new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`);
  const options = { settings: SETTINGS, controlPlane: { read }, logger: silentLogger, program };
  const thread = new ReadingThread(stuckMs === undefined ? options : { ...options, stuckMs });
  threads.push(thread);
  return thread;
}

async function textOf(thread: ReadingThread, search: string): Promise<string> {
  return Buffer.from((await thread.make(readOf(search))).answer.body).toString("utf8");
}

describe("the thread of costly reads", () => {
  test("answers, and fails as its handlers fail", async () => {
    const thread = threadWith();
    expect(await textOf(thread, "answer")).toBe("pong");
    const failure = thread.make(readOf("refuse"));
    await expect(failure).rejects.toMatchObject({ problem: { code: "anchor_not_found" }, extension: { a: 1 } });
    await expect(failure).rejects.toHaveProperty("cause.message", "none");
  });

  test("asks the control plane by the process's own connection", async () => {
    const questions: unknown[] = [];
    const thread = threadWith((...question) => {
      questions.push(question);
      return Promise.resolve(READY);
    });
    expect(JSON.parse(await textOf(thread, "ask"))).toEqual(READY);
    expect(questions).toEqual([["all", 500]]);
  });

  test("hears why the control plane refuses", async () => {
    const thread = threadWith(() => Promise.reject(new RefusedError("halted", "what it found", 1000)));
    const refusal = { code: "halted", detail: "what it found", retryAfterMs: 1000 };
    expect(JSON.parse(await textOf(thread, "ask"))).toEqual(refusal);
  });

  test.each(["throw", "exit", "fill"])(
    "%s: what it had under way is unavailable, and the next read is made",
    async (how) => {
      const thread = threadWith(() => new Promise(() => undefined));
      const waiting = thread.make(readOf("ask"));
      const failing = thread.make(readOf(how));
      for (const read of [waiting, failing]) await expect(read).rejects.toMatchObject({ code: "unavailable" });
      expect(await textOf(thread, "answer")).toBe("pong");
    },
  );

  test("a read that does not end is ended with it", async () => {
    const thread = threadWith(undefined, 100);
    await expect(thread.make({ ...readOf("spin"), remainingMs: 100 })).rejects.toMatchObject({ code: "unavailable" });
    expect(await textOf(thread, "answer")).toBe("pong");
  });

  test("once closed, nothing is made", async () => {
    const thread = threadWith();
    const under = thread.make(readOf("ask"));
    const closed = thread.close();
    await expect(under).rejects.toMatchObject({ code: "unavailable" });
    await closed;
    await expect(thread.make(readOf("answer"))).rejects.toMatchObject({ code: "unavailable" });
  });
});
