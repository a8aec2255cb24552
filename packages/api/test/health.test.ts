import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { NodeProbe, RefusedError } from "@event-anchoring/api";
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

  test("the database answers, and the reads of requests have not found its tables: it is not ready", async () => {
    const { node, clock } = harness;
    const reads = { opened: async () => node.reads };
    let failure: StoreError | null = new StoreError("schema", "a migration has not been applied");
    const late = {
      opened: async () => {
        if (failure !== null) throw failure;
        return node.reads;
      },
    };
    const served = [reads, late];
    const probe = new NodeProbe({ controlPlane: node, reads, served, clock, stoppedReason: () => null });
    const detail = expect.stringContaining("the tables are not there yet");
    expect(await probe.storage()).toEqual({ isReachable: false, detail });
    failure = null;
    clock.offsetMs += 300;
    expect(await probe.storage()).toMatchObject({ isReachable: true });
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

  test("strangers are told who the node is and how it is; how it takes part in consensus is for readers", async () => {
    const own = await startHarness();
    const status = own.node.nodeStatus();
    const lastError = "no quorum: n2 at 10.0.0.2:7400 refuses";
    own.node.status = async () => ({ ...status, primeRootThk: { ...status.primeRootThk, lastError } });
    const ask = async (headers: Record<string, string>) =>
      healthSchema.parse((await own.send("GET", "/healthz", undefined, headers)).json);
    const strangers = [
      await ask(NO_KEY),
      await ask({ "x-api-key": "ank_" + "0".repeat(49) }),
      await ask({ "x-api-key": own.keyWith("writer", ["write"]) }),
    ];
    const readerKey = { "x-api-key": own.keyWith("reader", ["read"]) };
    const reader = await ask(readerKey);
    own.node.keysFailure = new RefusedError("no_leader", "gone");
    own.clock.offsetMs += 2000;
    const withoutKeys = await ask(readerKey);
    await own.close();
    for (const told of [...strangers, withoutKeys]) {
      expect(told).toMatchObject({ node_id: "node-a", origin_fingerprint: own.origin, versions: { rules: 1 } });
      expect(told).not.toHaveProperty("raft");
      expect(JSON.stringify(told)).not.toContain("10.0.0.2");
      expect(told.prime_root_thk.last_error).toContain("there is an error");
    }
    expect(reader.raft).toEqual({ role: "leader", term: 3, leader: "node-a", commit_index: 9, applied_index: 9 });
    expect(reader.prime_root_thk.last_error).toBe(lastError);
  });

  test("what a node holds against others is a warning: it is named, and the node serves", async () => {
    const own = await startHarness();
    const other = "cd".repeat(32);
    const status = own.node.nodeStatus();
    const origins = [own.origin, other].map((originFingerprint) => {
      return { originFingerprint, treeSize: 3, certifiedSize: 3, status: "active" as const };
    });
    const contradictions = {
      named: ["node-b"],
      origins: [own.origin],
      withheld: [{ originFingerprint: own.origin, treeSize: 3 }],
      differing: ["node-c"],
      evidence: ["a.notes"],
      evidenceFiles: 1,
    };
    const peersCutOff = [{ nodeId: "node-b", remainingMs: 1500, offences: { impossible_message: 2 } }];
    own.node.status = async () => ({ ...status, origins, contradictions, peersCutOff });
    const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
    const stranger = await own.send("GET", "/healthz", undefined, NO_KEY);
    const key = { "x-api-key": own.keyWith("reader", ["read"]) };
    const reader = healthSchema.parse((await own.send("GET", "/healthz", undefined, key)).json);
    await own.close();
    const warnings = readySchema.parse(ready.json).checks.filter(({ result }) => result === "warn");
    expect([ready.status, readySchema.parse(ready.json).ready, warnings.map(({ check }) => check)]).toEqual([
      200,
      true,
      ["contradictions"],
    ]);
    expect(warnings[0]?.detail).toContain(`origin ${own.origin} has stopped`);
    expect(warnings[0]?.detail).toContain("node-b has signed two roots of one size");
    // What a write is to name is an origin that takes it.
    expect(stranger.json).toMatchObject({ status: "degraded", origin_fingerprint: other });
    expect(stranger.json).not.toHaveProperty("contradictions");
    expect(reader.contradictions).toEqual({
      named: ["node-b"],
      origins: [own.origin],
      withheld: [{ origin_fingerprint: own.origin, tree_size: 3 }],
      differing: ["node-c"],
      evidence: ["a.notes"],
      evidence_files: 1,
    });
    expect(reader.peers_cut_off).toEqual([
      { node_id: "node-b", remaining_seconds: 2, offences: [{ offence: "impossible_message", count: 2 }] },
    ]);
  });

  test.each(["closed", "lost"] as const)("a node whose origin is %s names another one to write to", async (end) => {
    const own = await startHarness();
    const other = "cd".repeat(32);
    const head = { treeSize: 3, certifiedSize: 3 };
    const origins = [
      { originFingerprint: own.origin, ...head, status: end },
      { originFingerprint: other, ...head, status: "active" as const },
    ];
    own.node.status = async () => ({ ...own.node.nodeStatus(), origins });
    const health = await own.send("GET", "/healthz", undefined, NO_KEY);
    await own.close();
    expect(health.json).toMatchObject({ origin_fingerprint: other });
  });

  test.each(["fenced", "halted"] as const)("a node that has %s says so, and what it found", async (reason) => {
    const own = await startHarness();
    own.node.refusal = new RefusedError("unavailable", "no connection");
    own.node.stopped = { reason, check: "diverged", detail: "a quorum of peers contradicts this node" };
    const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
    const health = await own.send("GET", "/healthz", undefined, NO_KEY);
    // A control plane that ends is asked before it is gone: it says the same.
    own.node.refusal = null;
    const failing = [{ check: "diverged", detail: "a quorum of peers contradicts this node" }];
    own.node.status = async () => ({ ...own.node.nodeStatus(), serving: { state: reason, failing } });
    own.clock.offsetMs += 300;
    const ending = await own.send("GET", "/readyz", undefined, NO_KEY);
    await own.close();
    const check = { check: reason, result: "fail", detail: "diverged: a quorum of peers contradicts this node" };
    expect([ready.status, ready.json.checks[0]]).toEqual([503, check]);
    expect([ending.status, ending.json.checks[0]]).toEqual([503, check]);
    expect(health.json.status).toBe("error");
  });

  test.each(["starting", "fenced", "halted"] as const)(
    "a node that is %s is not ready, whatever it lists",
    async (state) => {
      const own = await startHarness();
      own.node.status = async () => ({ ...own.node.nodeStatus(), serving: { state, failing: [] } });
      const ready = await own.send("GET", "/readyz", undefined, NO_KEY);
      await own.close();
      const failing = ready.json.checks.filter(({ result }) => result === "fail");
      expect([ready.status, failing.map(({ check }) => check)]).toEqual([503, [state]]);
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
