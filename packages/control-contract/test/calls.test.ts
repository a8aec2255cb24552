import { describe, expect, test } from "@jest/globals";
import { encodeCommand, operatorActMessage } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
import {
  DecodeError,
  apiKeyHash,
  bytesToHex,
  toAnchorId,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import {
  LISTED_API_KEYS_MAX,
  UNARY_CALLS,
  UNARY_RESPONSE_BYTES_MAX,
  apiKeyIdentity,
  apiKeyListOf,
  apiKeyListStatus,
  decodeApiKeyList,
  decodeNodeStatus,
  decodeOperatorAct,
  decodeOperatorResult,
  decodePrimeRootThk,
  decodeSnapshotChunkRequest,
  decodeSnapshotManifest,
  decodeTrustRootChain,
  encodeApiKeyList,
  encodeNodeStatus,
  encodeOperatorAct,
  encodeOperatorResult,
  encodePrimeRootThk,
  encodeSnapshotChunkRequest,
  encodeSnapshotManifest,
  encodeTrustRootChain,
  formatApiKey,
  operatorResultStatus,
  parseApiKey,
  unaryCallOf,
} from "../src/index.ts";
import type { ActSigner, ApiKeyList, OperatorCall, OperatorResult } from "../src/index.ts";
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

const CREATE: OperatorCall = {
  kind: "create_api_key",
  keyHash: hash("key"),
  apiClientId: new Uint8Array(16).fill(5),
  label: "default",
  scopes: ["read", "write"],
  expiresMs: 0,
  requestsPerSecond: 0xffff_ffff,
};
const REVOKE: OperatorCall = { kind: "revoke_api_key", keyId: new Uint8Array(16).fill(6) };
const ROTATE: OperatorCall = {
  kind: "rotate_api_key",
  keyId: new Uint8Array(16).fill(7),
  keyHash: hash("new"),
  overlapMs: 3_600_000,
  expiresMs: 1,
};
const REVOKE_RECORD: OperatorCall = {
  kind: "record_revocation",
  credential: null,
  revocation: {
    targetKind: "grant",
    targetAnchorId: toAnchorId(hash("target")),
    targetOriginFingerprint: toOriginFingerprint(hash("origin")),
    originFingerprint: null,
    reason: 4,
    suspectSince: 1,
    issuedAt: 2,
    signer: null,
  },
};
const ERASE: OperatorCall = { kind: "erase_client_event", credential: null, anchorId: toAnchorId(hash("event")) };
const SIGNER: ActSigner = {
  operator: "alice",
  clusterId: hash("cluster"),
  epoch: 3,
  sign: (message) => new Uint8Array([...hash(bytesToHex(message)), ...hash("second half")]),
};

const results: readonly OperatorResult[] = [
  { outcome: "applied", finality: "certified" },
  { outcome: "applied", finality: "committed" },
  { outcome: "unchanged" },
  { outcome: "recorded", anchorId: bytesToHex(hash("revocation")), replayed: true, finality: "committed" },
  { outcome: "rejected", code: "api_key_limit", detail: "two live keys" },
  { outcome: "refused", code: "no_leader", detail: "", retryAfterMs: 200 },
];

describe("operator calls", () => {
  test("come back as they were", () => {
    for (const call of [CREATE, REVOKE, ROTATE, REVOKE_RECORD, ERASE]) {
      const { signature, ...act } = decodeOperatorAct(encodeOperatorAct(SIGNER, 2 ** 53 - 1, call));
      const { kind, ...key } = call;
      const command = kind === "create_api_key" ? { kind, key } : call;
      expect(act).toEqual({ kind: "operator_act", operator: "alice", counter: 2 ** 53 - 1, command });
      expect(signature).toEqual(SIGNER.sign(operatorActMessage(SIGNER, act, act.command)));
    }
    expect(results.map((result) => decodeOperatorResult(encodeOperatorResult(result)))).toEqual(results);
    expect(results.map(operatorResultStatus)).toEqual([200, 200, 200, 200, 409, 503]);
  });

  test.each<[string, (body: Uint8Array) => Uint8Array]>([
    ["nothing", () => new Uint8Array()],
    ["its last byte missing", (body) => body.slice(0, -1)],
    ["a byte more", (body) => new Uint8Array([...body, 0])],
    ["a bare command", () => encodeCommand({ kind: "revoke_api_key", keyId: new Uint8Array(16) })],
    ["a name in capitals", (body) => body.map((byte, at) => (at === 4 ? 0x41 : byte))],
    ["no name", (body) => new Uint8Array([...body.slice(0, 2), 0, 0, ...body.slice(9)])],
    ["a command of a client", (body) => body.map((byte, at) => (at === 2 + 7 + 8 + 64 + 1 ? 3 : byte))],
  ])("are refused with %s", (_what, damaged) => {
    expect(() => decodeOperatorAct(damaged(encodeOperatorAct(SIGNER, 1, REVOKE)))).toThrow(DecodeError);
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
      createdBy: { operator: "setup", counter: 2 ** 53 - 1 },
      endedBy: { operator: "setup", counter: 2 ** 53 - 1 },
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
    ["no operator", { createdBy: undefined }],
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
    expect(operatorCalls).toHaveLength(3);
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
