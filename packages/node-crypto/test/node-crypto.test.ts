import { createHash, createPrivateKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { createSigner, generateSeed, nodeCrypto, sign, verifyAsync } from "@event-anchoring/node-crypto";
import { asciiToBytes, bytesToHex, hexToBytes, nobleCrypto } from "@event-anchoring/protocol";

const message = asciiToBytes("event anchoring");
const signer = createSigner(new Uint8Array(32).fill(1));
const signature = signer.sign(message);

function flipped(bytes: Uint8Array, offset: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
}

describe("sha256", () => {
  test.each([0, 1, 55, 56, 64, 1000])("of %d bytes is that of the hash stream and of noble", (length) => {
    const bytes = new Uint8Array(length).fill(7);
    const expected = createHash("sha256").update(bytes).digest("hex");
    expect(bytesToHex(nodeCrypto.sha256(bytes))).toBe(expected);
    expect(bytesToHex(nobleCrypto.sha256(bytes))).toBe(expected);
  });

  test("is a plain array, and two results share no memory", () => {
    const first = nodeCrypto.sha256(message);
    const kept = bytesToHex(first);
    nodeCrypto.sha256(new Uint8Array(1));
    expect(Buffer.isBuffer(first)).toBe(false);
    expect(bytesToHex(first)).toBe(kept);
  });
});

describe("signing", () => {
  test("RFC 8032 section 7.1, test 2", () => {
    const own = createSigner(hexToBytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
    expect(bytesToHex(own.publicKey)).toBe("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    expect(bytesToHex(own.sign(Uint8Array.of(0x72)))).toBe(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    );
  });

  test("a seed and a key made from it sign alike", () => {
    const seed = generateSeed();
    const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
    const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
    expect(sign(seed, message)).toEqual(sign(key, message));
    expect(sign(seed, message)).toEqual(createSigner(seed).sign(message));
  });

  test("seeds are 32 bytes and differ", () => {
    expect(generateSeed()).toHaveLength(32);
    expect(generateSeed()).not.toEqual(generateSeed());
    expect(() => createSigner(new Uint8Array(31))).toThrow("32 bytes");
    expect(() => sign(new Uint8Array(64), message)).toThrow("32 bytes");
  });

  test("refuses keys of other kinds", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(() => sign(privateKey, message)).toThrow("not an Ed25519 private key");
    expect(() => sign(publicKey, message)).toThrow("not an Ed25519 private key");
  });

  test("a signer does not print its key", () => {
    expect(JSON.stringify(signer)).not.toContain("seed");
    expect(Object.keys(signer)).toEqual(["publicKey", "sign"]);
  });
});

describe("verifyAsync", () => {
  test("has the verdict of the synchronous rule, on every vector of the rule", async () => {
    const { publicKey } = signer;
    const cases: [Uint8Array, Uint8Array, Uint8Array][] = [
      [publicKey, message, signature],
      [publicKey, asciiToBytes("another"), signature],
      [flipped(publicKey, 0), message, signature],
      [publicKey, message, flipped(signature, 0)],
      [publicKey, message, flipped(signature, 40)],
      [publicKey, message, flipped(signature, 63)],
      [publicKey, message, signature.slice(0, 63)],
      [publicKey.slice(0, 31), message, signature],
      [new Uint8Array(32), message, signature],
      [new Uint8Array(32).fill(0xff), message, signature],
    ];
    const verdicts = await Promise.all(cases.map((input) => verifyAsync(...input)));
    expect(verdicts).toEqual(cases.map((input) => nodeCrypto.ed25519Verify(...input)));
    expect(verdicts).toEqual([true, ...cases.slice(1).map(() => false)]);
  });

  test("keeps its verdicts when more keys pass than are kept", async () => {
    const signers = Array.from({ length: 40 }, (_, index) => createSigner(new Uint8Array(32).fill(index + 2)));
    for (let filler = 0; filler < 5000; filler++) {
      const key = Uint8Array.from({ length: 32 }, (_, index) => (filler >> (index * 4)) & 15);
      key[31] = 0x11;
      expect(nodeCrypto.ed25519Verify(key, message, signature)).toBe(false);
    }
    const verdicts = await Promise.all(signers.map((own) => verifyAsync(own.publicKey, message, own.sign(message))));
    expect(verdicts.every(Boolean)).toBe(true);
  });
});
