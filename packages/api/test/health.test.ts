import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { RefusedError } from "@event-anchoring/api";
import { healthSchema, readySchema } from "@event-anchoring/api-contract";
import { StoreError } from "@event-anchoring/store";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

const NO_KEY = {};
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

describe("health", () => {
  test("healthz says who the node is; readyz that it serves; neither needs a key", async () => {
    const health = await harness.send("GET", "/healthz", undefined, NO_KEY);
    expect(healthSchema.parse(health.json)).toMatchObject({
      status: "ok",
      node_id: "node-a",
      origin_fingerprint: harness.origin,
      prime_root_thk: { role: "prime", in_sync: true, last_error: null },
      versions: {
        api_contract: "4.2",
        locked_code: "V4.2",
        rules: 1,
        rules_known: 2,
        rules_held_back_by: "node-b (1)",
        entry_version: 1,
      },
    });
    const ready = await harness.send("GET", "/readyz", undefined, NO_KEY);
    expect(ready.status).toBe(200);
    expect(readySchema.parse(ready.json).ready).toBe(true);
  });

  test("the control plane is gone: healthz is 200 and says who the node is, readyz names what fails", async () => {
    const own = await startHarness();
    own.node.refusal = new RefusedError("unavailable", "no connection");
    const health = await own.send("GET", "/healthz", undefined, NO_KEY);
    const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
    await own.close();
    expect(health.status).toBe(200);
    expect(healthSchema.parse(health.json)).toMatchObject({ status: "error", origin_fingerprint: own.origin });
    expect(ready.status).toBe(503);
    const failing = readySchema.parse(ready.json).checks.filter(({ result }) => result === "fail");
    expect(failing.map(({ check }) => check)).toEqual(["control_plane"]);
  });

  test("what fails in the node or its database is named, and both recover by themselves", async () => {
    const own = await startHarness();
    const status = { ...own.node.nodeStatus() };
    own.node.status = async () => ({
      ...status,
      serving: { state: "unavailable", failing: [{ check: "leader", detail: "no leader is known" }] },
    });
    own.node.storeFailure = new StoreError("unavailable", "gone");
    const bad = await own.send("GET", "/readyz", undefined, NO_KEY);
    const degraded = await own.send("GET", "/healthz", undefined, NO_KEY);
    own.node.status = async () => status;
    own.node.storeFailure = null;
    own.clock.offsetMs += 300;
    const good = await own.send("GET", "/readyz", undefined, NO_KEY);
    own.stopping = true;
    const stopping = await own.send("GET", "/readyz", undefined, NO_KEY);
    await own.close();
    expect(bad.status).toBe(503);
    const names = bad.json.checks.filter(({ result }) => result === "fail");
    expect(names.map(({ check }) => check)).toEqual(["leader", "storage"]);
    expect(degraded.json.status).toBe("degraded");
    expect(good.status).toBe(200);
    expect([stopping.status, stopping.json.checks[0]?.check]).toEqual([503, "stopping"]);
  });

  test("a node that cannot read the keys yet is not ready; it is once it can", async () => {
    const own = await startHarness();
    own.node.keysFailure = new RefusedError("deadline_exceeded", "no read index in time");
    const early = await own.send("GET", "/readyz", undefined, NO_KEY);
    own.node.keysFailure = null;
    const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
    await own.close();
    const failing = readySchema.parse(early.json).checks.filter(({ result }) => result === "fail");
    expect([early.status, failing.map(({ check }) => check)]).toEqual([503, ["api_keys"]]);
    expect(ready.status).toBe(200);
  });

  test.each(["starting", "fenced", "halted"] as const)(
    "a node that is %s is not ready, whatever it lists",
    async (state) => {
      const own = await startHarness();
      own.node.status = async () => ({ ...own.node.nodeStatus(), serving: { state, failing: [] } });
      const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
      await own.close();
      expect([ready.status, ready.json.checks[1]?.check]).toEqual([503, state]);
    },
  );
});

describe("a process that is asked to stop", () => {
  const REQUEST = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

  test("ends each connection with its next answer, and says so in it", async () => {
    const own = await startHarness();
    own.sayGoodbye();
    // Resolves when the server has closed the connection; one that is kept would stay for 20 s.
    const answer = await own.raw(REQUEST);
    await own.close();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  test("does so too with the answer that is under way", async () => {
    const own = await startHarness();
    const status = own.node.nodeStatus();
    let answerNow = (): void => undefined;
    const asked = new Promise<void>((beAsked) => {
      own.node.status = async () => {
        beAsked();
        await new Promise<void>((resolve) => (answerNow = resolve));
        return status;
      };
    });
    const answer = own.raw(REQUEST);
    await asked;
    own.sayGoodbye();
    answerNow();
    expect(await answer).toMatch(/^Connection: close\r$/m);
    await own.close();
  });
});
