/** The built process, as a node starts it: real tables, a real socket, a fake control plane at its other end. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import {
  activeClaimSchema,
  activeGrantSchema,
  consistencySchema,
  createdBatchSchema,
  eventListSchema,
  verifiedBatchSchema,
} from "@event-anchoring/api-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { LedgerStore, migrate } from "@event-anchoring/store";
import { until } from "@event-anchoring/testkit";
import { readCpu } from "@event-anchoring/testkit/overload";
import { SqlSession, startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { TestDatabase, TestPostgres } from "@event-anchoring/testkit/postgres";
import { sendTo } from "./api-harness.ts";
import type { Answer } from "./api-harness.ts";
import { seedOf } from "./fake-cluster.ts";
import { FakeControl } from "./fake-control.ts";
import { FakeNode } from "./fake-node.ts";
import { testBoundsOfProofs, testProofs } from "./process-proofs.ts";
import { anchorOf, claimAbout, claimed, granted, hex, postClaim, revocationOf, signedEvent } from "./records.ts";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

let folder: string;
let postgres: TestPostgres;
let database: TestDatabase;
let store: LedgerStore;
let control: FakeControl;
const node = new FakeNode();
const secret = seedOf("process key");
const key = formatApiKey(secret);

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly metricsPort: number;
}

const children = new Set<ChildProcess>();
/** Run in reverse, however far the start came. */
const cleanups: (() => unknown)[] = [];

function writeConfig(name: string, overrides: object = {}): string {
  const path = join(folder, name);
  const config = {
    node_id: "node-a",
    cluster_id: bytesToHex(node.cluster.clusterId),
    origin_fingerprint: bytesToHex(node.origin),
    identity_dir: folder,
    database_url: database.readOnlyUrl,
    control_socket: join(folder, "control.sock"),
    listen: { host: "127.0.0.1", port: 0 },
    metrics: { host: "127.0.0.1", port: 0 },
    log_level: "error",
    limits: { key_requests_per_second: null },
    ...overrides,
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

function run(args: readonly string[], stdio: "ipc" | "pipe"): ChildProcess {
  const streams = ["ignore", "ignore", "pipe"] as const;
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: stdio === "ipc" ? [...streams, "ipc"] : [...streams],
  });
  children.add(child);
  return child;
}

async function start(overrides: object = {}): Promise<Started> {
  const child = run(["--config", writeConfig("config.json", overrides)], "ipc");
  const [message] = (await once(child, "message")) as [{ port: number; metricsPort: number }];
  return { child, ...message };
}

/** Processor time of a process so far: the same however busy the machine is. */
function workedMs({ pid = 0 }: ChildProcess): number {
  return readCpu([{ kind: "api", pids: [pid], hasChildren: false }])?.ms["api"] ?? Number.NaN;
}

async function exitOf(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-api-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  postgres = await startTestPostgres();
  cleanups.push(() => postgres.close());
  database = await postgres.createDatabase();
  await migrate(database.url, { readOnlyRole: postgres.readOnlyRole });
  store = await LedgerStore.open({ url: database.url });
  cleanups.push(() => store.close());
  await store.load();
  const { keyHash } = apiKeyIdentity(secret, nodeCrypto.sha256);
  node.createApiKey({
    keyHash,
    apiClientId: seedOf("process client").slice(0, 16),
    label: "",
    scopes: ["read", "write", "revoke", "admin"],
    expiresMs: 0,
    requestsPerSecond: 0,
  });
  writeFileSync(join(folder, "root-thk.txt"), `${bytesToHex(node.cluster.trustRoot.rootThk)}\n`);
  control = new FakeControl(join(folder, "control.sock"), node, { store, databaseUrl: database.url });
  cleanups.push(() => control.close());
  await once(control.server, "listening");
  await control.applyDecisions();
});

afterAll(async () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

describe("a running process", () => {
  let api: Started;
  beforeAll(async () => {
    api = await start();
    // It listens before its tables are open.
    await until("it is ready", async () => (await send("GET", "/readyz")).status === 200);
  });
  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    sendTo(api.port, method, path, body, { authorization: `Bearer ${key}` });

  test("serves writes, receipts, the EEA, verification and trace from real tables", async () => {
    const origin_fingerprint = bytesToHex(node.origin);
    const ready = await send("GET", "/readyz");
    expect([ready.status, ready.json.checks]).toEqual([200, expect.any(Array)]);
    const created = await send("POST", "/v1/event-anchors", {
      origin_fingerprint,
      event_hash: hex(1),
      client_event_id: "one",
    });
    expect(created.status).toBe(201);
    const { anchor_id } = created.json.anchor;
    const replay = await send("POST", "/v1/event-anchors", {
      origin_fingerprint,
      event_hash: hex(1),
      client_event_id: "one",
    });
    expect([replay.status, replay.json.anchor.anchor_id]).toEqual([200, anchor_id]);
    expect((await send("GET", "/v1/event-anchors/latest?from_size=1")).json.anchor.anchor_id).toBe(anchor_id);
    const verified = await send("POST", "/v1/event-anchors:verify", { anchor_id, event_hash: hex(1) });
    expect(verified.json.valid).toBe(true);
    const trace = await send("GET", `/v1/event-anchors/${anchor_id}/trace`);
    expect([trace.status, trace.json.violations]).toEqual([200, []]);
    expect((await send("GET", "/v1/trust-root")).json.version).toBe(1);
  });

  test("serves claims, grants, what revokes them, lists and erasure from real tables", async () => {
    const service = { origin: bytesToHex(node.origin), send };
    const [boss, agent] = [await claimed(service, "boss"), await claimed(service, "agent", { attributeType: 7 })];
    const parties = { grantorClaim: boss.anchor_id, granteeClaim: agent.anchor_id, grantor: "boss" };
    const grant = await granted(service, parties);
    const semanticAnchor = { irisRef: hexToBytes(agent.anchor_id), grantRef: hexToBytes(grant.anchor_id) };
    const act = signedEvent(service, "agent", { semanticAnchor, clientEventId: "act", eventHash: hexToBytes(hex(77)) });
    const event = await anchorOf(send("POST", "/v1/event-anchors", act));
    const [from, to] = ["boss", "agent"].map((entity) => bytesToHex(seedOf(`entity ${entity}`)));
    const ofPair = `/v1/claim-anchors?entity_fingerprint=${to}&attribute_type=0x7`;
    const between = `/v1/grant-anchors?grantor_fingerprint=${from}&grantee_fingerprint=${to}`;
    expect(activeClaimSchema.parse((await send("GET", ofPair)).json).anchor).toEqual(agent);
    expect(activeGrantSchema.parse((await send("GET", between)).json)).toMatchObject({ anchor: grant, others: 0 });
    const filters = [
      `event_hash=${hex(77)}`,
      `iris_ref=${agent.anchor_id}`,
      `grant_ref=${grant.anchor_id}`,
      "client_event_id=act",
    ];
    for (const filter of filters) {
      const { status, json } = await send("GET", `/v1/event-anchors?${filter}`);
      expect([filter, status, eventListSchema.parse(json).items]).toEqual([filter, 200, [event]]);
    }
    const revoked = await send(
      "POST",
      `/v1/claim-anchors/${agent.anchor_id}/revoke`,
      revocationOf(agent, { revoker: "issuer" }),
    );
    expect([revoked.status, revoked.text]).toEqual([201, expect.stringContaining('"authority":"issuer"')]);
    expect((await send("GET", ofPair)).json).toMatchObject({ code: "no_active_claim", anchor_id: agent.anchor_id });
    expect((await send("GET", between)).json).toMatchObject({ code: "no_active_grant", state: "revoked" });
    expect(await anchorOf(postClaim(service, claimAbout(service, "agent", { attributeType: 7 })))).toEqual({
      ...agent,
      state: "revoked",
    });
    const path = `/v1/event-anchors/${event.anchor_id}`;
    expect((await send("POST", `${path}/erase-client-event-id`)).json).toMatchObject({ erased: true });
    const erased = await send("GET", "/v1/event-anchors?client_event_id=act");
    expect([erased.status, erased.json]).toMatchObject([410, { anchor_id: event.anchor_id }]);
    expect((await send("GET", path)).json.anchor).toMatchObject({ client_event_id: null, client_event_erased: true });
    const consistency = await send("GET", "/v1/event-anchors/consistency?from_size=2");
    expect(consistencySchema.parse(consistency.json).from.tree_size).toBe(2);
  });

  describe("with proof=true", () => {
    const running = { node, control: () => control, send };
    testProofs(running);
    testBoundsOfProofs(running);
  });

  test("a batch of 1,000 is created, and verified in a handful of statements", async () => {
    const origin_fingerprint = bytesToHex(node.origin);
    const events = Array.from({ length: 1000 }, (_, index) => ({ event_hash: hex(index % 256) }));
    const created = await send("POST", "/v1/event-anchors/batch", { origin_fingerprint, events });
    const { results } = createdBatchSchema.parse(created.json);
    const anchors = results.map((result, index) => ({
      anchor_id: result.anchor?.anchor_id,
      event_hash: hex(index % 256),
    }));
    const beforeMs = workedMs(api.child);
    const verified = await send("POST", "/v1/event-anchors:batchVerify", { anchors });
    const tookMs = workedMs(api.child) - beforeMs;
    expect(verifiedBatchSchema.parse(verified.json).summary).toMatchObject({ total: 1000, valid: 1000 });
    // A statement or a signature verification per anchor would take seconds.
    expect(tookMs).toBeLessThan(3000);
  });

  test("serves the proof page, the reference and its page, as they are built", async () => {
    const assets = ["swagger-ui.css", "swagger-ui-bundle.js", "start.js"].map((name) => `/docs/${name}`);
    const paths = ["/openapi.json", "/", "/verify", "/docs", ...assets];
    const answers = await Promise.all(paths.map((path) => sendTo(api.port, "GET", path, undefined, {})));
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  });

  test("metrics are on their own port alone", async () => {
    const scraped = await sendTo(api.metricsPort, "GET", "/metrics", undefined, {});
    expect(scraped.text).toMatch(/^anchoring_control_plane_up 1$/m);
    expect((await send("GET", "/metrics")).status).toBe(404);
  });

  test("SIGINT is the supervisor's affair; SIGTERM stops it with exit code 0", async () => {
    api.child.kill("SIGINT");
    expect((await send("GET", "/healthz")).status).toBe(200);
    const exit = exitOf(api.child);
    api.child.kill("SIGTERM");
    expect((await exit).code).toBe(0);
  });
});

describe("a client that resets its connection", () => {
  /** Sends bytes, waits for the first of the answer, and resets. */
  async function sendAndReset({ port }: Started, bytes: string): Promise<void> {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => undefined);
    if (bytes.includes("\r\n\r\n")) await once(socket, "data");
    socket.resetAndDestroy();
    if (!socket.closed) await once(socket, "close");
  }

  test.each([
    ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["an upgrade", "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
    ["bytes that are no request", "hello\r\n\r\n"],
    ["half a head", "GET / HTTP/1.1\r\nHo"],
    ["an odd target", "GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n"],
  ])("ends nothing after %s", async (_what, bytes) => {
    const api = await start();
    for (let at = 0; at < 20; at++) await sendAndReset(api, bytes);
    // What a reset leads to has happened once another connection was served behind it.
    for (let at = 0; at < 2; at++) {
      expect((await sendTo(api.port, "GET", "/healthz", undefined, {})).status).toBe(200);
    }
    expect(api.child.exitCode).toBeNull();
  });
});

describe("a node whose control plane has ended for good", () => {
  test("says so in /readyz and in each answer", async () => {
    const own = mkdtempSync(join(tmpdir(), "anchoring-stopped-"));
    cleanups.push(() => rmSync(own, { recursive: true }));
    const left = { code: 79, reason: "halted", check: "corrupt_row", detail: "state.anchors 7", at: "2026-01-01" };
    writeFileSync(join(own, "stopped.json"), JSON.stringify(left), { mode: 0o600 });
    const api = await start({ control_socket: join(own, "control.sock") });
    const ready = await sendTo(api.port, "GET", "/readyz", undefined, {});
    const check = { check: "halted", result: "fail", detail: "corrupt_row: state.anchors 7" };
    expect([ready.status, ready.json.checks[0]]).toEqual([503, check]);
    const read = await sendTo(api.port, "GET", "/v1/event-anchors/latest", undefined, {
      authorization: `Bearer ${key}`,
    });
    expect([read.status, read.json.code]).toEqual([503, "halted"]);
    expect(read.text).not.toContain("corrupt_row");
  });
});

describe("a start before its tables", () => {
  /** The failing check of a node that is not ready; null for one that is. */
  async function failing({ port }: Started): Promise<unknown> {
    const { status, json } = await sendTo(port, "GET", "/readyz", undefined, {});
    const failed = json.checks.filter(({ result }: { result: string }) => result === "fail");
    expect(status).toBe(failed.length === 0 ? 200 : 503);
    return failed[0] ?? null;
  }

  async function isReady(api: Started): Promise<boolean> {
    return (await failing(api)) === null;
  }

  async function latest({ port }: Started): Promise<Answer> {
    return sendTo(port, "GET", "/v1/event-anchors/latest", undefined, { authorization: `Bearer ${key}` });
  }

  async function answerTo(api: Started): Promise<unknown> {
    const { status, json } = await latest(api);
    return [status, json.code];
  }

  test("waits for the migrations, says so, and serves as soon as they are there", async () => {
    const empty = await postgres.createDatabase();
    const api = await start({ database_url: empty.readOnlyUrl });
    const detail = expect.stringContaining("the tables are not there yet");
    await until("the empty database was looked at", async () => {
      const check = await failing(api);
      return (check as { detail: string }).detail.includes("the tables");
    });
    expect(await failing(api)).toEqual({ check: "storage", result: "fail", detail });
    expect((await sendTo(api.port, "GET", "/healthz", undefined, {})).status).toBe(200);
    const refused = await latest(api);
    expect([refused.status, refused.json.code]).toEqual([503, "unavailable"]);
    expect(refused.headers["retry-after"]).toBeDefined();
    await migrate(empty.url, { readOnlyRole: postgres.readOnlyRole });
    await until("the tables are there", () => isReady(api));
    // They are behind the cluster's log, which holds the key, and are waited for.
    expect(await answerTo(api)).toEqual([503, "deadline_exceeded"]);
    const exit = exitOf(api.child);
    api.child.kill("SIGTERM");
    expect((await exit).code).toBe(0);
  });

  test("waits for tables that hang until a request's time is over, and no longer", async () => {
    const locked = await postgres.createDatabase();
    await migrate(locked.url, { readOnlyRole: postgres.readOnlyRole });
    const api = await start({ database_url: locked.readOnlyUrl });
    await until("the tables are there", () => isReady(api));
    const session = await SqlSession.open(locked.url);
    await session.rows("BEGIN");
    await session.rows("LOCK TABLE state.ledger");
    expect(await answerTo(api)).toEqual([503, "deadline_exceeded"]);
    await session.close();
  });

  test("waits for Postgres, and again each time that it goes away", async () => {
    const own = await startTestPostgres();
    cleanups.push(() => own.close());
    const { url, readOnlyUrl } = await own.createDatabase();
    await migrate(url, { readOnlyRole: own.readOnlyRole });
    await own.stop({ mode: "fast" });
    const api = await start({ database_url: readOnlyUrl });
    for (const mode of ["fast", "immediate"] as const) {
      expect(await failing(api)).toMatchObject({ check: "storage", result: "fail" });
      expect((await latest(api)).status).toBe(503);
      await own.start();
      await until("the tables are there", () => isReady(api));
      expect(await answerTo(api)).toEqual([503, "deadline_exceeded"]);
      await own.stop({ mode });
      await until("they have gone", async () => !(await isReady(api)));
    }
    expect(api.child.exitCode).toBeNull();
  });

  test("stops while it waits", async () => {
    const api = await start({ database_url: "postgresql://x@127.0.0.1:1/none" });
    const exit = exitOf(api.child);
    api.child.kill("SIGTERM");
    expect((await exit).code).toBe(0);
  });

  test("ends when its port is taken", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const listen = blocker.address();
    if (listen === null || typeof listen === "string") throw new Error("a port was asked for");
    const path = writeConfig("taken.json", { listen: { host: "127.0.0.1", port: listen.port } });
    const exit = await exitOf(run(["--config", path], "pipe"));
    blocker.close();
    expect([exit.code, exit.stderr]).toEqual([1, expect.stringContaining("EADDRINUSE")]);
    expect(exit.stderr).not.toContain("    at ");
  });
});

describe("it does not outlive its supervisor", () => {
  test("when the channel closes, it stops by itself", async () => {
    const { child } = await start();
    // Not `close`: Node does not emit that after the parent has disconnected.
    const exit = once(child, "exit");
    child.disconnect();
    expect(await exit).toEqual([0, null]);
  });
});

describe("a start that cannot be", () => {
  test.each([
    ["no argument", () => [], 2, "--config"],
    ["no such file", () => ["--config", join(folder, "none.json")], 2, "none.json"],
    ["a misspelt setting", () => ["--config", writeConfig("a.json", { databse_url: "x" })], 2, "databse_url"],
    [
      "a wrong port",
      () => ["--config", writeConfig("b.json", { listen: { host: "x", port: "80" } })],
      2,
      "listen.port",
    ],
    ["a wrong fingerprint", () => ["--config", writeConfig("c.json", { origin_fingerprint: "AB" })], 2, "origin_fing"],
    ["no pin", () => ["--config", writeConfig("d.json", { identity_dir: "/nowhere" })], 2, "root-thk.txt"],
  ])("%s", async (_what, args, code, named) => {
    const exit = await exitOf(run(args(), "pipe"));
    expect(exit.code).toBe(code);
    expect(exit.stderr).toContain(named);
    expect(exit.stderr).not.toContain("    at ");
  });
});
