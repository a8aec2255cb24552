import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { LIMITS } from "@event-anchoring/api-contract";
import { HOLD_MS_MAX, hostileBodies, hostileHolds } from "@event-anchoring/testkit/overload";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

// Nobody can hold up all the others with one body, whatever is in it.

const BODIES = hostileBodies(LIMITS.batchBodyBytesMax);
let harness: Harness;
let held: ReadonlyMap<string, number>;
beforeAll(async () => {
  harness = await startHarness();
  held = new Map(hostileHolds(LIMITS.batchBodyBytesMax).map(({ shape, ms }) => [shape, ms]));
}, 120_000);
afterAll(() => harness.close());

test("the bodies are as large as a body may be", () => {
  expect(BODIES.length).toBeGreaterThan(25);
  for (const { shape, text } of BODIES) {
    const bytes = Buffer.byteLength(text);
    expect([shape, bytes <= LIMITS.batchBodyBytesMax]).toEqual([shape, true]);
    expect([shape, bytes > LIMITS.batchBodyBytesMax * 0.95]).toEqual([shape, true]);
  }
});

test.each(BODIES)("$shape: within its time, and the answer is small", async ({ shape, text }) => {
  expect(held.get(shape)).toBeLessThan(HOLD_MS_MAX);
  // A target as the route has it is looked up; one with an empty query is found by the router.
  for (const path of ["/v1/event-anchors:batchVerify", "/v1/event-anchors/batch?"]) {
    const answer = await harness.send("POST", path, text);
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(8192);
  }
});
