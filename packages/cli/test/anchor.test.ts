import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, formatProof, receiptToJson } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

const maker = createReceiptMaker();
const content = "to whom it may concern\n";
const eventHash = Uint8Array.from(createHash("sha256").update(content).digest());
const receipt = maker.receipt(eventHash);
const receiptJson = receiptToJson(receipt, 1, nodeCrypto.sha256);
const created = { anchor: { anchor_id: receiptJson.anchor_id }, receipt: receiptJson, replayed: false };

interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers of a stand-in node by path, in turn; the newest one is repeated. */
type Script = Readonly<Record<string, readonly { readonly status: number; readonly body: object | string }[]>>;

let home: string;
let file: string;
let servers: Server[];
let asked: Asked[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-anchor-"));
  file = join(home, "letter.txt");
  writeFileSync(file, content);
  mkdirSync(join(home, ".anchoring"));
  writeFileSync(join(home, ".anchoring", "trust-root.txt"), maker.trustRootDocument);
  writeFileSync(join(home, ".anchoring", "root-thk.txt"), bytesToHex(maker.rootThk));
  servers = [];
  asked = [];
});

afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(home, { recursive: true, force: true });
});

const HEALTH = { "/healthz": [{ status: 200, body: { origin_fingerprint: bytesToHex(maker.originFingerprint) } }] };

async function standIn(script: Script): Promise<string> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const text = Buffer.concat(chunks).toString("utf8");
      const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
      asked.push({ path, authorization: request.headers.authorization, body });
      const answers = { ...HEALTH, ...script }[path] ?? [];
      const count = counts.get(path) ?? 0;
      counts.set(path, count + 1);
      const answer = answers[Math.min(count, answers.length - 1)];
      if (answer === undefined) {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

function writeCluster(apiUrls: readonly string[], fields: object = {}): void {
  const nodes = apiUrls.map((apiUrl, i) => ({ id: `n${i + 1}`, api_url: apiUrl }));
  writeFileSync(
    join(home, ".anchoring", "cluster.json"),
    JSON.stringify({ state: "running", api_key: "ank_test", nodes, ...fields }),
  );
}

const anchor = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, ["anchor", file, ...args]);

const POST = "/v1/event-anchors";
const BUSY = { status: 503, body: { code: "no_leader", detail: "an election is under way" } };
const CREATED = { status: 201, body: created };

describe("anchorctl anchor", () => {
  test("hashes the file, writes to the origin of the node, and keeps a verified receipt", async () => {
    writeCluster([await standIn({ [POST]: [CREATED] })]);
    const { exitCode, stdout, stderr } = await anchor("--event-id", "letter 1");
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(asked.map(({ path }) => path)).toEqual(["/healthz", POST]);
    expect(asked[1]).toEqual({
      path: POST,
      authorization: "Bearer ank_test",
      body: {
        origin_fingerprint: bytesToHex(maker.originFingerprint),
        event_hash: bytesToHex(eventHash),
        client_event_id: "letter 1",
      },
    });
    expect(readFileSync(`${file}.tlog-proof`, "utf8")).toBe(formatProof(receipt));
    expect(stdout).toContain("Certified by n1, n2");
    expect((await runAnchorctl(home, ["verify", file])).exitCode).toBe(0);
  });

  test("asks the next node, with the same id, when one is busy or gone", async () => {
    const busy = await standIn({ [POST]: [BUSY] });
    const good = await standIn({ [POST]: [CREATED] });
    writeCluster([busy, "http://127.0.0.1:9", good]);
    expect((await anchor()).exitCode).toBe(0);
    const writes = asked.filter(({ path }) => path === POST);
    expect(writes).toHaveLength(2);
    expect(new Set(writes.map(({ body }) => body["client_event_id"])).size).toBe(1);
    expect(new Set(writes.map(({ body }) => body["origin_fingerprint"])).size).toBe(1);
  });

  test("fetches the receipt of an anchor that was committed and not yet certified", async () => {
    const pending = { status: 202, body: { ...created, receipt: null } };
    const path = `/v1/event-anchors/${receiptJson.anchor_id}/receipt`;
    const stalled = { status: 503, body: { code: "certification_stalled", detail: "" } };
    writeCluster([await standIn({ [POST]: [pending], [path]: [stalled, { status: 200, body: receiptJson }] })]);
    expect((await anchor()).exitCode).toBe(0);
    expect(existsSync(`${file}.tlog-proof`)).toBe(true);
  });

  test("says that a replay is one", async () => {
    writeCluster([await standIn({ [POST]: [{ status: 200, body: { ...created, replayed: true } }] })]);
    const { stdout } = await anchor("--json");
    expect(JSON.parse(stdout)).toMatchObject({ replayed: true, receipt_verified: true });
  });

  test.each([
    [
      "a problem",
      { status: 409, body: { code: "client_event_id_conflict", detail: "other content" } },
      3,
      "client_event_id_conflict",
    ],
    ["a refused key", { status: 401, body: { code: "api_key_invalid", detail: "" } }, 3, "api_key_invalid"],
    [
      "a receipt of another file",
      { status: 201, body: { ...created, receipt: { ...receiptJson, ...otherReceipt() } } },
      1,
      "content_differs",
    ],
    ["a receipt without quorum", { status: 201, body: { ...created, receipt: weakReceipt() } }, 1, "quorum_not_met"],
    ["a receipt that is none", { status: 201, body: { ...created, receipt: { leaf: 1 } } }, 1, "proof_malformed"],
    ["no receipt and no anchor", { status: 201, body: {} }, 4, "answer_malformed"],
    ["HTML", { status: 200, body: "<html>" }, 4, "outcome_unknown"],
    ["503 without end", BUSY, 4, "outcome_unknown"],
  ])("writes nothing after %s", async (_title, answer, exitCode, failure) => {
    writeCluster([await standIn({ [POST]: [answer] })]);
    const run = await anchor("--json", "--timeout", "1");
    expect(run.exitCode).toBe(exitCode);
    expect(JSON.parse(run.stdout)).toMatchObject({ failure });
    expect(existsSync(`${file}.tlog-proof`)).toBe(false);
  });

  test("says how to ask again when the outcome is unknown", async () => {
    writeCluster([await standIn({ [POST]: [BUSY] })]);
    const { stderr } = await anchor("--timeout", "1", "--event-id", "letter 1");
    expect(stderr).toContain("no_leader");
    expect(stderr).toContain("--event-id letter 1");
  });

  test.each([
    ["a stopped cluster", { state: "stopped" }, [], 4, "cluster_stopped"],
    ["a cluster without a key", { api_key: null }, [], 2, "api_key_missing"],
    ["a cluster file that is none", { nodes: "three" }, [], 2, "cluster_file_damaged"],
    ["an event id outside of ASCII", {}, ["--event-id", "é"], 2, "event_id_invalid"],
    ["a timeout of nothing", {}, ["--timeout", "soon"], 2, "timeout_invalid"],
    ["a folder without a cluster", {}, ["--cluster", "/nowhere"], 2, "cannot_read"],
  ])("refuses %s", async (_title, fields, args, exitCode, failure) => {
    writeCluster(["http://127.0.0.1:9"], fields);
    const run = await anchor("--json", ...args);
    expect(run.exitCode).toBe(exitCode);
    expect(JSON.parse(run.stdout)).toMatchObject({ failure });
  });

  test("talks to given addresses with the key of the environment, and says that the receipt is unchecked", async () => {
    const apiUrl = await standIn({ [POST]: [CREATED] });
    const run = await runAnchorctl(home, ["anchor", file, "--api-url", `${apiUrl}/`], {
      ANCHORING_API_KEY: "ank_mine",
    });
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain("not verified");
    expect(asked.map(({ authorization }) => authorization)).toEqual(["Bearer ank_mine", "Bearer ank_mine"]);
  });
});

describe("anchorctl status", () => {
  test("shows a node that is ready, one that is not and one that is gone", async () => {
    const health = {
      status: "ok",
      node_id: "n1",
      raft: { role: "leader", term: 3, commit_index: 9, applied_index: 9 },
    };
    const failing = { check: "storage", result: "fail", detail: "no database" };
    const ready = await standIn({
      "/healthz": [{ status: 200, body: health }],
      "/readyz": [{ status: 200, body: { ready: true, checks: [] } }],
    });
    const unready = await standIn({
      "/healthz": [{ status: 200, body: { ...health, node_id: "n2" } }],
      "/readyz": [{ status: 503, body: { ready: false, checks: [failing] } }],
    });
    writeCluster([ready, unready, "http://127.0.0.1:9"]);
    const { exitCode, stdout } = await runAnchorctl(home, ["status"]);
    expect(exitCode).toBe(4);
    expect(stdout).toContain("✓ n1");
    expect(stdout).toContain("leader, term 3");
    expect(stdout).toContain("✗ n2");
    expect(stdout).toContain("storage: no database");
    expect(stdout).toContain("connection refused");
    writeCluster([ready]);
    expect((await runAnchorctl(home, ["status", "--json"])).exitCode).toBe(0);
  });

  test("a halted node says why, and is no election", async () => {
    const sync = { version: 1, in_sync: true };
    const raft = { role: "leader", term: 3, commit_index: 9, applied_index: 9 };
    const well = await standIn({
      "/healthz": [{ status: 200, body: { status: "ok", node_id: "n1", raft, prime_root_thk: sync } }],
      "/readyz": [{ status: 200, body: { ready: true, checks: [] } }],
    });
    const halted = { check: "halted", result: "fail", detail: "diverged: a quorum of peers contradicts this node" };
    const ended = await standIn({
      "/healthz": [{ status: 200, body: { status: "error", node_id: "n2" } }],
      "/readyz": [{ status: 503, body: { ready: false, checks: [halted] } }],
    });
    writeCluster([well, ended]);
    const { exitCode, stdout } = await runAnchorctl(home, ["status"]);
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/✗ +halted: diverged: a quorum of peers contradicts this node/);
    expect(stdout).not.toContain("election");
    expect(stdout).toContain("n1 leads");
    expect(asked.map(({ authorization }) => authorization)).toEqual(Array(4).fill("Bearer ank_test"));
  });

  test("names what a node that serves holds against others, and the peers that it has cut off", async () => {
    const detail = `origin ${"ab".repeat(32)} has stopped; n3 has signed two roots of one size`;
    const health = {
      status: "degraded",
      node_id: "n1",
      contradictions: { named: ["n3"], origins: ["ab".repeat(32)], evidence: ["x.notes"], evidence_files: 1 },
      peers_cut_off: [
        { node_id: "n3", remaining_seconds: 12, offences: [{ offence: "impossible_message", count: 3 }] },
      ],
    };
    const check = { check: "contradictions", result: "warn", detail };
    const suspicious = await standIn({
      "/healthz": [{ status: 200, body: health }],
      "/readyz": [{ status: 200, body: { ready: true, checks: [check] } }],
    });
    writeCluster([suspicious]);
    const { exitCode, stdout } = await runAnchorctl(home, ["status"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/✓ n1/);
    expect(stdout).toContain(`! ${" ".repeat(15)}contradictions: origin ${"ab".repeat(32)} has stopped\n`);
    expect(stdout).toContain(`! ${" ".repeat(15)}n3 has signed two roots of one size\n`);
    expect(stdout).toContain("cut off: n3 for 12 s more (impossible_message 3)");
    const json: unknown = JSON.parse((await runAnchorctl(home, ["status", "--json"])).stdout);
    expect(json).toMatchObject({ ready: true, nodes: [{ warnings: [`contradictions: ${detail}`], health }] });
  });

  test("without a key nobody is said not to lead", async () => {
    const open = await standIn({
      "/healthz": [{ status: 200, body: { status: "ok", node_id: "n1" } }],
      "/readyz": [{ status: 200, body: { ready: true, checks: [] } }],
    });
    const { exitCode, stdout } = await runAnchorctl(home, ["status", "--api-url", open]);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("no leader");
    expect(stdout).toContain("the leader is shown only with an API key");
  });
});

function otherReceipt(): object {
  return receiptToJson(maker.receipt(new Uint8Array(32).fill(7)), 1, nodeCrypto.sha256);
}

function weakReceipt(): object {
  return receiptToJson(maker.receipt(eventHash, { cosigners: 1 }), 1, nodeCrypto.sha256);
}
