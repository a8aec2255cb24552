import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client, NotFound, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { startTestCluster } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit";
import { killLeader } from "../cluster/kill-leader.ts";

// A program records while it is killed again and again, and the leader of the cluster now and then:
// RECORDED=4000 npm run jest -- --config test/run/long.config.js test/long/recorder-kills

const RECORDED = Number(process.env["RECORDED"] ?? 2_000);
const KILLS = 12;
/** Every so many kills of the program, one of the leader. */
const LEADER_EVERY = 4;
/** Room for slow machines: 35 ms for each event beside other work (2 vCPU), and what kills and cluster take. */
const TIMEOUT_MS = 600_000 + RECORDED * 35;
const PROGRAM = join(import.meta.dirname, "recording-program.js");

const directory = mkdtempSync(join(tmpdir(), "anchoring-recorder-kills-"));
const kept = join(directory, "kept");
let setup: TestCluster;
let client: Client;
let trustRoot: TrustRootChain;

beforeAll(async () => {
  setup = await startTestCluster();
  await setup.leader();
  const { nodes, trust_root } = setup.cluster.file;
  trustRoot = verifyTrustRoot({ documents: [trust_root.document], pinnedRootThk: trust_root.root_thk });
  client = new Client({ endpoints: nodes.map((node) => node.api_url), apiKey: setup.apiKey, trustRoot });
}, 300_000);

afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await setup.erase();
}, 240_000);

interface Run {
  /** Events that `record` has returned for, as far as the program could say. */
  readonly recorded: number;
  readonly status: number | null;
}

/** Records from an event on, and is killed when it has said that it is past another one; null: it ends by itself. */
async function run(first: number, killAt: number | null): Promise<Run> {
  const endpoints = setup.cluster.file.nodes.map((node) => node.api_url).join(",");
  const env = { ...process.env, ANCHORING_API_KEY: setup.apiKey };
  const args = [PROGRAM, directory, endpoints, String(RECORDED), String(first)];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit") as Promise<[number | null]>;
  let recorded = first;
  for await (const line of createInterface(child.stdout)) {
    recorded = Number(line) + 1;
    if (killAt !== null && recorded >= killAt) child.kill("SIGKILL");
  }
  const [status] = await ended;
  return { recorded, status };
}

/** How many leaves all origins have. */
async function leaves(): Promise<number> {
  const sizes = setup.cluster.file.nodes.map(async ({ origin_fingerprint: originFingerprint }) => {
    try {
      return (await client.latest({ originFingerprint })).treeSize;
    } catch (error) {
      // Only its first leaf is there, which no client has asked for.
      if (error instanceof NotFound) return 1;
      throw error;
    }
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

test(
  "each event is anchored exactly once, and its receipt is beside its payload",
  async () => {
    const before = await leaves();
    let recorded = 0;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const killed = await run(recorded, Math.max(recorded + 1, Math.floor((RECORDED * kill) / (KILLS + 1))));
      expect(killed.status).toBeNull();
      // One that was killed before it could say so has recorded the event: it is the same if it is recorded again.
      ({ recorded } = killed);
      if (kill % LEADER_EVERY === 0) await killLeader(setup);
    }
    expect(await run(recorded, null)).toEqual({ recorded: RECORDED, status: 0 });
    expect(readdirSync(join(directory, "spool"))).toEqual([]);
    expect(existsSync(join(directory, "refused"))).toBe(false);
    expect(await leaves()).toBe(before + RECORDED);

    const names = readdirSync(kept, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    const [contents, anchors] = [new Set<number>(), new Set<string>()];
    for (const name of names) {
      const payload = readFileSync(join(kept, name));
      const { content } = JSON.parse(payload.toString()) as { readonly content: { readonly at: number } };
      const eventHash = createHash("sha256").update(payload).digest();
      const receipt = readFileSync(join(kept, `${name}.tlog-proof`), "utf8");
      contents.add(content.at);
      anchors.add(verifyReceipt(receipt, { trustRoot, eventHash }).anchorId);
    }
    expect([names.length, contents.size, anchors.size]).toEqual([RECORDED, RECORDED, RECORDED]);
  },
  TIMEOUT_MS,
);
