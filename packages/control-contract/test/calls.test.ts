import { describe, expect, test } from "@jest/globals";
import type { ApiKey } from "@event-anchoring/ledger";
import { DecodeError, apiKeyHash, bytesToHex, utf8ToBytes } from "@event-anchoring/protocol";
import {
  LISTED_API_KEYS_MAX,
  UNARY_CALLS,
  UNARY_RESPONSE_BYTES_MAX,
  apiKeyIdentity,
  apiKeyListOf,
  apiKeyListStatus,
  decodeApiKeyList,
  decodeCreateApiKey,
  decodeNodeStatus,
  decodeOperatorResult,
  decodePrimeRootThk,
  decodeRevokeApiKey,
  decodeRotateApiKey,
  decodeSnapshotChunkRequest,
  decodeSnapshotManifest,
  decodeTrustRootChain,
  encodeApiKeyList,
  encodeCreateApiKey,
  encodeNodeStatus,
  encodeOperatorResult,
  encodePrimeRootThk,
  encodeRevokeApiKey,
  encodeRotateApiKey,
  encodeSnapshotChunkRequest,
  encodeSnapshotManifest,
  encodeTrustRootChain,
  formatApiKey,
  operatorResultStatus,
  parseApiKey,
  unaryCallOf,
} from "../src/index.ts";
import type { ApiKeyList, CreateApiKey, OperatorResult } from "../src/index.ts";
import { hash, seeded, sha256, status } from "./fixtures.ts";

describe("the text of an API key", () => {
  // The secret 00 01 … 1f, worked out independently with Python's integers and zlib.crc32.
  const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
  const text = "ank_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2envj8";

  test("holds the secret: random secrets come back, in one form", () => {
    const draw = seeded(3);
    for (let round = 0; round < 200; round++) {
      const drawn = Uint8Array.from({ length: 32 }, () => draw(256));
      const printed = formatApiKey(drawn);
      expect(printed).toMatch(/^ank_[0-9A-Za-z]{49}$/);
      expect(parseApiKey(printed)).toEqual(drawn);
    }
    for (const byte of [0, 255]) {
      const extreme = new Uint8Array(32).fill(byte);
      expect(parseApiKey(formatApiKey(extreme))).toEqual(extreme);
    }
  });

  test("is what an independent reading of the definition says", () => {
    expect(formatApiKey(secret)).toBe(text);
  });

  test("with any one character changed, missing or added is refused", () => {
    const good = formatApiKey(secret);
    for (let index = 0; index < good.length; index++) {
      const other = good[index] === "x" ? "y" : "x";
      expect(parseApiKey(good.slice(0, index) + other + good.slice(index + 1))).toBeNull();
      expect(parseApiKey(good.slice(0, index) + good.slice(index + 1))).toBeNull();
    }
    for (const bad of [
      "",
      "ank_",
      `${good}0`,
      ` ${good}`,
      `${good}\n`,
      good.toUpperCase(),
      good.replace("ank_", "anc_"),
    ]) {
      expect(parseApiKey(bad)).toBeNull();
    }
  });

  test("above 2^256 is refused", () => {
    expect(parseApiKey(`ank_${"z".repeat(43)}000000`)).toBeNull();
  });

  test("is kept by the cluster as its hash, and looked up by the first half of it", () => {
    const { keyHash, keyId } = apiKeyIdentity(secret, sha256);
    expect(keyHash).toEqual(apiKeyHash(secret, sha256));
    expect(keyId).toEqual(keyHash.subarray(0, 16));
  });

  test.each([0, 31, 33])("is not made of %d bytes", (length) => {
    expect(() => formatApiKey(new Uint8Array(length))).toThrow(RangeError);
  });
});

const call: CreateApiKey = {
  keyHash: hash("key"),
  apiClientId: new Uint8Array(16).fill(5),
  label: "default",
  scopes: ["read", "write"],
  expiresMs: 0,
  requestsPerSecond: 0xffff_ffff,
};
const revocation = { keyId: new Uint8Array(16).fill(6) };
const rotation = { keyId: new Uint8Array(16).fill(7), keyHash: hash("new"), overlapMs: 3_600_000, expiresMs: 1 };

/** A call's JSON with some fields changed. */
function changed(body: Uint8Array, changes: object): Uint8Array {
  const wire: unknown = JSON.parse(new TextDecoder().decode(body));
  return utf8ToBytes(JSON.stringify({ ...(wire as object), ...changes }));
}

const results: readonly OperatorResult[] = [
  { outcome: "applied", finality: "certified" },
  { outcome: "applied", finality: "committed" },
  { outcome: "unchanged" },
  { outcome: "rejected", code: "api_key_limit", detail: "two live keys" },
  { outcome: "refused", code: "no_leader", detail: "", retryAfterMs: 200 },
];

describe("operator calls", () => {
  test("come back as they were", () => {
    expect(decodeCreateApiKey(encodeCreateApiKey(call))).toEqual(call);
    expect(decodeRevokeApiKey(encodeRevokeApiKey(revocation))).toEqual(revocation);
    expect(decodeRotateApiKey(encodeRotateApiKey(rotation))).toEqual(rotation);
    expect(results.map((result) => decodeOperatorResult(encodeOperatorResult(result)))).toEqual(results);
    expect(results.map(operatorResultStatus)).toEqual([200, 200, 200, 409, 503]);
  });

  test.each([
    ["an unknown field", { extra: 1 }],
    ["an unknown scope", { scopes: ["root"] }],
    ["a repeated scope", { scopes: ["read", "read"] }],
    ["no scope", { scopes: [] }],
    ["a short hash", { keyHash: "ab" }],
    ["an upper-case hash", { keyHash: "AB".repeat(32) }],
    ["a long client id", { apiClientId: "ab".repeat(17) }],
    ["a label with a line feed", { label: "a\n" }],
    ["a label that is too long", { label: "a".repeat(129) }],
    ["a negative expiry", { expiresMs: -1 }],
    ["a fraction", { expiresMs: 0.5 }],
    ["an unsafe integer", { expiresMs: 2 ** 53 }],
    ["text for a number", { expiresMs: "0" }],
    ["a negative rate", { requestsPerSecond: -1 }],
    ["a rate above u32", { requestsPerSecond: 2 ** 32 }],
    ["no rate", { requestsPerSecond: undefined }],
    ["an empty label", { label: "" }],
  ])("are refused with %s", (_what, changes) => {
    expect(() => decodeCreateApiKey(changed(encodeCreateApiKey(call), changes))).toThrow(DecodeError);
  });

  test.each([
    ["no id", { keyId: undefined }],
    ["a short id", { keyId: "07" }],
    ["an upper-case id", { keyId: "AB".repeat(16) }],
    ["the id of a hash's length", { keyId: "ab".repeat(32) }],
    ["an unknown field", { reason: "lost" }],
  ])("to revoke and to rotate are refused with %s", (_what, changes) => {
    expect(() => decodeRevokeApiKey(changed(encodeRevokeApiKey(revocation), changes))).toThrow(DecodeError);
    expect(() => decodeRotateApiKey(changed(encodeRotateApiKey(rotation), changes))).toThrow(DecodeError);
  });

  test.each([
    ["no hash", { keyHash: undefined }],
    ["a short hash", { keyHash: "ab".repeat(31) }],
    ["no overlap", { overlapMs: undefined }],
    ["an overlap of less than nothing", { overlapMs: -1 }],
    ["an overlap above 2^53", { overlapMs: 2 ** 53 }],
    ["half a millisecond", { expiresMs: 0.5 }],
  ])("to rotate are refused with %s", (_what, changes) => {
    expect(() => decodeRotateApiKey(changed(encodeRotateApiKey(rotation), changes))).toThrow(DecodeError);
  });

  test.each([
    "",
    "null",
    "[]",
    "{",
    '{"outcome":"done"}',
    '{"outcome":"refused","code":"bored","detail":"","retryAfterMs":null}',
  ])("are not answered with %s", (text) => {
    expect(() => decodeOperatorResult(utf8ToBytes(text))).toThrow(DecodeError);
  });
});

describe("a list of API keys", () => {
  function key(seed: number, createdMs: number): ApiKey {
    const keyHash = hash(`key ${seed}`);
    return {
      keyId: keyHash.slice(0, 16),
      keyHash,
      apiClientId: new Uint8Array(16).fill(5),
      label: "x".repeat(128),
      scopes: ["read", "write", "revoke", "admin"],
      expiresMs: 2 ** 53 - 1,
      createdMs,
      revokedMs: 2 ** 53 - 1,
      requestsPerSecond: 0xffff_ffff,
      operator: "setup",
    };
  }

  test("comes back as it was, without any hash of a secret", () => {
    const list = apiKeyListOf([key(1, 10), key(2, 30), key(3, 20)]);
    const text = new TextDecoder().decode(encodeApiKeyList(list));
    expect(decodeApiKeyList(encodeApiKeyList(list))).toEqual(list);
    expect(text).not.toContain(bytesToHex(hash("key 1")));
    expect(apiKeyListStatus(list)).toBe(200);
    if (list.outcome !== "listed") throw new Error(list.outcome);
    expect(list.keys.map(({ createdMs }) => createdMs)).toEqual([30, 20, 10]);
  });

  test("can be empty, or refused", () => {
    const refused: ApiKeyList = { outcome: "refused", code: "no_leader", detail: "", retryAfterMs: 200 };
    for (const list of [apiKeyListOf([]), refused]) expect(decodeApiKeyList(encodeApiKeyList(list))).toEqual(list);
    expect(apiKeyListStatus(refused)).toBe(503);
  });

  test("names what it leaves out: the newest 10,000 fit into one answer", () => {
    const many = Array.from({ length: LISTED_API_KEYS_MAX + 7 }, (_, seed) => key(seed, seed));
    const list = apiKeyListOf(many);
    if (list.outcome !== "listed") throw new Error(list.outcome);
    expect(list.omitted).toBe(7);
    expect(list.keys).toHaveLength(LISTED_API_KEYS_MAX);
    expect(list.keys.at(-1)?.createdMs).toBe(7);
    expect(encodeApiKeyList(list).length).toBeLessThan(UNARY_RESPONSE_BYTES_MAX);
  });

  test.each([
    ["a hash", { keyHash: "ab".repeat(32) }],
    ["no operator", { operator: undefined }],
    ["a label with a line feed", { label: "a\n" }],
    ["a scope twice", { scopes: ["read", "read"] }],
  ])("is refused if a key has %s", (_what, changes) => {
    const list = apiKeyListOf([key(1, 10)]);
    const wire = JSON.parse(new TextDecoder().decode(encodeApiKeyList(list))) as { keys: object[] };
    const bad = { ...wire, keys: wire.keys.map((each) => ({ ...each, ...changes })) };
    expect(() => decodeApiKeyList(utf8ToBytes(JSON.stringify(bad)))).toThrow(DecodeError);
  });

  test.each(["{}", "[]", '{"outcome":"listed","keys":[]}', '{"outcome":"listed","keys":[],"omitted":-1}'])(
    "is not %s",
    (text) => {
      expect(() => decodeApiKeyList(utf8ToBytes(text))).toThrow(DecodeError);
    },
  );
});

describe("unary calls", () => {
  test("of operators are for operators alone", () => {
    const operatorCalls = Object.values(UNARY_CALLS).filter(({ path }) => path.startsWith("/control/v1/operator/"));
    expect(operatorCalls).toHaveLength(5);
    for (const { callers } of operatorCalls) expect(callers).toEqual(["operator"]);
  });

  test("each have a path of their own, and no other path is one", () => {
    const calls = Object.values(UNARY_CALLS);
    expect(new Set(calls.map(({ path }) => path)).size).toBe(calls.length);
    for (const each of calls) expect(unaryCallOf(each.path)).toBe(each);
    for (const path of ["", "/", "/control/v1/status/", "/control/v1/Status", "__proto__"]) {
      expect(unaryCallOf(path)).toBeNull();
    }
  });

  test("bodies come back as they were", () => {
    const prime = { primeNodeId: "a", version: 3, rootThk: hash("thk"), readIndex: 7, term: 2 };
    expect(decodePrimeRootThk(encodePrimeRootThk(prime))).toEqual(prime);
    expect(decodeTrustRootChain(encodeTrustRootChain(["a — b\n", "c\n"]))).toEqual(["a — b\n", "c\n"]);
    expect(decodeNodeStatus(encodeNodeStatus(status))).toEqual(status);
    const chunk = { snapshotId: new Uint8Array(16).fill(1), chunkIndex: 9 };
    expect(decodeSnapshotChunkRequest(encodeSnapshotChunkRequest(chunk))).toEqual(chunk);
  });

  test("a trust-root chain is never empty", () => {
    expect(() => decodeTrustRootChain(encodeTrustRootChain([]))).toThrow(DecodeError);
  });

  const manifest = {
    snapshotId: new Uint8Array(16).fill(1),
    raftIndex: 100,
    raftTerm: 3,
    effect: hash("effect"),
    chunkBytes: 1000,
    totalBytes: 2001,
    wholeHash: hash("whole"),
    chunkHashes: [hash("1"), hash("2"), hash("3")],
  };

  test("a snapshot's manifest comes back, if its sizes add up", () => {
    expect(decodeSnapshotManifest(encodeSnapshotManifest(manifest))).toEqual(manifest);
  });

  test.each([
    ["a chunk too many", { totalBytes: 2000 }],
    ["a chunk too few", { totalBytes: 3001 }],
    ["chunks of nothing", { chunkBytes: 0 }],
  ])("a snapshot's manifest is refused with %s", (_what, changes) => {
    expect(() => decodeSnapshotManifest(encodeSnapshotManifest({ ...manifest, ...changes }))).toThrow(DecodeError);
  });
});
