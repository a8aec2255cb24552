import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex, utf8ToBytes } from "@event-anchoring/protocol";
import { prepareWitness } from "@event-anchoring/provision";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { openWitness } from "../src/process/open-witness.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";
import { StepClock, quietLogger } from "./doubles.ts";

const LOG = new ForeignLog("log.example/one");
const ceremony = ceremonyOf(["a", "b", "c"]);

let folder: string;
let promiseFile: string;
let logs: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "witness-"));
  promiseFile = join(folder, "promises", "witness");
  logs = join(folder, "logs.txt");
  await writeFile(logs, `logs/v0\nvkey ${LOG.vkey}\n`);
  await prepareWitness({ identityDir: folder, name: "witness.example/a", promiseFile });
});
afterEach(() => rm(folder, { recursive: true }));

function opening(): ReturnType<typeof openWitness> {
  const config = { witness: { logs, promise_file: promiseFile }, identity_dir: folder };
  return openWitness({ config, identity: identityOf(ceremony, "a"), clock: new StepClock(), logger: quietLogger });
}

const useSeed = (seed: Uint8Array): Promise<void> => writeFile(join(folder, "witness.key"), `${bytesToHex(seed)}\n`);

describe("what a node needs as a witness", () => {
  test("is a key, its promises and a list; then it cosigns", async () => {
    const opened = await opening();
    const answer = await opened?.witness.add(utf8ToBytes(LOG.request(0, 5)));
    expect(answer).toMatchObject({ kind: "cosigned", lines: expect.stringContaining("\u2014 witness.example/a ") });
    await opened?.close();
  });

  test("is not needed by a node that witnesses nothing", async () => {
    const config = { witness: null, identity_dir: folder };
    const parts = { identity: identityOf(ceremony, "a"), clock: new StepClock(), logger: quietLogger };
    expect(await openWitness({ config, ...parts })).toBeNull();
  });

  test("is made once", async () => {
    const again = { identityDir: folder, name: "witness.example/a", promiseFile };
    await expect(prepareWitness(again)).rejects.toThrow("never made anew");
    await rm(join(folder, "witness.key"));
    await expect(prepareWitness(again)).rejects.toThrow("never made anew");
    await rm(promiseFile);
    await expect(prepareWitness({ ...again, name: "two words" })).rejects.toThrow("not the name of a key");
    expect((await prepareWitness(again)).name).toBe("witness.example/a");
  });

  test("with the promises lost, the key is not used again", async () => {
    await rm(promiseFile);
    await expect(opening()).rejects.toThrow("cannot read the promises of the witness");
  });

  test("with another key than that of the promises, the node does not start", async () => {
    await useSeed(new Uint8Array(32).fill(9));
    await expect(opening()).rejects.toThrow("promises of another key");
  });

  test.each([
    ["this node's cosigner key", () => ceremony.nodes[0]?.cosignerSeed, "another key of this node"],
    ["this node's auth key", () => ceremony.nodes[0]?.authSeed, "another key of this node"],
    ["another node's cosigner key", () => ceremony.nodes[1]?.cosignerSeed, "the trust root or the list"],
    ["an operator's key", () => ceremony.operators[0]?.seed, "the trust root or the list"],
  ])("with %s, the node does not start", async (_, seedOf, reason) => {
    await useSeed(seedOf() ?? new Uint8Array(0));
    await expect(opening()).rejects.toThrow(reason);
  });

  test("with a list or promises that cannot be read, the node does not start, and says which file it is", async () => {
    await writeFile(logs, "logs/v0\nqpd 5\n");
    await expect(opening()).rejects.toThrow(`${logs}: line 2`);
    await rm(logs);
    await expect(opening()).rejects.toThrow(logs);
    await writeFile(logs, "logs/v0\n");
    await writeFile(promiseFile, (await readFile(promiseFile, "utf8")).slice(1));
    await expect(opening()).rejects.toThrow(promiseFile);
  });
});
