import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Progress } from "../src/terminal/progress.ts";
import { Service } from "../src/service/service.ts";

let server: Server | null = null;

afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** Answers in turn; the last one is repeated. */
async function serviceOf(...answers: readonly { readonly status: number; readonly body: string }[]) {
  let count = 0;
  const made = createServer((_request, response) => {
    const answer = answers[Math.min(count++, answers.length - 1)];
    response.writeHead(answer?.status ?? 500, { "content-type": "application/json" }).end(answer?.body);
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const reasons: string[] = [];
  const apiUrls = [`http://127.0.0.1:${(made.address() as AddressInfo).port}`];
  const onWait = (reason: string): void => void reasons.push(reason);
  return { service: new Service({ apiUrls, apiKey: null, timeoutMs: 60_000, onWait }), reasons };
}

const BUSY = { status: 503, body: JSON.stringify({ code: "no_leader", detail: "an election is going on" }) };
const GOOD = { status: 200, body: '{"good":true}' };

async function bytesOf(service: Service): Promise<Uint8Array> {
  return (await service.call((client) => client.request({ path: "/", accept: "*/*" }))).body;
}

describe("a question", () => {
  test("is asked again while nobody can answer, and says each time why", async () => {
    const { service, reasons } = await serviceOf(BUSY, { status: 502, body: "<html>" }, GOOD);
    expect((await service.ask({ method: "GET", path: "/" })).body).toEqual({ good: true });
    expect(reasons).toEqual([
      expect.stringContaining("no_leader: an election is going on"),
      expect.stringContaining("status 502"),
    ]);
  });

  test("that is answered, or refused for good, waits for nobody", async () => {
    const { service, reasons } = await serviceOf({ status: 404, body: '{"code":"anchor_not_found"}' });
    expect((await service.ask({ method: "GET", path: "/" })).status).toBe(404);
    await expect(bytesOf(service)).rejects.toMatchObject({ code: "anchor_not_found", exitCode: 3 });
    expect(reasons).toEqual([]);
  });

  test("is put to every node once before any is waited for, also if the first asks to be left alone", async () => {
    const hosts: string[] = [];
    const reasons: string[] = [];
    const made = createServer((request, response) => {
      hosts.push(request.headers.host?.split(":")[0] ?? "");
      const isGood = hosts.length === 4;
      const headers = { "retry-after": hosts.length === 1 ? "60" : "0" };
      response.writeHead(isGood ? 200 : hosts.length === 1 ? 429 : 503, headers).end(isGood ? GOOD.body : BUSY.body);
    });
    server = made;
    await new Promise<void>((resolve) => made.listen(0, "0.0.0.0", resolve));
    const { port } = made.address() as AddressInfo;
    const apiUrls = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map((host) => `http://${host}:${port}`);
    const onWait = (reason: string): void => void reasons.push(reason);
    const service = new Service({ apiUrls, apiKey: null, timeoutMs: 60_000, onWait });
    expect((await service.ask({ path: "/" })).apiUrl).toBe(apiUrls[0]);
    expect(hosts).toEqual(["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.1"]);
    expect(reasons).toHaveLength(1);
  });

  test("for bytes takes any, and for JSON only an object", async () => {
    const { service } = await serviceOf({ status: 200, body: "[1]" });
    expect(Buffer.from(await bytesOf(service)).toString()).toBe("[1]");
    await expect(service.askOnce({ method: "GET", path: "/" })).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("progress", () => {
  const written = (isTTY: boolean): { readonly progress: Progress; readonly texts: string[] } => {
    const texts: string[] = [];
    return { progress: new Progress({ isTTY, write: (text) => void texts.push(text) }), texts };
  };

  test("is silent in the first second, but for what cannot say how far it is", () => {
    const { progress, texts } = written(true);
    progress.say("early");
    progress.end();
    progress.line("judging 20000 leaves");
    expect(texts).toEqual(["judging 20000 leaves\n"]);
  });
});
