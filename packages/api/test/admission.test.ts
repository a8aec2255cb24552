import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Admission, RateLimiter, RefusedError, costOf } from "@event-anchoring/api";
import type { Caller, Work } from "@event-anchoring/api";
import { FakeClock, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { HeldReads, turns } from "./held-reads.ts";
import { claimAbout, postClaim, signedEvent } from "./records.ts";
import type { Service } from "./records.ts";

const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);
const MIB = 1024 * 1024;

const COSTLY = [
  ["GET", `/v1/event-anchors/${hex(9)}/trace`, undefined],
  ["POST", "/v1/event-anchors:batchVerify", { anchors: [{ anchor_id: hex(9) }] }],
  ["POST", "/v1/grant-anchors:verify", { anchor_id: hex(9) }],
] as const;

describe("costly reads", () => {
  async function withTwo(run: (own: Harness) => Promise<void>): Promise<void> {
    const gate = new HeldReads();
    const own = await startHarness({ controlPlane: gate.controlPlane });
    const [method, path, body] = COSTLY[0];
    const held = [0, 1].map(() => own.send(method, path, body));
    await turns(() => gate.waiting === 2);
    try {
      await run(own);
    } finally {
      gate.open();
      expect((await Promise.all(held)).map(({ status }) => status)).toEqual([404, 404]);
      // There is room again.
      expect((await own.send(method, path, body)).status).toBe(404);
      await own.close();
    }
  }

  test.each(COSTLY)("beyond two: %s %s is overloaded at once; what is small goes on", async (method, path, body) => {
    await withTwo(async (own) => {
      const { status, json, headers } = await own.send(method, path, body);
      expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"]);
      const small = await own.send("GET", "/v1/event-anchors/latest");
      expect([small.status, small.json.code]).toEqual([404, "no_anchor_yet"]);
      expect((await own.send("GET", "/readyz", undefined, {})).status).toBe(200);
    });
  });

  test("a gateway that asks for it can tell overloaded from everything else that is 503", async () => {
    await withTwo(async (own) => {
      const key = { authorization: `Bearer ${own.key}` };
      const told = async (wanted: string): Promise<string> => {
        const { headers, port } = { headers: { ...key, "x-overloaded-as": wanted }, port: own.port };
        const answer = await fetch(`http://127.0.0.1:${port}${COSTLY[0][1]}`, { headers });
        return `${answer.status} ${((await answer.json()) as { code: string }).code}`;
      };
      expect(await told("529")).toBe("529 overloaded");
      expect(await told("200")).toBe("503 overloaded");
      own.node.refusal = new RefusedError("no_leader", "an election");
      const other = await fetch(`http://127.0.0.1:${own.port}/v1/event-anchors/latest`, {
        headers: { ...key, "x-overloaded-as": "529" },
      });
      own.node.refusal = null;
      expect(other.status).toBe(503);
    });
  });
});

/** A response as far as bytes are counted. */
class FakeResponse extends EventEmitter {
  closed = false;
  destroyed = false;
  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

function callerNamed(name: number): Caller {
  const credential = { apiClientId: new Uint8Array(16).fill(name), keyId: new Uint8Array(16).fill(name) };
  return { credential, scopes: ["read"], isAdmin: false };
}

describe("bytes under way", () => {
  const send = (admission: Admission, name: number, bytes: number): FakeResponse => {
    const response = new FakeResponse();
    admission.count(response as unknown as ServerResponse, callerNamed(name), bytes);
    return response;
  };
  const isRefused = (admission: Admission, name: number): boolean => {
    try {
      admission.assertRoom(callerNamed(name));
      return false;
    } catch (error) {
      return error instanceof RefusedError && error.code === "overloaded";
    }
  };

  test("are bounded for one key, and in all, until they are taken", () => {
    const admission = new Admission();
    const first = send(admission, 1, 32 * MIB);
    expect([isRefused(admission, 1), isRefused(admission, 2)]).toEqual([true, false]);
    const second = send(admission, 2, 32 * MIB);
    expect([1, 2, 3].map((name) => isRefused(admission, name))).toEqual([true, true, true]);
    first.close();
    expect([1, 2, 3].map((name) => isRefused(admission, name))).toEqual([false, true, false]);
    second.close();
    second.close();
    expect([1, 2, 3].map((name) => isRefused(admission, name))).toEqual([false, false, false]);
  });

  test("of a response that has gone already do not count", () => {
    const admission = new Admission();
    const gone = new FakeResponse();
    gone.close();
    admission.count(gone as unknown as ServerResponse, callerNamed(1), 100 * MIB);
    expect(isRefused(admission, 1)).toBe(false);
  });

  test("large bodies that do not come to their end leave no room for more of the same key", async () => {
    const own = await startHarness();
    const half = `{"anchors":[${" ".repeat(2 * MIB - 100)}`;
    const head =
      `POST /v1/event-anchors:batchVerify HTTP/1.1\r\nHost: x\r\nX-API-Key: ${own.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${half.length + 50}\r\n\r\n`;
    const held = Array.from({ length: 20 }, () => own.hold(head + half));
    const answers = held.map(async (socket) => String((await once(socket, "data"))[0]));
    expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 [^]*"code":"overloaded"/);
    const other = { "x-api-key": own.keyWith("other", ["read"]) };
    const body = { anchors: [{ anchor_id: hex(9) }] };
    expect((await own.send("POST", "/v1/event-anchors:batchVerify", body, other)).status).toBe(200);
    for (const socket of held) socket.destroy();
    await own.close();
  });
});

describe("what a request costs", () => {
  test("is taken when it is done, and paid before the next one", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(null, clock);
    const key = { keyId: new Uint8Array(16).fill(1), requestsPerSecond: 10 };
    limiter.take(key);
    limiter.charge(key.keyId, 29);
    const refusal = (() => {
      try {
        limiter.take(key);
        return null;
      } catch (error) {
        return (error as { problem: object }).problem;
      }
    })();
    expect(refusal).toMatchObject({ code: "rate_limited" });
    clock.offsetMs += 1900;
    expect(() => limiter.take(key)).toThrow("rate_limited");
    clock.offsetMs += 200;
    limiter.take(key);
  });

  test("nothing is charged to a key without a rate", () => {
    const limiter = new RateLimiter(null, new FakeClock());
    const key = { keyId: new Uint8Array(16).fill(2), requestsPerSecond: 0 };
    limiter.take(key);
    limiter.charge(key.keyId, 1e9);
    expect(() => limiter.take(key)).not.toThrow();
  });

  test.each<[string, Work, number]>([
    ["nothing more", {}, 0],
    ["a batch of 1,000", { items: 1000 }, 100],
    ["a page of 100", { listed: 100 }, 2],
    ["a chain of 10,000 hops", { hops: 10_000 }, 1000],
    ["a claim", { signatures: 2 }, 1],
    ["a small body and its answer", { bodyBytes: 32 * 1024 - 1, answerBytes: 256 * 1024 - 1 }, 0],
    ["a body of 2 MiB", { bodyBytes: 2 * MIB }, 64],
    ["an answer of 3 MiB", { answerBytes: 3 * MIB }, 12],
  ])("%s, in tokens beyond the first", (_what, work, tokens) => {
    expect(costOf(work)).toBeCloseTo(tokens);
  });

  describe("of a key with a token a second", () => {
    let own: Harness;
    beforeAll(async () => {
      own = await startHarness();
      own.clock.stop();
    });
    afterAll(() => own.close());

    /** The tokens that the key is to wait for after a request. */
    async function owedAfter(label: string, ask: (service: Service) => Promise<Answer>): Promise<number> {
      const headers = { "x-api-key": own.keyWith(label, ["read", "write"], { requestsPerSecond: 1 }) };
      // The table of keys is older than this one.
      own.clock.offsetMs += 100;
      await ask({ origin: own.origin, send: (method, path, body) => own.send(method, path, body, headers) });
      const next = await own.send("GET", "/v1/event-anchors/latest", undefined, headers);
      return Number(next.headers["retry-after"]);
    }
    const event = (service: Service) => ({ origin_fingerprint: service.origin, event_hash: hex(1) });

    test("an event is one small thing", async () => {
      const post = (service: Service) => service.send("POST", "/v1/event-anchors", event(service));
      expect(await owedAfter("events", post)).toBe(1);
    });

    test("a signed event costs its signature, a claim both of its", async () => {
      const signed = (service: Service) => service.send("POST", "/v1/event-anchors", signedEvent(service, "alice"));
      expect(await owedAfter("signed", signed)).toBe(2);
      expect(await owedAfter("claims", (service) => postClaim(service, claimAbout(service, "bob")))).toBe(2);
    });

    test("a batch that is refused has cost its items", async () => {
      const refused = (service: Service) => {
        const unknown = { event_hash: hex(1), semantic_anchor: { iris_ref: hex(9) } };
        const events = [...Array.from({ length: 99 }, () => ({ event_hash: hex(1) })), unknown];
        const body = { origin_fingerprint: service.origin, atomic: true, events };
        return service.send("POST", "/v1/event-anchors/batch", body);
      };
      expect(await owedAfter("batches", refused)).toBe(11);
    });

    test("a page costs the items that it shows", async () => {
      const body = {
        origin_fingerprint: own.origin,
        events: Array.from({ length: 100 }, () => ({ event_hash: hex(7) })),
      };
      expect((await own.send("POST", "/v1/event-anchors/batch", body)).status).toBe(200);
      const list = (service: Service) => service.send("GET", `/v1/event-anchors?event_hash=${hex(7)}&limit=100`);
      expect(await owedAfter("lists", list)).toBe(3);
    });
  });

  test("a batch costs its key by its items, a small request one token", async () => {
    const own = await startHarness();
    const slow = { "x-api-key": own.keyWith("slow", ["read"], { requestsPerSecond: 20 }) };
    own.clock.stop();
    const anchors = Array.from({ length: 1000 }, (_, at) => ({ anchor_id: at.toString(16).padStart(64, "0") }));
    const batch = await own.send("POST", "/v1/event-anchors:batchVerify", { anchors }, slow);
    const next = await own.send("GET", "/v1/event-anchors/latest", undefined, slow);
    expect([batch.status, next.status, next.json.code]).toEqual([200, 429, "rate_limited"]);
    // The request, 100 for the items and 2 for the body; the bucket has paid 20 of them. One more, at 20 a second.
    expect(Number(next.headers["retry-after"])).toBe(Math.ceil((1 + 100 + 2 - 20 + 1) / 20));
    await own.close();
  });
});
