import { describe, expect, test } from "@jest/globals";
import {
  Ed25519CanaryError,
  assertEd25519Canaries,
  createEd25519Verify,
  hexToBytes,
  nobleCrypto,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { CRYPTOS, loadPublicVectors, loadVectors } from "./vectors.ts";

interface Signed {
  readonly name: string;
  readonly public_key: string;
  readonly message: string;
  readonly signature: string;
}
const vectors = loadVectors("ed25519.json") as { good: Signed[]; bad: Signed[] };

interface Wycheproof {
  readonly testGroups: readonly {
    readonly publicKey: { readonly pk: string };
    readonly tests: readonly {
      readonly tcId: number;
      readonly msg: string;
      readonly sig: string;
      readonly result: string;
    }[];
  }[];
}
const speccheck = loadPublicVectors("ed25519-speccheck.json") as
  | { message: string; pub_key: string; signature: string }[]
  | null;
const cctv = loadPublicVectors("cctv-ed25519.json") as
  | { number: number; key: string; sig: string; msg: string; flags: string[] | null }[]
  | null;
const wycheproof = loadPublicVectors("wycheproof-ed25519.json") as Wycheproof | null;

describe.each(CRYPTOS)("the rule with %s", (_, { ed25519Verify }) => {
  test.each(vectors.good)("accepts $name", ({ public_key, message, signature }) => {
    expect(ed25519Verify(hexToBytes(public_key), hexToBytes(message), hexToBytes(signature))).toBe(true);
  });

  test.each(vectors.bad)("refuses $name", ({ public_key, message, signature }) => {
    expect(ed25519Verify(hexToBytes(public_key), hexToBytes(message), hexToBytes(signature))).toBe(false);
  });

  test("passes its canaries", () => {
    expect(() => assertEd25519Canaries(ed25519Verify)).not.toThrow();
  });
});

const hasPublic = speccheck !== null && cctv !== null && wycheproof !== null;
const describePublic = hasPublic ? describe.each(CRYPTOS) : describe.skip.each(CRYPTOS);
const NOTE = hasPublic ? "" : " (skipped: EVENT_ANCHORING_PUBLIC_VECTORS names no folder)";

describePublic(`public vectors with %s${NOTE}`, (_, { ed25519Verify }) => {
  test("accepts of speccheck index 3 alone", () => {
    const accepted = (speccheck ?? []).flatMap(({ message, pub_key, signature }, index) =>
      ed25519Verify(hexToBytes(pub_key), hexToBytes(message), hexToBytes(signature)) ? [index] : [],
    );
    expect(accepted).toEqual([3]);
  });

  test("accepts 43 of the 914 CCTV cases, none with a low-order A", () => {
    const cases = cctv ?? [];
    const accepted = cases.filter(({ key, msg, sig }) =>
      ed25519Verify(hexToBytes(key), utf8ToBytes(msg), hexToBytes(sig)),
    );
    expect([cases.length, accepted.length]).toEqual([914, 43]);
    expect(accepted.filter(({ flags }) => flags?.includes("low_order_A"))).toEqual([]);
  });

  test("agrees with all 151 verdicts of Wycheproof", () => {
    const cases = (wycheproof?.testGroups ?? []).flatMap(({ publicKey, tests }) =>
      tests.map((one) => ({ ...one, key: publicKey.pk })),
    );
    const disagreeing = cases.filter(
      ({ key, msg, sig, result }) =>
        ed25519Verify(hexToBytes(key), hexToBytes(msg), hexToBytes(sig)) !== (result === "valid"),
    );
    expect(cases).toHaveLength(151);
    expect(disagreeing.map(({ tcId }) => tcId)).toEqual([]);
  });
});

describe("canaries", () => {
  const bytes = (hex: string | undefined): Uint8Array => hexToBytes(hex ?? "");
  const [good] = vectors.good;
  const key = bytes(good?.public_key);
  const message = bytes(good?.message);
  const signature = bytes(good?.signature);

  test.each([
    ["accepts everything", (): boolean => true],
    ["refuses everything", (): boolean => false],
  ])("stop a verifier that %s", (_, raw) => {
    const verify = createEd25519Verify(raw);
    const use = (): boolean => verify(key, message, signature);
    expect(use).toThrow(Ed25519CanaryError);
    expect(use).toThrow(Ed25519CanaryError);
  });

  test("run once for a verifier that follows the rule", () => {
    let calls = 0;
    const verify = createEd25519Verify((...input) => {
      calls++;
      return nobleCrypto.ed25519Verify(...input);
    });
    verify(key, message, signature);
    const first = calls;
    verify(key, message, signature);
    expect(calls).toBe(first + 1);
  });
});
