import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { keyIdOf, startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";
import { hex } from "./records.ts";

describe("keys that change while they are used", () => {
  let own: Harness;
  beforeAll(async () => {
    own = await startHarness({ perSecond: 2 });
  });
  afterAll(() => own.close());
  const read = (key: string): Promise<number> =>
    own.send("GET", "/v1/event-anchors/latest", undefined, { "x-api-key": key }).then(({ status }) => status);
  const readTimes = async (key: string, times: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let index = 0; index < times; index++) statuses.push(await read(key));
    return statuses;
  };

  test("a rate of its own counts, not that of the deployment; 0 is the deployment's", async () => {
    const fast = own.keyWith("fast", ["read"], { requestsPerSecond: 5 });
    const slow = own.keyWith("slow", ["read"], { requestsPerSecond: 1 });
    const usual = own.keyWith("usual", ["read"], { requestsPerSecond: 0 });
    own.clock.stop();
    // The table of keys is older than these.
    own.clock.offsetMs += 100;
    expect(await readTimes(fast, 6)).toEqual([404, 404, 404, 404, 404, 429]);
    expect(await readTimes(slow, 2)).toEqual([404, 429]);
    expect(await readTimes(usual, 3)).toEqual([404, 404, 429]);
    own.clock.go();
  });

  test("a batch costs what its items do; one that is refused for the rate costs nothing more", async () => {
    const key = own.keyWith("batcher", ["read", "write"], { requestsPerSecond: 1 });
    const events = Array.from({ length: 100 }, () => ({ event_hash: hex(1) }));
    const body = { origin_fingerprint: own.origin, events };
    const batch = (): Promise<{ status: number; headers: object }> =>
      own.send("POST", "/v1/event-anchors/batch", body, { "x-api-key": key });
    expect((await batch()).status).toBe(200);
    const refused = await batch();
    expect(refused.status).toBe(429);
    const waitS = Number((refused.headers as { readonly "retry-after"?: string })["retry-after"]);
    // A request and a hundred items, at one a second.
    expect(waitS).toBeGreaterThan(1);
    expect((await batch()).status).toBe(429);
    own.clock.offsetMs += waitS * 1000 + 1;
    expect((await batch()).status).toBe(200);
  });

  test("a revoked key is refused within a second; its writes at once, by the ledger", async () => {
    const key = own.keyWith("to be revoked", ["read", "write"], { requestsPerSecond: 1000 });
    const body = { origin_fingerprint: own.origin, event_hash: hex(1) };
    const write = () => own.send("POST", "/v1/event-anchors", body, { "x-api-key": key });
    expect((await write()).status).toBe(201);
    own.node.revokeApiKey(keyIdOf("to be revoked"));
    const atOnce = await write();
    expect([atOnce.status, atOnce.json.code]).toEqual([401, "api_key_invalid"]);
    own.clock.offsetMs += 1000;
    const statuses = await Promise.all([read(key), write().then(({ status }) => status)]);
    expect(statuses).toEqual([401, 401]);
  });
});
