import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SignatureToVerify } from "@event-anchoring/records";
import { VerifierThread, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Logger } from "@event-anchoring/telemetry";
import type { VerifySignatures } from "../src/ports/environment.ts";
import { SignatureVerifier } from "../src/signatures/signature-verifier.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";

/** As it is built: a thread does not get what Jest makes of the sources. */
const VERIFIER_PROGRAM = new URL("../../node-crypto/dist/verifier-worker.js", import.meta.url);
const SIGNER = createSigner(new Uint8Array(32).fill(1));

function signatureOver(seed: number, isGood = true): SignatureToVerify {
  const message = Uint8Array.of(seed & 0xff, seed >> 8);
  const signature = SIGNER.sign(isGood ? message : Uint8Array.of(0xff, 0xff, 0xff));
  return { publicKey: SIGNER.publicKey, message, signature, pointer: "/signature" };
}

function signatures(from: number, count: number): SignatureToVerify[] {
  return Array.from({ length: count }, (_, position) => signatureOver(from + position));
}

/** A job under way: message numbers, and what ends it. */
interface Held {
  readonly seeds: readonly number[];
  finish(verdicts: readonly boolean[] | Error): void;
}

let clock: StepClock;
let held: Held[];
let computed: number;
let errors: string[];
let verifier: SignatureVerifier;

beforeEach(() => {
  clock = new StepClock();
  held = [];
  computed = 0;
  errors = [];
  const verify: VerifySignatures = (job) =>
    new Promise((resolve, reject) => {
      const finish = (verdicts: readonly boolean[] | Error): void =>
        verdicts instanceof Error ? reject(verdicts) : resolve(verdicts);
      held.push({ seeds: job.map(({ message }) => (message[0] ?? 0) + (message[1] ?? 0) * 256), finish });
    });
  const logger: Logger = { ...quietLogger, error: (event) => errors.push(event) };
  const crypto = {
    sha256: nodeCrypto.sha256,
    ed25519Verify: (...signed: Parameters<typeof nodeCrypto.ed25519Verify>) => {
      computed += 1;
      clock.advance(3);
      return nodeCrypto.ed25519Verify(...signed);
    },
  };
  verifier = new SignatureVerifier({ clock, logger, crypto, verify });
});

/** Whether the verdict is known; asking computes it otherwise. */
function ask({ publicKey, message, signature }: SignatureToVerify): boolean {
  return verifier.crypto.ed25519Verify(publicKey, message, signature);
}

/** Ends the oldest job. @param verdicts one for all of them, or one for each */
async function finish(verdicts: boolean | readonly boolean[] | Error): Promise<void> {
  const job = held.shift();
  job?.finish(typeof verdicts === "boolean" ? job.seeds.map(() => verdicts) : verdicts);
  await settle();
}

describe("verifying ahead of time", () => {
  test("gives the verdicts to whoever asks later, and tells when they are there", async () => {
    const good = signatureOver(1);
    const bad = signatureOver(2, false);
    let isDone = false;
    const done = verifier.verify([good, bad], "entry")?.then(() => (isDone = true));
    await settle();
    expect(isDone).toBe(false);
    await finish([true, false]);
    await done;
    expect([ask(good), ask(bad)]).toEqual([true, false]);
    expect(computed).toBe(0);
    expect(verifier.verify([good, bad], "entry")).toBeNull();
    expect(verifier.counts).toMatchObject({ thread: { count: 2 }, eventLoop: { count: 0 }, remembered: 2 });
  });

  test("asks once for what is under way or waits, whoever needs it", async () => {
    const [first, second, third] = [signatureOver(1), signatureOver(2), signatureOver(3)];
    const calls = [verifier.verify([first, first], "group"), verifier.verify([second, first], "group")];
    calls.push(verifier.verify([third, second], "entry"));
    expect(held.map(({ seeds }) => seeds)).toEqual([[1]]);
    await finish(true);
    expect(held.map(({ seeds }) => seeds)).toEqual([[3, 2]]);
    await finish(true);
    for (const call of calls) await call;
    expect(held).toEqual([]);
  });

  test("makes one job of an entry, and does not let it wait long behind groups", async () => {
    void verifier.verify(signatures(0, 150), "group");
    void verifier.verify([...signatures(200, 300), signatureOver(149)], "entry");
    const jobs: (readonly number[])[] = [];
    while (held.length > 0) {
      expect(held).toHaveLength(1);
      jobs.push(held[0]?.seeds ?? []);
      await finish(true);
    }
    expect(jobs.map(({ length }) => length)).toEqual([64, 301, 64, 21]);
    expect(jobs[1]?.slice(-2)).toEqual([499, 149]);
  });

  test("counts where the time went", async () => {
    const done = verifier.verify([signatureOver(1)], "entry");
    clock.advance(5);
    await finish(true);
    await done;
    ask(signatureOver(2));
    ask(signatureOver(2));
    expect(verifier.counts).toEqual({
      thread: { count: 1, ms: 5 },
      eventLoop: { count: 1, ms: 3 },
      remembered: 1,
      failed: 0,
    });
  });
});

describe("nothing but a verdict becomes one", () => {
  test.each<[string, Error | readonly boolean[]]>([
    ["an error", new Error("no thread")],
    ["too few verdicts", [true]],
    ["too many", [true, true, true]],
  ])("%s is waited for like a verdict, logged, and leaves the verdict to be computed", async (_what, error) => {
    const [good, bad] = [signatureOver(1), signatureOver(2, false)];
    const done = verifier.verify([good, bad], "entry");
    await finish(error);
    await done;
    expect(errors).toEqual(["verification_failed"]);
    expect([ask(good), ask(bad)]).toEqual([true, false]);
    expect(computed).toBe(2);
    expect(verifier.counts).toMatchObject({ thread: { count: 0 }, failed: 2 });
  });

  test("what is asked for before the thread has answered is computed, not guessed", async () => {
    const bad = signatureOver(1, false);
    const done = verifier.verify([bad], "entry");
    expect(ask(bad)).toBe(false);
    expect(computed).toBe(1);
    await finish(false);
    await done;
    expect(ask(bad)).toBe(false);
  });

  test.each<[string, Partial<SignatureToVerify>]>([
    ["a key of 31 bytes", { publicKey: new Uint8Array(31) }],
    ["a signature of 63 bytes", { signature: new Uint8Array(63) }],
    ["a signature of 65 bytes", { signature: new Uint8Array(65) }],
  ])("%s is not sent to the thread, and is false", (_what, change) => {
    const malformed = { ...signatureOver(1), ...change };
    expect(verifier.verify([malformed], "entry")).toBeNull();
    expect(held).toEqual([]);
    expect(ask(malformed)).toBe(false);
  });

  test("in the thread the rule is that of the event loop, for good, forged and small-order input", async () => {
    const thread = new VerifierThread(VERIFIER_PROGRAM);
    const verify = thread.verify.bind(thread);
    const real = new SignatureVerifier({ clock, logger: quietLogger, crypto: nodeCrypto, verify });
    const cases = [
      signatureOver(1),
      signatureOver(2, false),
      { ...signatureOver(3), publicKey: Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 1 : 0)) },
      { ...signatureOver(4), publicKey: new Uint8Array(32).fill(0xff) },
      { ...signatureOver(5), signature: new Uint8Array(64) },
    ];
    await real.verify(cases, "entry");
    await thread.close();
    const verdicts = cases.map(({ publicKey, message, signature }) =>
      real.crypto.ed25519Verify(publicKey, message, signature),
    );
    expect(verdicts).toEqual(
      cases.map(({ publicKey, message, signature }) => nodeCrypto.ed25519Verify(publicKey, message, signature)),
    );
    expect(verdicts).toEqual([true, false, false, false, false]);
    expect(real.counts).toMatchObject({ thread: { count: 5 }, eventLoop: { count: 0 } });
  });
});
