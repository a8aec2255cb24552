import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import * as pageCrypto from "../src/browse/page-crypto.ts";

// What takes the place of the SDK's own cryptography in the page has to have all of it, and to judge alike.

describe("the cryptography of the page", () => {
  test("has every name that the module of the SDK has", () => {
    const text = readFileSync(new URL("../../sdk-typescript/src/crypto.ts", import.meta.url), "utf8");
    const names = [...text.matchAll(/^export (?:const|function) (\w+)/gmu)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(3);
    expect(new Set(Object.keys(pageCrypto))).toEqual(new Set(names));
  });

  test("hashes and verifies as the other does", () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const signer = createSigner(nodeCrypto.sha256(bytes));
    const good = signer.sign(bytes);
    const bad = good.with(3, (good[3] ?? 0) ^ 1);
    expect(pageCrypto.sha256(bytes)).toEqual(nodeCrypto.sha256(bytes));
    for (const verify of [pageCrypto.verifySignature, pageCrypto.crypto.ed25519Verify]) {
      expect([good, bad].map((signature) => verify(signer.publicKey, bytes, signature))).toEqual([true, false]);
    }
    expect(() => pageCrypto.checkCanaries()).not.toThrow();
  });
});
