import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { WitnessLine } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EMPTY_ROOT, bytesToBase64, parseNote, parseVkey } from "@event-anchoring/protocol";
import type { Vkey } from "@event-anchoring/protocol";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { httpWitnessTransport } from "../../packages/control-plane/src/process/witness-http.ts";
import { submitHead } from "../../packages/control-plane/src/witnessing/submit-head.ts";
import { isGoodWitnessLine } from "../../packages/control-plane/src/witnessing/witness-lines.ts";

// How this service asks its witnesses, held against litewitness of filippo.io/torchwood. Its key is in an ssh-agent,
// and its list of logs in SQLite, so the programs of both are needed.

const PROGRAM = process.env["LITEWITNESS"] ?? "litewitness";
const needed = [PROGRAM, "ssh-agent", "ssh-add", "ssh-keygen", "sqlite3"];
const missing = needed.filter((program) => spawnSync(program, ["-h"]).error !== undefined);
const describeWithLitewitness = missing.length === 0 ? describe : describe.skip;
if (missing.length > 0) {
  const how = `it needs ${missing.join(", ")} on the PATH; litewitness of torchwood 0.9 may be named by LITEWITNESS`;
  process.stderr.write(`test/interop/litewitness.test.ts is skipped: ${how}\n`);
}

const LOG = new ForeignLog("log.example/one");
const FORK = new ForeignLog("log.example/one", (index) => `other ${index}`);
const UNKNOWN = new ForeignLog("log.example/unknown");

/** The tables of litewitness, with one log. */
const LOGS = [
  "CREATE TABLE log (origin TEXT PRIMARY KEY, tree_size INTEGER NOT NULL, tree_hash TEXT NOT NULL);",
  "CREATE TABLE key (origin TEXT NOT NULL, key TEXT NOT NULL, FOREIGN KEY(origin) REFERENCES log(origin));",
  `INSERT INTO log VALUES ('${LOG.origin}', 0, '${bytesToBase64(EMPTY_ROOT)}');`,
  `INSERT INTO key VALUES ('${LOG.origin}', '${LOG.vkey}');`,
].join("\n");

function run(program: string, args: readonly string[], options: { input?: string; socket?: string } = {}): string {
  const { input, socket } = options;
  const env = socket === undefined ? process.env : { ...process.env, SSH_AUTH_SOCK: socket };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", input, env });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout;
}

/** It cannot be told to take any port and to say which. */
async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

describeWithLitewitness("litewitness as a witness of a log of ours", () => {
  let home: string;
  let agent: ChildProcess;
  let witness: ChildProcess;
  let vkey: Vkey;
  let url: string;
  const transport = httpWitnessTransport();

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "litewitness-"));
    const [key, socket, database] = [join(home, "key"), join(home, "agent"), join(home, "db")];
    run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: ["ignore", "pipe", "inherit"] });
    if (agent.stdout !== null) await once(agent.stdout, "data");
    run("ssh-add", ["-q", key], { socket });
    const fingerprint = run("ssh-keygen", ["-lf", `${key}.pub`]).split(" ")[1] ?? "";
    run("sqlite3", [database], { input: LOGS });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const flags = { name: "witness.example/lite", db: database, "ssh-agent": socket, key: fingerprint };
    const args = Object.entries({ ...flags, listen: `127.0.0.1:${port}` }).flatMap(([name, value]) => [
      `-${name}`,
      value,
    ]);
    const child = spawn(PROGRAM, args, { stdio: ["ignore", "ignore", "pipe"] });
    witness = child;
    let text = "";
    for await (const line of createInterface({ input: child.stderr })) {
      text = /vkey=(\S+)/.exec(line)?.[1] ?? text;
      if (line.includes("msg=listening")) break;
    }
    vkey = parseVkey(text.replaceAll('"', ""), nodeCrypto.sha256);
  }, 60_000);

  afterAll(async () => {
    for (const child of [witness, agent]) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    rmSync(home, { recursive: true });
  });

  async function submit(log: ForeignLog, treeSize: number, knownSize: number, checkpoint = log.checkpoint(treeSize)) {
    const { text: checkpointText } = parseNote(checkpoint);
    const proveGrowth = async (oldSize: number) => log.proof(oldSize, treeSize);
    const head = { treeSize, checkpoint, proveGrowth };
    const witness = { name: vkey.name, vkey, url };
    const isGood = (line: WitnessLine) => isGoodWitnessLine(witness, checkpointText, line, nodeCrypto);
    const parts = { transport, isGood, signal: AbortSignal.timeout(10_000) };
    // It listens a moment after it has said so.
    for (;;) {
      const outcome = await submitHead(head, witness, knownSize, parts);
      if (outcome.kind !== "failed" || outcome.failure !== "unreachable") return outcome;
    }
  }

  test("gives a good line from any size that it is asked from, and refuses by statuses that we know", async () => {
    expect(await submit(LOG, 3, 0)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 8, 3)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 20, 0)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 20, 20)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 5, 0)).toEqual({ kind: "ahead", treeSize: 20 });
    expect(await submit(FORK, 21, 20)).toMatchObject({ failure: "other_history" });
    const unsigned = LOG.checkpoint(21).replace("\n21\n", "\n22\n");
    expect(await submit(LOG, 22, 20, unsigned)).toMatchObject({ failure: "log_key_unknown" });
    expect(await submit(UNKNOWN, 3, 0)).toMatchObject({ failure: "log_unknown" });
  });
});
