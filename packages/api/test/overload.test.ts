/**
 * The built process over real tables, asked for more costly reads than it can make. Askers, checks of /readyz, and the
 * control plane with the tables' owner (this process) each have a process of their own, so that none of them is what
 * the others wait for.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { LedgerStore, migrate } from "@event-anchoring/store";
import { until } from "@event-anchoring/testkit";
import { HOLD_MS_MAX, othersShare, readCpu, slownessOf } from "@event-anchoring/testkit/overload";
import { startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { Check, CpuReading, Storm } from "@event-anchoring/testkit/overload";
import type { Command } from "@event-anchoring/ledger";
import { seedOf } from "./fake-cluster.ts";
import { FakeControl } from "./fake-control.ts";
import { FakeNode } from "./fake-node.ts";
import { claimAbout, grantOf } from "./records.ts";
import { sendTo } from "./api-harness.ts";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const TESTKIT = new URL("../../testkit/dist/", import.meta.url);
const PROBE = new URL("overload/loop-hold-probe.js", TESTKIT).href;

const ASKERS = 200;
/** What Compose, Kubernetes and systemd give the process, and how they start it. */
const MEMORY_MB_MAX = 768;
const NODE_FLAGS = ["--max-semi-space-size=64", "--heap-growing-percent=40"];
/** What /readyz may take: half of what a gateway's check waits. */
const READY_MS_MAX = 500;
/** Above this share of the processors, other programs are what a time on the clock is about. */
const OTHERS_SHARE_MAX = 0.05;
const STORM_MS = 5000;
/** Grants of the chain. `LINKS=10000` makes the longest that there can be. */
const LINKS = Number(process.env["LINKS"] ?? 1200);
const PER_ENTRY = 500;

const node = new FakeNode();
const secret = seedOf("overload key");
const headers = { authorization: `Bearer ${formatApiKey(secret)}`, "content-type": "application/json" };
const cleanups: (() => unknown)[] = [];
let postgresPid: number;
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
  postgresPid = postgres.pid;
  const database = await postgres.createDatabase();
  await migrate(database.url, { readOnlyRole: postgres.readOnlyRole });
  const store = await LedgerStore.open({ url: database.url });
  cleanups.push(() => store.close());
  await store.load();
  makeChain();
  const control = new FakeControl(join(folder, "control.sock"), node, { store, databaseUrl: database.url });
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
  child = spawn(process.execPath, [...NODE_FLAGS, "--import", PROBE, MAIN, "--config", join(folder, "api.json")], {
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

/** The longest turn of the process's loop since the last time, in milliseconds of processor time. */
async function takeHoldMs(): Promise<number> {
  child.send("take hold");
  const [{ ms }] = (await once(child, "message")) as [{ ms: number }];
  return ms;
}

/** A function of the testkit, run in a process of its own until stdin ends or it is done; prints what it comes to. */
function elsewhere(code: string): ChildProcess {
  const program = `import * as testkit from ${JSON.stringify(new URL("overload/index.js", TESTKIT).href)};
    const printed = JSON.stringify(await (${code}));
    process.stdout.write(printed, () => process.exit(0));`;
  const started = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  cleanups.push(() => started.kill("SIGKILL"));
  return started;
}

async function resultOf<T>({ stdout }: ChildProcess): Promise<T> {
  if (stdout === null) throw new Error("nothing is printed");
  return JSON.parse(await text(stdout)) as T;
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error("the process did not start");
  return pid;
}

/** What takes part in a storm, and nothing else, has used the processors between two readings. */
function readParts(...parts: readonly ChildProcess[]): CpuReading {
  const reading = readCpu([
    { kind: "postgres", pids: [postgresPid], hasChildren: true },
    { kind: "others", pids: [process.pid, ...[child, ...parts].map(pidOf)], hasChildren: false },
  ]);
  if (reading === null) throw new Error("a process has ended");
  return reading;
}

interface Weathered {
  readonly counts: Readonly<Record<string, number>>;
  readonly checks: readonly Check[];
  readonly holdMs: number;
  readonly othersShare: number;
}

/** Lets a storm pass over the process, and watches it. */
async function weather(asked: Pick<Storm, "path" | "body">): Promise<Weathered> {
  const url = `http://127.0.0.1:${port}`;
  const pids = JSON.stringify([child.pid, process.pid]);
  const watch = elsewhere(`(() => {
    let isOver = false;
    process.stdin.on("end", () => { isOver = true; }).resume();
    return testkit.checkReadiness(${JSON.stringify(url)}, [...${pids}, process.pid], () => isOver);
  })()`);
  const asking: Storm = { ...asked, url, headers, askers: ASKERS, forMs: STORM_MS };
  await takeHoldMs();
  const askers = elsewhere(`testkit.storm(${JSON.stringify(asking)})`);
  const before = readParts(watch, askers);
  let after = before;
  const reading = setInterval(() => {
    after = readParts(watch, askers);
  }, 500);
  const counts = await resultOf<Record<string, number>>(askers);
  clearInterval(reading);
  const holdMs = await takeHoldMs();
  watch.stdin?.end();
  const checks = await resultOf<Check[]>(watch);
  return { counts, checks, holdMs, othersShare: othersShare(before, after) };
}

interface Judged {
  /** What a check took, where it says something. */
  readonly tookMs: readonly number[];
  readonly unready: readonly Check[];
  /** How many costly reads must have been made. */
  readonly servedMin: number;
  /** The longest turn of the loop, as a machine of the usual speed would have it. */
  readonly holdMs: number;
}

/**
 * On a machine that is the storm's alone, every check counts, by the clock, and somebody is served. Where other
 * programs have the processors, too, the clock tells what they do: the time in which the threads of an answer were
 * ready to run and did not is theirs. A check that had to wait so for longer than it may take says nothing about this
 * process, nor does a costly read that could not be made in time. The memory is the same on any machine. The loop's
 * hold is processor time: a slower machine needs more, and as much more for a piece of work beside it.
 */
function judge({ checks, othersShare: share, holdMs }: Weathered): Judged {
  const isAlone = share <= OTHERS_SHARE_MAX;
  const telling = checks.filter(({ queuedMs }) => isAlone || queuedMs < READY_MS_MAX);
  return {
    tookMs: telling.map(({ tookMs, queuedMs }) => (isAlone ? tookMs : tookMs - queuedMs)),
    unready: telling.filter(({ status }) => status !== 200),
    servedMin: isAlone ? 1 : 0,
    holdMs: holdMs / slownessOf(checks.map(({ pieceMs }) => pieceMs)),
  };
}

describe(`${ASKERS} at once`, () => {
  test.each([
    ["traces of a long chain", () => `/v1/event-anchors/${leafGrant}/trace`, () => null],
    [
      "batch verifies of 1,000",
      () => "/v1/event-anchors:batchVerify",
      () => ({ anchors: anchorIds.map((anchor_id) => ({ anchor_id })) }),
    ],
    ["verifications of a long chain", () => "/v1/grant-anchors:verify", () => ({ anchor_id: leafGrant })],
  ])(
    "%s: the process keeps within its memory, and is ready all the time",
    async (_what, pathOf, bodyOf) => {
      const [path, body] = [pathOf(), bodyOf()];
      const bodyText = body === null ? null : JSON.stringify(body);
      // Signatures are verified once; the first time of a very long chain takes longer than a read may.
      const method = body === null ? "GET" : "POST";
      await until(
        "one alone is answered",
        async () => {
          return (await sendTo(port, method, path, bodyText ?? undefined, headers)).status === 200;
        },
        120_000,
      );
      const weathered = await weather({ path, body: bodyText });
      const { counts } = weathered;
      const { tookMs, unready, servedMin, holdMs } = judge(weathered);
      expect(Object.keys(counts).filter((status) => status !== "200" && status !== "503")).toEqual([]);
      expect(counts["200"] ?? 0).toBeGreaterThanOrEqual(servedMin);
      expect(unready).toEqual([]);
      expect(tookMs.length).toBeGreaterThan(0);
      expect(tookMs.reduce((most, value) => Math.max(most, value), 0)).toBeLessThan(READY_MS_MAX);
      expect(holdMs).toBeLessThan(HOLD_MS_MAX);
      expect(peakMb()).toBeLessThan(MEMORY_MB_MAX);
    },
    300_000,
  );
});

test("a proof of a longer chain than a proof may have is refused, and says so", async () => {
  const path = `/v1/event-anchors/${leafGrant}/trace?proof=true`;
  const { status, json } = await until("it is answered", async () => {
    const answer = await sendTo(port, "GET", path, undefined, headers);
    return answer.status === 503 ? null : answer;
  });
  expect([status, json.code]).toEqual([409, "proof_too_large"]);
}, 60_000);
