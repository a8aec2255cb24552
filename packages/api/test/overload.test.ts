/** The built process over real tables, asked for more costly reads than it can make. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { LedgerStore, migrate } from "@event-anchoring/store";
import { startTestPostgres, until } from "@event-anchoring/testkit";
import type { Command } from "@event-anchoring/ledger";
import { seedOf } from "./fake-cluster.ts";
import { FakeControl } from "./fake-control.ts";
import { FakeNode } from "./fake-node.ts";
import { claimAbout, grantOf } from "./records.ts";
import { sendTo } from "./api-harness.ts";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const AT_ONCE = 200;
/** What Compose, Kubernetes and systemd give the process. */
const MEMORY_MB_MAX = 768;
const READY_MS_MAX = 500;
/** Grants of the chain; `LINKS=10000` makes the longest one there can be, which takes minutes. */
const LINKS = Number(process.env["LINKS"] ?? 1200);
const PER_ENTRY = 500;

const node = new FakeNode();
const secret = seedOf("overload key");
const key = formatApiKey(secret);
const cleanups: (() => unknown)[] = [];
let child: ChildProcess;
let port: number;
/** The last grant of the chain, and anchors to verify. */
let leafGrant: string;
let anchorIds: readonly string[];

function recorded(commands: readonly Command[]): string[] {
  const outcomes = node.apply(commands);
  return outcomes.flatMap((outcome) => {
    if (outcome.kind !== "records") throw new Error(JSON.stringify(outcome));
    return outcome.records.map((record) => {
      if (record.status !== "accepted") throw new Error(record.status);
      return bytesToHex(record.leaf.anchorId);
    });
  });
}

/** Claims of parties 0 to LINKS, and a chain of grants through all of them. */
function makeChain(): void {
  const { keyHash, keyId } = apiKeyIdentity(secret, nodeCrypto.sha256);
  const apiClientId = seedOf("overload client").slice(0, 16);
  const scopes = ["read", "write"] as const;
  node.createApiKey({ keyHash, apiClientId, label: "", scopes, expiresMs: 0, requestsPerSecond: 0 });
  const credential = { apiClientId, keyId };
  const service = { origin: bytesToHex(node.origin), send: () => Promise.reject(new Error("nobody listens")) };
  const claims: string[] = [];
  for (let from = 0; from <= LINKS; from += PER_ENTRY) {
    const labels = Array.from({ length: Math.min(PER_ENTRY, LINKS + 1 - from) }, (_, at) => `link ${from + at}`);
    claims.push(
      ...recorded(labels.map((label) => ({ kind: "record_claim", credential, claim: claimAbout(service, label) }))),
    );
  }
  anchorIds = claims.slice(0, 1000);
  let parent: string | undefined;
  for (let at = 0; at < LINKS; at++) {
    const [grantorClaim = "", granteeClaim = ""] = claims.slice(at, at + 2);
    const chained = parent === undefined ? {} : { parent };
    const refs = { grantorClaim, granteeClaim, grantor: `link ${at}`, depth: LINKS - at };
    [parent] = recorded([{ kind: "record_grant", credential, grant: grantOf(service, { ...refs, ...chained }) }]);
  }
  leafGrant = parent ?? "";
}

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-overload-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const postgres = await startTestPostgres();
  cleanups.push(() => postgres.close());
  const database = await postgres.createDatabase();
  await migrate(database.url, { readOnlyRole: postgres.readOnlyRole });
  const store = await LedgerStore.open({ url: database.url });
  cleanups.push(() => store.close());
  await store.load();
  makeChain();
  const control = new FakeControl(join(folder, "control.sock"), node, store);
  cleanups.push(() => control.close());
  await control.applyDecisions();
  writeFileSync(join(folder, "root-thk.txt"), `${bytesToHex(node.cluster.trustRoot.rootThk)}\n`);
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
  };
  writeFileSync(join(folder, "api.json"), JSON.stringify(config), { mode: 0o600 });
  child = spawn(process.execPath, [MAIN, "--config", join(folder, "api.json")], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  cleanups.push(() => child.kill("SIGKILL"));
  [{ port }] = (await once(child, "message")) as [{ port: number }];
  await until("it is ready", async () => (await sendTo(port, "GET", "/readyz", undefined, {})).status === 200);
}, 900_000);

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** The largest resident set that the process ever had. */
function peakMb(): number {
  const [, kib = ""] = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

/** Status of an answer whose body is read and dropped. */
function ask(agent: Agent, method: string, path: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const asked = httpRequest({ agent, port, host: "127.0.0.1", method, path, headers }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    asked.once("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Processor time of the thread that makes the answers, in milliseconds: the same however busy the machine is. */
function workedMs(): number {
  const [ns = ""] = readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, "utf8").split(" ");
  return Number(ns) / 1e6;
}

/** Asks /readyz again and again until told to stop; how long the thread has worked before each answer. */
function watchReadiness(): { stop: () => Promise<readonly number[]> } {
  let isOver = false;
  const waitedMs: number[] = [];
  const watching = (async () => {
    while (!isOver) {
      const atMs = workedMs();
      await sendTo(port, "GET", "/readyz", undefined, {});
      waitedMs.push(workedMs() - atMs);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const stop = async (): Promise<readonly number[]> => {
    isOver = true;
    await watching;
    return waitedMs;
  };
  return { stop };
}

/** So many askers, each asks again when it was answered; what they were answered. */
async function storm(
  method: string,
  path: string,
  body: object | undefined,
  forMs: number,
): Promise<Map<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const counts = new Map<number, number>();
  const endMs = performance.now() + forMs;
  const asker = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const status = await ask(agent, method, path, body);
      counts.set(status, (counts.get(status) ?? 0) + 1);
      // As the answer asks for.
      if (status === 503) await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, asker));
  agent.destroy();
  return counts;
}

describe(`${AT_ONCE} at once`, () => {
  test.each([
    ["traces of a long chain", "GET", () => `/v1/event-anchors/${leafGrant}/trace`, () => undefined],
    [
      "batch verifies of 1,000",
      "POST",
      () => "/v1/event-anchors:batchVerify",
      () => ({ anchors: anchorIds.map((anchor_id) => ({ anchor_id })) }),
    ],
    ["verifications of a long chain", "POST", () => "/v1/grant-anchors:verify", () => ({ anchor_id: leafGrant })],
  ])(
    "%s: the process keeps within its memory, and is ready all the time",
    async (_what, method, path, body) => {
      // Signatures are verified once; the first time takes longer than a read may.
      const one = new Agent();
      await until("one alone is answered", async () => (await ask(one, method, path(), body())) === 200);
      const watch = watchReadiness();
      const counts = await storm(method, path(), body(), 10_000);
      const waitedMs = await watch.stop();
      expect([...counts.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
      expect(counts.get(200) ?? 0).toBeGreaterThan(0);
      expect(Math.max(...waitedMs)).toBeLessThan(READY_MS_MAX);
      expect(peakMb()).toBeLessThan(MEMORY_MB_MAX);
    },
    120_000,
  );
});
