import { afterEach, describe, expect, test } from "@jest/globals";
import { VerifierThread, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { SignedMessage } from "@event-anchoring/node-crypto";

/** As it is built: a thread does not get what Jest makes of the sources. */
const PROGRAM = new URL("../dist/verifier-worker.js", import.meta.url);

const signer = createSigner(new Uint8Array(32).fill(1));
const { publicKey } = signer;

function signed(seed: number): SignedMessage {
  const message = new Uint8Array(100).fill(seed);
  return { publicKey, message, signature: signer.sign(message) };
}

const GOOD = signed(1);
const OF_EVERY_SORT: readonly SignedMessage[] = [
  GOOD,
  { ...GOOD, message: new Uint8Array(0) },
  { ...GOOD, publicKey: new Uint8Array(32) },
  { ...GOOD, publicKey: new Uint8Array(32).fill(0xff) },
  { ...GOOD, publicKey: publicKey.subarray(1) },
  { ...GOOD, signature: new Uint8Array(64) },
  { ...GOOD, signature: GOOD.signature.subarray(1) },
  signed(2),
];

/** A thread with another program. */
function threadOf(source: string): VerifierThread {
  return new VerifierThread(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
}

let thread: VerifierThread | null = null;

afterEach(async () => {
  await thread?.close();
  thread = null;
});

describe("the verifying thread", () => {
  test("gives the verdicts of the synchronous rule, job by job, each in its order", async () => {
    const verifying = new VerifierThread(PROGRAM);
    thread = verifying;
    const jobs = [OF_EVERY_SORT, [GOOD], [], OF_EVERY_SORT.toReversed()];
    const verdicts = await Promise.all(jobs.map((job) => verifying.verify(job)));
    const expected = jobs.map((job) =>
      job.map((each) => nodeCrypto.ed25519Verify(each.publicKey, each.message, each.signature)),
    );
    expect(verdicts).toEqual(expected);
    expect(expected[0]).toEqual([true, false, false, false, false, false, false, true]);
  });

  test("takes what a view shows and nothing of the memory around it", async () => {
    thread = new VerifierThread(PROGRAM);
    const around = new Uint8Array(1000).fill(9);
    around.set(GOOD.message, 300);
    const message = around.subarray(300, 300 + GOOD.message.length);
    expect(await thread.verify([{ ...GOOD, message }])).toEqual([true]);
  });

  test.each([
    ["throws", `throw new Error("no verdict")`],
    ["ends", `process.exit(0)`],
    ["answers too little", `port.postMessage(new Uint8Array(0))`],
  ])("that %s fails every job that it had, and gives no verdict", async (_what, act) => {
    const source = `import { parentPort as port } from "node:worker_threads"; port.on("message", () => { ${act} });`;
    thread = threadOf(source);
    const jobs = [thread.verify([GOOD]), thread.verify([GOOD, GOOD])];
    const ends = await Promise.allSettled(jobs);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  test("that has failed is replaced by another one", async () => {
    thread = threadOf(`import { parentPort as port } from "node:worker_threads";
      port.on("message", (job) => {
        if (job.length > 0) throw new Error("no verdict");
        port.postMessage(new Uint8Array(0));
      });`);
    await expect(thread.verify([GOOD])).rejects.toThrow("no verdict");
    expect(await thread.verify([])).toEqual([]);
  });

  test("that is closed fails what it had, and takes nothing more", async () => {
    thread = new VerifierThread(PROGRAM);
    const [late] = await Promise.all([Promise.allSettled([thread.verify([GOOD])]), thread.close()]);
    expect(late).toMatchObject([{ status: "rejected", reason: { message: "the verifying thread is closed" } }]);
    await expect(thread.verify([GOOD])).rejects.toThrow("closed");
  });
});
