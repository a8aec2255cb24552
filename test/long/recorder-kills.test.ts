import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, NotFound, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import { findPythonWith, findRustProgram } from "@event-anchoring/testkit/sdks";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { killLeader } from "../cluster/kill-leader.ts";

// A program records while it is killed again and again, and the leader of the cluster now and then:
// RECORDED=4000 npm run jest -- --config test/run/long.config.js test/long/recorder-kills

const KILLS = 12;
/** Every so many kills of the program, one of the leader. */
const LEADER_EVERY = 4;
/** About what an event takes in the spool: as many may wait as are recorded between two kills. */
const EVENT_BYTES = 500;
const SPOOL_BYTES_MAX = 256 * 1024;

/** A program that takes the arguments of recording-program.js; null: it is not here. */
interface RecordingProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const TYPESCRIPT: RecordingProgram = {
  command: process.execPath,
  args: [join(import.meta.dirname, "recording-program.js")],
  environment: {},
};

function pythonProgram(): RecordingProgram | null {
  const found = findPythonWith("event_anchoring.recorder");
  if (found === null) return null;
  const args = [join(import.meta.dirname, "recording-program.py")];
  return { command: found.program, args, environment: found.environment };
}

function rustProgram(): RecordingProgram | null {
  const sources = ["src", "examples/record_until_killed.rs"];
  const found = findRustProgram(["debug/examples"], /^record_until_killed$/, sources);
  return found === null ? null : { command: found, args: [], environment: {} };
}

const LANGUAGES = [
  { language: "TypeScript", program: TYPESCRIPT, recorded: 2_000, comesFrom: "npm run build" },
  { language: "Python", program: pythonProgram(), recorded: 300, comesFrom: "packages/sdk-python/ci.sh" },
  { language: "Rust", program: rustProgram(), recorded: 300, comesFrom: "packages/sdk-rust/ci.sh" },
].map(({ recorded, ...each }) => ({ ...each, count: Number(process.env["RECORDED"] ?? recorded) }));

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
  await setup.erase();
}, 240_000);

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

interface Run {
  /** Events that `record` has returned for, as far as the program could say. */
  readonly recorded: number;
  readonly status: number | null;
}

/** A program, and the folder that it records into. */
class Recording {
  readonly directory = mkdtempSync(join(tmpdir(), "anchoring-recorder-kills-"));
  readonly #program: RecordingProgram;
  readonly #count: number;

  constructor(program: RecordingProgram, count: number) {
    this.#program = program;
    this.#count = count;
  }

  /** How many events are recorded at the most before a kill, and about as many at the kill before it. */
  #eventsAt(kill: number): number {
    return Math.floor((this.#count * kill) / (KILLS + 1));
  }

  /** Records from an event on, and is killed when it has recorded its share, or soon after. */
  async runUntilKill(kill: number, first: number): Promise<Run> {
    return this.#run(first, this.#eventsAt(kill + 1), Math.max(first + 1, this.#eventsAt(kill)));
  }

  /** Records all that are left, and ends by itself. */
  async runToTheEnd(first: number): Promise<Run> {
    return this.#run(first, this.#count, null);
  }

  async #run(first: number, end: number, killAt: number | null): Promise<Run> {
    const { command, args, environment } = this.#program;
    const endpoints = setup.cluster.file.nodes.map((node) => node.api_url).join(",");
    const spoolBytesMax = Math.min(SPOOL_BYTES_MAX, this.#eventsAt(1) * EVENT_BYTES);
    const said = [this.directory, endpoints, String(spoolBytesMax), String(first), String(end)];
    const env = { ...process.env, ...environment, ANCHORING_API_KEY: setup.apiKey };
    const child = spawn(command, [...args, ...said], { env, stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "exit") as Promise<[number | null]>;
    // Until then it does not end: one that is to be killed has nothing to flush and end for.
    if (killAt === null) child.stdin.end();
    let recorded = first;
    for await (const line of createInterface(child.stdout)) {
      recorded = Number(line) + 1;
      if (killAt !== null && recorded >= killAt) child.kill("SIGKILL");
    }
    const [status] = await ended;
    return { recorded, status };
  }

  /** The number of each kept event, and the anchor that its receipt proves. */
  kept(): readonly { readonly at: number; readonly anchorId: string }[] {
    const kept = join(this.directory, "kept");
    const names = readdirSync(kept, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    return names.map((name) => {
      const payload = readFileSync(join(kept, name));
      const { content } = JSON.parse(payload.toString()) as { readonly content: { readonly at: number } };
      const eventHash = createHash("sha256").update(payload).digest();
      const receipt = readFileSync(join(kept, `${name}.tlog-proof`), "utf8");
      return { at: content.at, anchorId: verifyReceipt(receipt, { trustRoot, eventHash }).anchorId };
    });
  }

  erase(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

for (const { language, program, count, comesFrom } of LANGUAGES) {
  if (program === null) {
    process.stderr.write(
      `test/long/recorder-kills.test.ts goes without ${language}: ${comesFrom} makes what it runs\n`,
    );
  }
  (program === null ? describe.skip : describe)(`the recorder of ${language}`, () => {
    let recording: Recording;

    beforeAll(() => {
      if (program === null) throw new Error(`there is no program of ${language}`);
      recording = new Recording(program, count);
    });

    afterAll(() => recording.erase());

    test(
      "anchors each event exactly once, and its receipt is beside its payload",
      async () => {
        const before = await leaves();
        let recorded = 0;
        for (let kill = 1; kill <= KILLS; kill += 1) {
          const killed = await recording.runUntilKill(kill, recorded);
          expect(killed.status).toBeNull();
          // One that was killed before it could say so has recorded the event: it is the same if it is recorded again.
          ({ recorded } = killed);
          if (kill % LEADER_EVERY === 0) await killLeader(setup);
        }
        expect(await recording.runToTheEnd(recorded)).toEqual({ recorded: count, status: 0 });
        expect(readdirSync(join(recording.directory, "spool"))).toEqual([]);
        expect(existsSync(join(recording.directory, "refused"))).toBe(false);
        expect(await leaves()).toBe(before + count);

        const kept = recording.kept();
        const numbers = new Set(kept.map(({ at }) => at));
        const anchors = new Set(kept.map(({ anchorId }) => anchorId));
        expect([kept.length, numbers.size, anchors.size]).toEqual([count, count, count]);
      },
      // Room for slow machines: 35 ms for each event beside other work (2 vCPU), and what kills take.
      600_000 + count * 35,
    );
  });
}
