import { createHash } from "node:crypto";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { describe, expect, test } from "@jest/globals";
import {
  IncarnationMemory,
  NonceMemory,
  decodeSignedFrame,
  encodeSignedFrame,
  formatAuthHeader,
  formatIdentity,
  parseAuthHeader,
  parseIdentity,
  signNodeRequest,
  signOperatorRequest,
  signResponse,
  verifyNodeRequest,
  verifyOperatorRequest,
  verifyResponse,
} from "../src/index.ts";
import type { AuthClaims, AuthContext, AuthVerdict, RequestExpectation } from "../src/index.ts";
import { DecodeError } from "@event-anchoring/protocol";
import { hash } from "./fixtures.ts";

const { sha256, ed25519Verify } = nodeCrypto;
const signer = createSigner(hash("seed of a"));
const sign = (message: Uint8Array): Uint8Array => signer.sign(message);
const body = Uint8Array.of(1, 2, 3);
const context: AuthContext = { method: "POST", path: "/x", exporter: hash("exporter"), bodyDigest: sha256(body) };
const claims: AuthClaims = {
  clusterId: hash("cluster"),
  from: "a",
  to: "b",
  incarnation: 5,
  trustRootVersion: 2,
  sequence: 4,
  nonce: new Uint8Array(16).fill(8),
};
const expected: RequestExpectation = {
  clusterId: claims.clusterId,
  self: "b",
  tlsIdentity: { role: "node", clusterId: claims.clusterId, id: "a" },
  lastSequence: 3,
  context,
};

function verifier(): Parameters<typeof verifyNodeRequest>[2] {
  const authKeyOf = (nodeId: string): Uint8Array | null => (nodeId === "a" ? signer.publicKey : null);
  return { authKeyOf, incarnations: new IncarnationMemory(), ed25519Verify, sha256 };
}

function codeOf(verdict: AuthVerdict): string {
  return verdict.ok ? "ok" : verdict.code;
}

const good = signNodeRequest(claims, context, sign, sha256);

describe("a node's header", () => {
  test("is accepted by whom it is for, on the connection it was made for", () => {
    expect(codeOf(verifyNodeRequest(good, expected, verifier()))).toBe("ok");
  });

  const cases: [string, string, Partial<AuthClaims>, Partial<RequestExpectation>][] = [
    ["malformed", "of another kind", {}, {}],
    ["wrong_identity", "by another certificate", {}, { tlsIdentity: { ...expected.tlsIdentity, id: "c" } }],
    [
      "wrong_identity",
      "by an operator's certificate",
      {},
      { tlsIdentity: { ...expected.tlsIdentity, role: "operator" } },
    ],
    [
      "wrong_cluster",
      "by a certificate of another cluster",
      {},
      { tlsIdentity: { ...expected.tlsIdentity, clusterId: hash("x") } },
    ],
    [
      "unknown_node",
      "of a node that is no member",
      { from: "c" },
      { tlsIdentity: { ...expected.tlsIdentity, id: "c" } },
    ],
    ["wrong_cluster", "of another cluster", { clusterId: hash("other") }, {}],
    ["wrong_target", "for another node", { to: "c" }, {}],
    ["stale_incarnation", "of an older incarnation", { incarnation: 4 }, {}],
    ["replayed", "whose sequence is not higher", { sequence: 3 }, {}],
    ["body_mismatch", "of another body", {}, { context: { ...context, bodyDigest: hash("other") } }],
    ["bad_signature", "for another connection", {}, { context: { ...context, exporter: hash("other") } }],
    ["bad_signature", "for another path", {}, { context: { ...context, path: "/y" } }],
    ["bad_signature", "for another method", {}, { context: { ...context, method: "GET" } }],
  ];
  test.each(cases)("is refused as %s: %s", (code, what, changedClaims, changedExpectation) => {
    const trust = verifier();
    trust.incarnations.remember("a", 5);
    const text =
      what === "of another kind"
        ? signResponse(claims, 200, "", context, sign, sha256)
        : signNodeRequest({ ...claims, ...changedClaims }, context, sign, sha256);
    expect(codeOf(verifyNodeRequest(text, { ...expected, ...changedExpectation }, trust))).toBe(code);
  });

  test("is refused first for the earliest of several reasons", () => {
    const trust = verifier();
    trust.incarnations.remember("a", 9);
    const all = signNodeRequest({ ...claims, to: "c", sequence: 0 }, { ...context, path: "/y" }, sign, sha256);
    expect(codeOf(verifyNodeRequest(all, expected, trust))).toBe("wrong_target");
    const later = signNodeRequest({ ...claims, sequence: 0 }, { ...context, path: "/y" }, sign, sha256);
    expect(codeOf(verifyNodeRequest(later, expected, trust))).toBe("stale_incarnation");
  });

  test("with any one character changed is not accepted", () => {
    for (let index = 0; index < good.length; index++) {
      const changed = good[index] === "0" ? "1" : "0";
      const text = good.slice(0, index) + changed + good.slice(index + 1);
      expect(codeOf(verifyNodeRequest(text, expected, verifier()))).not.toBe("ok");
    }
  });

  test("leaves the incarnation to be remembered by the caller, so that nothing forged is", () => {
    const trust = verifier();
    const forged = signNodeRequest({ ...claims, incarnation: 99 }, context, () => new Uint8Array(64), sha256);
    expect(codeOf(verifyNodeRequest(forged, expected, trust))).toBe("bad_signature");
    expect(trust.incarnations.highest("a")).toBeNull();
    expect(codeOf(verifyNodeRequest(good, expected, trust))).toBe("ok");
  });
});

describe("the text of a header", () => {
  test("has one form", () => {
    const header = parseAuthHeader(good);
    expect(header).not.toBeNull();
    expect(header === null ? "" : formatAuthHeader(header)).toBe(good);
  });

  test.each([
    [
      "upper-case hex",
      (text: string) => text.replace(/cid=[0-9a-f]+/, (match) => match.toUpperCase().replace("CID", "cid")),
    ],
    ["a leading zero", (text: string) => text.replace("inc=5", "inc=05")],
    ["a sign", (text: string) => text.replace("inc=5", "inc=+5")],
    ["a space", (text: string) => text.replace("from=a", "from= a")],
    ["fields in another order", (text: string) => text.replace("from=a;to=b", "to=b;from=a")],
    ["a field twice", (text: string) => text.replace("to=b;", "to=b;to=b;")],
    ["another version", (text: string) => text.replace("v1;", "v2;")],
    ["a field of another kind", (text: string) => text.replace("sig=", "ts=1;sig=")],
    ["a line feed at its end", (text: string) => `${text}\n`],
    ["a short signature", (text: string) => text.slice(0, -2)],
    ["an incarnation above 2^53", (text: string) => text.replace("inc=5", "inc=9999999999999999")],
    ["a version above u32", (text: string) => text.replace("trv=2", "trv=4294967296")],
    ["a node id that is none", (text: string) => text.replace("from=a", "from=A")],
    ["nothing", () => ""],
  ])("is refused with %s", (_what, change) => {
    expect(change(good)).not.toBe(good);
    expect(parseAuthHeader(change(good))).toBeNull();
  });

  test("stands before the body in a signed frame, which must be printable ASCII", () => {
    const frame = encodeSignedFrame(good, body);
    expect(decodeSignedFrame(frame)).toEqual({ header: good, body });
    expect(() => decodeSignedFrame(Uint8Array.of(0, 1, 0xe9))).toThrow(DecodeError);
    expect(() => decodeSignedFrame(Uint8Array.of(0, 1, 0x0a))).toThrow(DecodeError);
    expect(() => decodeSignedFrame(Uint8Array.of(0, 9, 0x61))).toThrow(DecodeError);
    expect(() => decodeSignedFrame(Uint8Array.of(0xff, 0xff))).toThrow(DecodeError);
  });
});

describe("a response", () => {
  const answerClaims = { ...claims, from: "b", to: "a" };
  const keyOfB = createSigner(hash("seed of b"));
  const signAsB = (message: Uint8Array): Uint8Array => keyOfB.sign(message);
  const answer = signResponse(answerClaims, 200, good, context, signAsB, sha256);
  const expectation = {
    clusterId: claims.clusterId,
    from: "b",
    to: "a",
    status: 200,
    sequence: 4,
    requestHeader: good,
    context,
  };
  const judge = (text: string, changes: Partial<typeof expectation>): string =>
    codeOf(verifyResponse(text, { ...expectation, ...changes }, keyOfB.publicKey, ed25519Verify, sha256));

  test("is accepted as the answer to its request", () => {
    expect(judge(answer, {})).toBe("ok");
  });

  test.each([
    ["bad_signature", "to another request", { requestHeader: "v1;other" }],
    ["body_mismatch", "with another status", { status: 403 }],
    ["body_mismatch", "with another body", { context: { ...context, bodyDigest: hash("other") } }],
    ["bad_signature", "on another connection", { context: { ...context, exporter: hash("other") } }],
    ["wrong_identity", "of another node", { from: "c" }],
    ["wrong_target", "for another node", { to: "c" }],
    ["wrong_cluster", "of another cluster", { clusterId: hash("other") }],
    ["replayed", "to another sequence", { sequence: 5 }],
  ])("is refused as %s: %s", (code, _what, changes) => {
    expect(judge(answer, changes)).toBe(code);
  });

  test("is no request, and a request is no response", () => {
    expect(judge(good, {})).toBe("malformed");
    expect(codeOf(verifyNodeRequest(answer, expected, verifier()))).toBe("malformed");
  });
});

describe("an operator's header", () => {
  const nowMs = 1_790_000_000_000;
  // The signature scheme is handed in: any function of the message will do here.
  const operatorSign = (message: Uint8Array): Uint8Array => createHash("sha512").update(message).digest();
  const operatorClaims = { clusterId: claims.clusterId, from: "setup", to: "b", sequence: 4, nonce: claims.nonce };
  const operatorExpectation = {
    ...expected,
    tlsIdentity: { ...expected.tlsIdentity, role: "operator", id: "setup" },
  } as const;
  const trust = (nonces = new NonceMemory()): Parameters<typeof verifyOperatorRequest>[2] => ({
    verify: (message, signature) => Buffer.from(operatorSign(message)).equals(signature),
    nonces,
    wallMs: nowMs,
    monotonicMs: 1000,
    sha256,
  });
  const made = (atMs: number): string => signOperatorRequest(operatorClaims, atMs, context, operatorSign, sha256);

  test.each([
    [0, "ok"],
    [30_000, "ok"],
    [-30_000, "ok"],
    [30_001, "clock_skew"],
    [-30_001, "clock_skew"],
  ])("made %d ms from now is %s", (offsetMs, code) => {
    expect(codeOf(verifyOperatorRequest(made(nowMs + offsetMs), operatorExpectation, trust()))).toBe(code);
  });

  test("is good once", () => {
    const nonces = new NonceMemory();
    const judge = (): string => codeOf(verifyOperatorRequest(made(nowMs), operatorExpectation, trust(nonces)));
    expect([judge(), judge()]).toEqual(["ok", "replayed"]);
  });

  test("that is forged uses no nonce up", () => {
    const nonces = new NonceMemory();
    const forged = signOperatorRequest(operatorClaims, nowMs, context, () => new Uint8Array(64), sha256);
    expect(codeOf(verifyOperatorRequest(forged, operatorExpectation, trust(nonces)))).toBe("bad_signature");
    expect(codeOf(verifyOperatorRequest(made(nowMs), operatorExpectation, trust(nonces)))).toBe("ok");
  });

  test("is no node's, and a node's is no operator's", () => {
    expect(codeOf(verifyNodeRequest(made(nowMs), expected, verifier()))).toBe("malformed");
    expect(codeOf(verifyOperatorRequest(good, operatorExpectation, trust()))).toBe("malformed");
    expect(codeOf(verifyOperatorRequest(made(nowMs), expected, trust()))).toBe("wrong_identity");
  });
});

describe("memories", () => {
  test("a nonce is forgotten after 60 s, and a full memory refuses instead of forgetting", () => {
    const nonces = new NonceMemory();
    const nonce = (value: number): Uint8Array => {
      const bytes = new Uint8Array(16);
      new DataView(bytes.buffer).setUint32(0, value);
      return bytes;
    };
    expect(nonces.admit(nonce(1), 0)).toBe(true);
    expect(nonces.admit(nonce(1), 59_999)).toBe(false);
    expect(nonces.admit(nonce(1), 60_000)).toBe(true);
    for (let value = 2; value <= 10_000; value++) nonces.admit(nonce(value), 60_000);
    expect(nonces.admit(nonce(10_001), 60_000)).toBe(false);
    expect(nonces.admit(nonce(10_001), 120_000)).toBe(true);
  });

  test("an incarnation is only ever replaced by a higher one", () => {
    const incarnations = new IncarnationMemory();
    expect(incarnations.remember("a", 3)).toBe(false);
    expect(incarnations.remember("a", 3)).toBe(false);
    expect(incarnations.remember("a", 2)).toBe(false);
    expect(incarnations.remember("a", 4)).toBe(true);
    expect([3, 4, 5].map((value) => incarnations.isStale("a", value))).toEqual([true, false, false]);
    expect(incarnations.isStale("b", 0)).toBe(false);
  });
});

describe("an identity", () => {
  const identity = { role: "node", clusterId: hash("cluster"), id: "a-1" } as const;

  test("prints and parses back", () => {
    expect(parseIdentity(formatIdentity(identity))).toEqual(identity);
  });

  test.each([
    ["another scheme", "URN:event-anchoring:"],
    ["another role", "urn:event-anchoring:ROLE"],
    ["nothing", ""],
  ])("is refused: %s", (_what, prefix) => {
    expect(parseIdentity(formatIdentity(identity).replace("urn:event-anchoring:", prefix))).toBeNull();
  });

  test.each(["A", "1a", "a_b", "", "a".repeat(33), "a:node:b", "a\n"])("has no id %j", (id) => {
    expect(() => formatIdentity({ ...identity, id })).toThrow(RangeError);
    expect(parseIdentity(`urn:event-anchoring:${"ab".repeat(32)}:node:${id}`)).toBeNull();
  });
});
