import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  bytesToBase64,
  bytesToHex,
  concatBytes,
  formatVkey,
  makeVkey,
  parseCheckpoint,
  parseNote,
  utf8ToBytes,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import { fixedKey } from "../vector-builders/keys.ts";
import { buildGo, whatGoLacks } from "./go-program.ts";
import { OwnWitness } from "./own-witness.ts";

// A log that others wrote has a node of ours cosign its checkpoints: Tessera publishes none that its witnesses have not
// signed. So its client, its proofs and its verification are held against ours at once.

const MODULE = "witnessed-log";
const lack = whatGoLacks(MODULE);
const describeWithGo = lack === null ? describe : describe.skip;
if (lack !== null) process.stderr.write(`test/interop/witness.test.ts is skipped: ${lack}\n`);

const ORIGIN = "log.example/tessera";
const SEED = new Uint8Array(32).fill(0x61);
const logVkey = makeVkey(ORIGIN, VKEY_TYPE.ed25519, fixedKey(0x61).publicKey, nodeCrypto.sha256);
/** As golang.org/x/mod/sumdb/note writes a signing key. */
const logKey = [
  "PRIVATE+KEY",
  ORIGIN,
  logVkey.keyId.toString(16).padStart(8, "0"),
  bytesToBase64(concatBytes(Uint8Array.of(VKEY_TYPE.ed25519), SEED)),
].join("+");

describeWithGo("a log of Tessera with a node of ours as its witness", () => {
  let home: string;
  let witness: OwnWitness;
  let log: ChildProcessWithoutNullStreams;
  let checkpoints: AsyncIterator<string>;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "anchoring-interop-"));
    const program = join(home, MODULE);
    buildGo(MODULE, program);
    witness = await OwnWitness.create("witness.example/n1", formatVkey(logVkey));
    await witness.start();
    log = spawn(program, [join(home, "log"), logKey, witness.prefix, witness.vkeyText]);
    log.stderr.pipe(process.stderr);
    checkpoints = createInterface({ input: log.stdout })[Symbol.asyncIterator]();
  }, 300_000);

  afterAll(async () => {
    log.stdin.end();
    if (log.exitCode === null) await once(log, "exit");
    await witness.end();
    rmSync(home, { recursive: true });
  });

  /** The published checkpoint that covers another entry. */
  async function published(entry: string): Promise<string> {
    log.stdin.write(`${entry}\n`);
    const { value } = await checkpoints.next();
    return JSON.parse(String(value)) as string;
  }

  function assertWitnessed(checkpoint: string): number {
    const { verified } = verifyKnownLines(parseNote(checkpoint), [logVkey, witness.vkey], nodeCrypto.ed25519Verify);
    expect(verified.map(({ vkey }) => vkey.name)).toEqual([ORIGIN, witness.vkey.name]);
    return parseCheckpoint(parseNote(checkpoint).text).treeSize;
  }

  test("each head is published with our line, over a restart of the witness too", async () => {
    const sizes: number[] = [];
    for (let entry = 0; entry < 3; entry++) sizes.push(assertWitnessed(await published(`entry ${entry}`)));
    await witness.stop();
    await witness.start();
    for (let entry = 3; entry < 9; entry++) sizes.push(assertWitnessed(await published(`entry ${entry}`)));
    expect(sizes).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }, 120_000);

  test("the witness shows what it has cosigned, under the monitoring prefix", async () => {
    const originHash = bytesToHex(nodeCrypto.sha256(utf8ToBytes(ORIGIN)));
    const answer = await fetch(`${witness.prefix}/${originHash}/checkpoint`);
    expect(answer.status).toBe(200);
    expect(assertWitnessed(await answer.text())).toBe(9);
  });
});
