import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SignatureToVerify } from "@event-anchoring/records";
import { createSigner, nodeCrypto, verifyAsync } from "@event-anchoring/node-crypto";
import type { Logger } from "@event-anchoring/telemetry";
import type { VerifyAsync } from "../src/ports/environment.ts";
import { SignatureVerifier } from "../src/signatures/signature-verifier.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";

const SIGNER = createSigner(new Uint8Array(32).fill(1));

function signatureOver(seed: number, isGood = true): SignatureToVerify {
  const message = Uint8Array.of(seed & 0xff, seed >> 8);
  const signature = SIGNER.sign(isGood ? message : Uint8Array.of(0xff, 0xff, 0xff));
  return { publicKey: SIGNER.publicKey, message, signature, pointer: "/signature" };
}

function signatures(from: number, count: number): SignatureToVerify[] {
  return Array.from({ length: count }, (_, position) => signatureOver(from + position));
}

/** Verifications under way: message number, and what ends it. */
interface Held {
  readonly seed: number;
  finish(verdict: boolean | Error): void;
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
  const verify: VerifyAsync = (_key, message) =>
    new Promise((resolve, reject) => {
      const finish = (verdict: boolean | Error): void =>
        typeof verdict === "boolean" ? resolve(verdict) : reject(verdict);
      held.push({ seed: (message[0] ?? 0) + (message[1] ?? 0) * 256, finish });
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

async function finish(verdict: boolean | Error): Promise<void> {
  held.shift()?.finish(verdict);
  await settle();
}

describe("verifying ahead of time", () => {
  test("gives the verdict to whoever asks later, and tells when it is there", async () => {
    const good = signatureOver(1);
    const bad = signatureOver(2, false);
    let isDone = false;
    const done = verifier.verify([good, bad], "entry")?.then(() => (isDone = true));
    await finish(true);
    expect(isDone).toBe(false);
    await finish(false);
    await done;
    expect([ask(good), ask(bad)]).toEqual([true, false]);
    expect(computed).toBe(0);
    expect(verifier.verify([good, bad], "entry")).toBeNull();
    expect(verifier.counts).toMatchObject({ threadPool: { count: 2 }, eventLoop: { count: 0 }, remembered: 2 });
  });

  test("asks once for what is under way or waits, whoever needs it", async () => {
    const [first, second] = [signatureOver(1), signatureOver(2)];
    const calls = [verifier.verify([first, second, first], "group"), verifier.verify([second, first], "entry")];
    expect(held.map(({ seed }) => seed)).toEqual([1, 2]);
    await finish(true);
    await finish(true);
    for (const call of calls) await call;
    expect(held).toEqual([]);
  });

  test("hands over eight at a time, and entries before groups, also what a group has asked for first", async () => {
    void verifier.verify(signatures(0, 8), "group");
    void verifier.verify(signatures(100, 3), "group");
    void verifier.verify([signatureOver(200), signatureOver(102)], "entry");
    expect(held.map(({ seed }) => seed)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (let round = 0; round < 4; round++) await finish(true);
    expect(held.map(({ seed }) => seed)).toEqual([4, 5, 6, 7, 200, 102, 100, 101]);
  });

  test("counts where the time went", async () => {
    const done = verifier.verify([signatureOver(1)], "entry");
    clock.advance(5);
    await finish(true);
    await done;
    ask(signatureOver(2));
    ask(signatureOver(2));
    expect(verifier.counts).toEqual({
      threadPool: { count: 1, ms: 5 },
      eventLoop: { count: 1, ms: 3 },
      remembered: 1,
      failed: 0,
    });
  });
});

describe("nothing but a verdict becomes one", () => {
  test("a failure is waited for like a verdict, said, and leaves the verdict to be computed on the spot", async () => {
    const [good, bad] = [signatureOver(1), signatureOver(2, false)];
    const done = verifier.verify([good, bad], "entry");
    await finish(new Error("no thread"));
    await finish(new Error("no thread"));
    await done;
    expect(errors).toEqual(["verification_failed", "verification_failed"]);
    expect([ask(good), ask(bad)]).toEqual([true, false]);
    expect(computed).toBe(2);
    expect(verifier.counts).toMatchObject({ threadPool: { count: 0 }, failed: 2 });
  });

  test("what is asked for before the thread pool has answered is computed, not guessed", async () => {
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
  ])("%s is not sent to the thread pool, and is false", (_what, change) => {
    const malformed = { ...signatureOver(1), ...change };
    expect(verifier.verify([malformed], "entry")).toBeNull();
    expect(held).toEqual([]);
    expect(ask(malformed)).toBe(false);
  });

  test("in the thread pool the rule is that of the event loop, for good, forged and small-order input", async () => {
    const real = new SignatureVerifier({ clock, logger: quietLogger, crypto: nodeCrypto, verify: verifyAsync });
    const cases = [
      signatureOver(1),
      signatureOver(2, false),
      { ...signatureOver(3), publicKey: Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 1 : 0)) },
      { ...signatureOver(4), publicKey: new Uint8Array(32).fill(0xff) },
      { ...signatureOver(5), signature: new Uint8Array(64) },
    ];
    await real.verify(cases, "entry");
    const verdicts = cases.map(({ publicKey, message, signature }) =>
      real.crypto.ed25519Verify(publicKey, message, signature),
    );
    expect(verdicts).toEqual(
      cases.map(({ publicKey, message, signature }) => nodeCrypto.ed25519Verify(publicKey, message, signature)),
    );
    expect(verdicts).toEqual([true, false, false, false, false]);
    expect(real.counts).toMatchObject({ threadPool: { count: 5 }, eventLoop: { count: 0 } });
  });
});
