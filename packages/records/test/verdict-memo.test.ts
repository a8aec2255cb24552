import { describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { type SignedMessage, type VerdictMemo, rememberVerdicts } from "../src/index.ts";

const SIGNER = createSigner(new Uint8Array(32).fill(1));
const OTHER = createSigner(new Uint8Array(32).fill(2));

function signedMessage(seed: number): SignedMessage {
  const message = Uint8Array.of(seed & 0xff, (seed >> 8) & 0xff, seed >> 16);
  return { publicKey: SIGNER.publicKey, message, signature: SIGNER.sign(message) };
}

function counted(): { memo: VerdictMemo; calls: () => number } {
  let calls = 0;
  const memo = rememberVerdicts({
    sha256: nodeCrypto.sha256,
    ed25519Verify: (publicKey, message, signature) => {
      calls += 1;
      return nodeCrypto.ed25519Verify(publicKey, message, signature);
    },
  });
  return { memo, calls: () => calls };
}

function ask(memo: VerdictMemo, { publicKey, message, signature }: SignedMessage): boolean {
  return memo.ed25519Verify(publicKey, message, signature);
}

function nameOf(memo: VerdictMemo, signed: SignedMessage): string {
  const name = memo.nameOf(signed);
  if (name === null) throw new Error("a signature of these lengths has a name");
  return name;
}

describe("a memo of verdicts", () => {
  test("computes each once, good or bad", () => {
    const { memo, calls } = counted();
    const good = signedMessage(1);
    const bad = { ...good, publicKey: OTHER.publicKey };
    for (let round = 0; round < 3; round++) expect([ask(memo, good), ask(memo, bad)]).toEqual([true, false]);
    expect(calls()).toBe(2);
    expect(memo.uses).toEqual({ remembered: 4, computed: 2 });
  });

  test("takes verdicts from outside, and computes nothing for them", () => {
    const { memo, calls } = counted();
    const good = signedMessage(2);
    const name = nameOf(memo, good);
    expect(memo.has(name)).toBe(false);
    memo.remember(name, true);
    expect(memo.has(name)).toBe(true);
    expect(ask(memo, good)).toBe(true);
    expect(calls()).toBe(0);
  });

  test.each<[string, (signed: SignedMessage) => SignedMessage]>([
    ["key", (signed) => ({ ...signed, publicKey: OTHER.publicKey })],
    ["message", (signed) => ({ ...signed, message: Uint8Array.of(9) })],
    ["signature", (signed) => ({ ...signed, signature: OTHER.sign(signed.message) })],
    [
      // The bytes stand one after another: what ends one field must not begin the next.
      "boundary between signature and message",
      ({ message, signature, publicKey }) => ({
        publicKey,
        message: Uint8Array.of(signature.at(-1) ?? 0, ...message),
        signature: Uint8Array.of(0, ...signature.subarray(0, 63)),
      }),
    ],
  ])("keeps apart what differs in the %s", (_what, change) => {
    const { memo } = counted();
    const signed = signedMessage(3);
    memo.remember(nameOf(memo, signed), true);
    expect(nameOf(memo, change(signed))).not.toBe(nameOf(memo, signed));
    expect(ask(memo, change(signed))).toBe(false);
  });

  test.each<[string, Partial<SignedMessage>]>([
    ["a key of 31 bytes", { publicKey: SIGNER.publicKey.subarray(1) }],
    ["a key of 33 bytes", { publicKey: Uint8Array.of(...SIGNER.publicKey, 0) }],
    ["a signature of 63 bytes", { signature: new Uint8Array(63) }],
    ["a signature of 65 bytes", { signature: new Uint8Array(65) }],
    ["nothing", { publicKey: new Uint8Array(), signature: new Uint8Array() }],
  ])("has no name for %s, and says false", (_what, change) => {
    const { memo } = counted();
    const signed = { ...signedMessage(4), ...change };
    expect(memo.nameOf(signed)).toBeNull();
    expect(ask(memo, signed)).toBe(false);
  });

  test("forgets the oldest, and computes it again, once 20,480 newer ones are there", () => {
    const { memo, calls } = counted();
    const first = signedMessage(5);
    expect(ask(memo, first)).toBe(true);
    for (let round = 0; round < 20_479; round++) memo.remember(`other ${round}`, true);
    // What is known already takes nobody's place.
    for (let round = 0; round < 100; round++) memo.remember(`other ${round}`, true);
    expect(ask(memo, first)).toBe(true);
    expect(calls()).toBe(1);
    memo.remember("one more", true);
    expect(memo.has("other 0")).toBe(true);
    expect(ask(memo, first)).toBe(true);
    expect(calls()).toBe(2);
  });
});
