import { describe, expect, test } from "@jest/globals";
import * as ofNode from "../src/crypto.ts";
import * as secretsOfNode from "../src/secrets.ts";
import * as ofTheWeb from "../src/web-crypto.ts";
import * as secretsOfTheWeb from "../src/web-secrets.ts";

// In a browser one takes the place of the other: no caller can tell which it has.

const message = new TextEncoder().encode("a payload");

describe("the cryptography for browsers", () => {
  test("has every name that Node's has", () => {
    expect(Object.keys(ofTheWeb).sort()).toEqual(Object.keys(ofNode).sort());
    expect(Object.keys(secretsOfTheWeb).sort()).toEqual(Object.keys(secretsOfNode).sort());
    expect([typeof secretsOfTheWeb.INSPECT, typeof secretsOfNode.INSPECT]).toEqual(["symbol", "symbol"]);
  });

  test("hashes and verifies alike, and passes the canaries", () => {
    ofTheWeb.checkCanaries();
    ofNode.checkCanaries();
    const key = secretsOfNode.secretKeyOf(secretsOfNode.randomBytes(32));
    const signature = key.sign(message);
    const spoiled = signature.map((byte, at) => (at === 40 ? byte ^ 1 : byte));
    for (const side of [ofNode, ofTheWeb]) {
      expect(side.sha256(message)).toEqual(ofNode.sha256(message));
      expect(side.crypto.sha256(message)).toEqual(ofNode.sha256(message));
      expect(side.verifySignature(key.publicKey, message, signature)).toBe(true);
      expect(side.verifySignature(key.publicKey, message, spoiled)).toBe(false);
    }
  });

  test("makes the same keys and signatures of a seed, and another seed each time", () => {
    const seed = secretsOfTheWeb.randomBytes(32);
    const [here, there] = [secretsOfNode, secretsOfTheWeb].map(({ secretKeyOf }) => secretKeyOf(seed));
    expect(there?.publicKey).toEqual(here?.publicKey);
    expect(there?.sign(message)).toEqual(here?.sign(message));
    expect(there?.exportSeed()).toEqual(seed);
    expect(here?.exportSeed()).toEqual(seed);
    there?.destroy();
    expect(seed).not.toEqual(new Uint8Array(32));
    expect(secretsOfTheWeb.randomBytes(32)).not.toEqual(seed);
  });
});
