import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { LIMITS } from "@event-anchoring/api-contract";
import { HOLD_MS_MAX, hostileBodies } from "@event-anchoring/testkit";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

// Nobody can hold up all the others with one body, whatever is in it.

const BODIES = hostileBodies(LIMITS.batchBodyBytesMax);
const TESTKIT = fileURLToPath(new URL("../../testkit/dist/index.js", import.meta.url));

/**
 * The built code in a process of its own, with one thread: its processor time is how long the loop is held, also while
 * other suites run beside this one.
 */
const MEASURE = `
  import(${JSON.stringify(TESTKIT)}).then(({ holdMs, hostileBodies }) => {
    const nowMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
    const held = hostileBodies(${LIMITS.batchBodyBytesMax}).map((body) => [body.shape, holdMs(body, nowMs)]);
    process.stdout.write(JSON.stringify(held));
  });
`;

let harness: Harness;
let held: ReadonlyMap<string, number>;
beforeAll(async () => {
  harness = await startHarness();
  const printed = execFileSync(process.execPath, ["--single-threaded", "-e", MEASURE], { encoding: "utf8" });
  held = new Map(JSON.parse(printed) as [string, number][]);
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
  const answer = await harness.send("POST", "/v1/event-anchors:batchVerify", text);
  expect(answer.status).toBe(400);
  expect(answer.text.length).toBeLessThan(8192);
});
