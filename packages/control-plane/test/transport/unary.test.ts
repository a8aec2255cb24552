import { createPrivateKey, randomBytes, sign } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  UNARY_CALLS,
  apiKeyListOf,
  decodeOperatorAct,
  decodeTrustRootChain,
  encodeApiKeyList,
  encodeOperatorResult,
  encodeTrustRootChain,
  signNodeRequest,
  signOperatorRequest,
} from "@event-anchoring/control-contract";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import { OperatorCallError, act, drawApiKey, drawReplacementApiKey, listApiKeys } from "@event-anchoring/provision";
import type { OperatorCredential } from "@event-anchoring/provision";
import { PeerCallError } from "../../src/transport/index.ts";
import type { UnaryHandler, UnaryRequest } from "../../src/transport/index.ts";
import { DAY_MS, TestCluster, TestNode, startPair, until } from "./harness.ts";
import { RawPeer } from "./raw-peer.ts";

let cluster: TestCluster;
let a: TestNode;
let b: TestNode;
let asked: UnaryRequest[];

const PRIME = UNARY_CALLS.prime_root_thk.path;
const CHUNK = UNARY_CALLS.snapshot_chunk.path;
const CREATE = UNARY_CALLS.operator_act.path;
const signer = {
  operator: "operator",
  clusterId: new Uint8Array(32),
  epoch: 0,
  sign: createSigner(generateSeed()).sign,
};
const TIMEOUT = { timeoutMs: 5000 };

async function* chunks(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield new Uint8Array(bytes).fill(index);
}

beforeEach(async () => {
  cluster = await TestCluster.create();
  asked = [];
  const recording =
    (handler: UnaryHandler): UnaryHandler =>
    (request) => {
      asked.push(request);
      return handler(request);
    };
  const unary: Record<string, UnaryHandler> = {
    [PRIME]: recording(async () => ({ status: 200, body: Uint8Array.of(1, 2, 3) })),
    [UNARY_CALLS.trust_root.path]: async () => ({ status: 200, body: encodeTrustRootChain(["one"]) }),
    [CHUNK]: recording(async () => ({ status: 200, stream: chunks(40, 100_000) })),
    [UNARY_CALLS.snapshot_manifest.path]: async () => {
      throw new Error("planted");
    },
    [CREATE]: recording(async () => ({
      status: 200,
      body: encodeOperatorResult({ outcome: "applied", finality: "certified" }),
    })),
    [UNARY_CALLS.list_api_keys.path]: recording(async () => ({
      status: 200,
      body: encodeApiKeyList(apiKeyListOf([])),
    })),
  };
  [a, b] = await startPair(cluster, {}, { unary });
});
afterEach(async () => {
  await cluster.close();
});

describe("a call", () => {
  test("reaches the handler with who asks, and its answer comes back", async () => {
    const answer = await a.network.call("b", PRIME, null, TIMEOUT);
    expect(answer).toEqual({ status: 200, body: Uint8Array.of(1, 2, 3) });
    expect(asked[0]?.from).toEqual({ kind: "node", nodeId: "a" });
  });

  test("may answer with a stream, whose end is signed", async () => {
    const { status, stream } = await a.network.callStream("b", CHUNK, Uint8Array.of(9), TIMEOUT);
    let received = 0;
    for await (const chunk of stream) received += chunk.length;
    expect({ status, received }).toEqual({ status: 200, received: 4_000_000 });
    expect(asked[0]?.body).toEqual(Uint8Array.of(9));
  });

  test("for the trust root needs no place in any trust root", async () => {
    const stranger = await TestNode.start(cluster, "stranger", {
      signer: createSigner(generateSeed()),
      knows: () => false,
    });
    stranger.network.setPeers([b.address]);
    const answer = await stranger.network.call("b", UNARY_CALLS.trust_root.path, null, TIMEOUT);
    expect(decodeTrustRootChain(answer.body)).toEqual(["one"]);
    const refused = stranger.network.call("b", PRIME, null, TIMEOUT);
    await expect(refused).rejects.toMatchObject({ code: "not_authentic" });
    expect(b.count("inbound_refused", "unknown_node")).toBe(1);
  });

  test("whose handler fails is answered 500, and the failure is logged", async () => {
    const answer = await a.network.call("b", UNARY_CALLS.snapshot_manifest.path, null, TIMEOUT);
    expect(answer).toEqual({ status: 500, body: new Uint8Array(0) });
    expect(b.environment.log.some(({ event }) => event === "unary_handler_failed")).toBe(true);
  });

  test("that the other end does not have is 404, authentically", async () => {
    const answer = await a.network.call("b", UNARY_CALLS.status.path, null, TIMEOUT);
    expect(answer.status).toBe(404);
  });

  test("that only operators may make is refused to a node", async () => {
    expect((await a.network.call("b", CREATE, Uint8Array.of(1), TIMEOUT)).status).toBe(403);
    expect(b.count("inbound_refused", "not_allowed")).toBe(1);
    expect(asked).toEqual([]);
  });

  test("with a body above the limit is 413", async () => {
    expect((await a.network.call("b", CHUNK, new Uint8Array(256 * 1024 + 1), TIMEOUT)).status).toBe(413);
    expect(asked).toEqual([]);
  });

  test("fails with a code: no peer, nobody there, aborted, timeout, closed", async () => {
    await expect(a.network.call("nobody", PRIME, null, TIMEOUT)).rejects.toMatchObject({ code: "not_a_peer" });
    const aborted = a.network.call("b", PRIME, null, { timeoutMs: 5000, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    const timedOut = a.network.call("b", PRIME, null, { timeoutMs: 0 });
    await expect(timedOut).rejects.toMatchObject({ code: "timeout" });
    await b.network.close();
    await expect(a.network.call("b", PRIME, null, TIMEOUT)).rejects.toMatchObject({ code: "connection_refused" });
    await a.network.close();
    await expect(a.network.call("b", PRIME, null, TIMEOUT)).rejects.toBeInstanceOf(PeerCallError);
  });
});

interface RawCall {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly header?: string;
}

/** One HTTP request by hand. @returns the status line's number and the body */
async function request(peer: RawPeer, call: RawCall): Promise<{ status: number; body: string }> {
  const { method = "GET", path = PRIME, body = "", header } = call;
  const auth = header === undefined ? "" : `Cluster-Auth: ${header}\r\n`;
  peer.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: ${body.length}\r\n\r\n${body}`);
  await peer.closed();
  const [head = "", rest = ""] = peer.text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body: rest };
}

interface Changes {
  readonly claims?: object;
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
}

function nodeHeader(peer: RawPeer, changes: Changes = {}): string {
  const claims = {
    clusterId: cluster.clusterId,
    from: "a",
    to: "b",
    incarnation: 1,
    trustRootVersion: 2,
    sequence: 1,
    nonce: Uint8Array.from(randomBytes(16)),
    ...changes.claims,
  };
  const { method = "GET", path = PRIME, body = "" } = changes;
  const context = { method, path, exporter: peer.exporter, bodyDigest: nodeCrypto.sha256(Buffer.from(body)) };
  return signNodeRequest(claims, context, (message) => cluster.signerOf("a").sign(message), nodeCrypto.sha256);
}

describe("a node's call by hand is refused", () => {
  const cases: [string, string, (peer: RawPeer) => RawCall][] = [
    ["without a header", "malformed", () => ({})],
    ["with a header of 5,000 characters", "malformed", () => ({ header: "v".repeat(5000) })],
    ["with a header that is not ASCII", "malformed", () => ({ header: "v1;\u00e9" })],
    ["signed for another path", "bad_signature", (peer) => ({ header: nodeHeader(peer, { path: CHUNK }) })],
    ["signed for another method", "bad_signature", (peer) => ({ header: nodeHeader(peer, { method: "POST" }) })],
    ["with another body", "body_mismatch", (peer) => ({ header: nodeHeader(peer), body: "x" })],
    ["for another node", "wrong_target", (peer) => ({ header: nodeHeader(peer, { claims: { to: "c" } }) })],
    ["by another node", "wrong_identity", (peer) => ({ header: nodeHeader(peer, { claims: { from: "b" } }) })],
    [
      "with the sequence of a first frame",
      "replayed",
      (peer) => ({ header: nodeHeader(peer, { claims: { sequence: 0 } }) }),
    ],
    [
      "of another cluster",
      "wrong_cluster",
      (peer) => ({ header: nodeHeader(peer, { claims: { clusterId: new Uint8Array(32) } }) }),
    ],
  ];
  test.each(cases)("%s", async (_what, reason, call) => {
    const peer = await RawPeer.as(cluster, b, await cluster.issue("node", "a"));
    const answer = await request(peer, call(peer));
    expect(answer).toEqual({ status: 401, body: "" });
    expect(b.count("inbound_refused", reason)).toBe(1);
    expect(asked).toEqual([]);
  });

  test("when it repeats an accepted header on another connection", async () => {
    const certificate = await cluster.issue("node", "a");
    const first = await RawPeer.as(cluster, b, certificate);
    const header = nodeHeader(first);
    expect((await request(first, { header })).status).toBe(200);
    const second = await RawPeer.as(cluster, b, certificate);
    expect((await request(second, { header })).status).toBe(401);
    expect(b.count("inbound_refused", "bad_signature")).toBe(1);
    expect(asked).toHaveLength(1);
  });

  test("when it is a second call on one connection", async () => {
    const peer = await RawPeer.as(cluster, b, await cluster.issue("node", "a"));
    const one = `GET ${PRIME} HTTP/1.1\r\nHost: x\r\nCluster-Auth: ${nodeHeader(peer)}\r\n\r\n`;
    peer.write(one + one);
    await peer.closed();
    expect(asked).toHaveLength(1);
  });

  test("when the certificate is that of an operator", async () => {
    const peer = await RawPeer.as(cluster, b, await cluster.issue("operator", "a"));
    const answer = await request(peer, { header: nodeHeader(peer) });
    expect([401, 403]).toContain(answer.status);
    expect(asked).toEqual([]);
  });
});

async function operatorCredential(operatorId = "setup"): Promise<OperatorCredential> {
  const issued = await cluster.issue("operator", operatorId);
  return {
    operatorId,
    clusterId: cluster.clusterId,
    caCertificatePem: cluster.authority.certificatePem,
    certificatePem: issued.certificatePem,
    privateKeyPem: issued.privateKeyPem,
    expiresMs: issued.expiresMs,
  };
}

describe("an operator", () => {
  test("makes an API key", async () => {
    const key = drawApiKey({ label: "first", scopes: ["read", "write"] });
    const node = { ...b.address, authPublicKey: cluster.signerOf("b").publicKey };
    const result = await act({ signer, credential: await operatorCredential(), node, call: key.call });
    expect(result).toEqual({ outcome: "applied", finality: "certified" });
    expect(asked[0]?.from).toEqual({ kind: "operator", operatorId: "setup" });
    expect(JSON.stringify(key)).not.toContain(key.apiKey);
  });

  test("lists, revokes and rotates API keys", async () => {
    const node = { ...b.address, authPublicKey: cluster.signerOf("b").publicKey };
    const credential = await operatorCredential();
    const keyId = new Uint8Array(16).fill(3);
    const { call } = drawReplacementApiKey({ keyId, overlapMs: 1000 });
    expect(await listApiKeys({ credential, node })).toEqual({ outcome: "listed", keys: [], omitted: 0 });
    const revocation = { kind: "revoke_api_key", keyId } as const;
    for (const each of [revocation, call]) {
      expect(await act({ credential, signer, node, call: each })).toEqual({
        outcome: "applied",
        finality: "certified",
      });
    }
    const [listing, ...acts] = asked.map(({ body }) => body);
    expect(listing).toHaveLength(0);
    const [revoking, rotating] = acts.map(decodeOperatorAct);
    expect([revoking?.command, rotating?.command]).toEqual([revocation, call]);
    expect(rotating?.counter).toBeGreaterThan(revoking?.counter ?? Infinity);
    for (const { from } of asked) expect(from).toEqual({ kind: "operator", operatorId: "setup" });
  });

  test.each([UNARY_CALLS.list_api_keys, UNARY_CALLS.operator_act])(
    "is no node: a node may not call $path",
    async ({ path, method }) => {
      const answer = await a.network.call("b", path, method === "GET" ? null : Uint8Array.of(1), TIMEOUT);
      expect(answer.status).toBe(403);
      expect(asked).toEqual([]);
    },
  );

  test("notices an answer that is not the node's own", async () => {
    const key = drawApiKey({ label: "first", scopes: ["read"] });
    const node = { ...b.address, authPublicKey: createSigner(generateSeed()).publicKey };
    const result = act({ signer, credential: await operatorCredential(), node, call: key.call });
    await expect(result).rejects.toMatchObject({ code: "answer_not_authentic" });
  });

  test("does not talk to another node than it means", async () => {
    const key = drawApiKey({ label: "first", scopes: ["read"] });
    const node = { ...b.address, nodeId: "a", authPublicKey: cluster.signerOf("a").publicKey };
    const result = act({ signer, credential: await operatorCredential(), node, call: key.call });
    await expect(result).rejects.toBeInstanceOf(OperatorCallError);
    expect(asked).toEqual([]);
  });

  async function dial(): Promise<{
    peer: RawPeer;
    header: (atMs: number, nonce?: Uint8Array, path?: string) => string;
  }> {
    const issued = await cluster.issue("operator", "setup");
    const peer = await RawPeer.as(cluster, b, issued);
    const key = createPrivateKey(issued.privateKeyPem);
    const header = (atMs: number, nonce: Uint8Array = randomBytes(16), path: string = CREATE): string =>
      signOperatorRequest(
        { clusterId: cluster.clusterId, from: "setup", to: "b", sequence: 1, nonce },
        atMs,
        { method: "POST", path, exporter: peer.exporter, bodyDigest: nodeCrypto.sha256(Buffer.from("{}")) },
        (message) => sign("sha256", message, { key, dsaEncoding: "ieee-p1363" }),
        nodeCrypto.sha256,
      );
    return { peer, header };
  }
  const post = { method: "POST", path: CREATE, body: "{}" };

  test.each([
    ["30 s and more behind", -30_500, 401],
    ["30 s and more ahead", 30_500, 401],
    ["25 s behind", -25_000, 200],
    ["25 s ahead", 25_000, 200],
  ])("whose clock is %s", async (_what, offsetMs, status) => {
    const { peer, header } = await dial();
    expect((await request(peer, { ...post, header: header(Date.now() + offsetMs) })).status).toBe(status);
  });

  test("uses a nonce once in 60 s", async () => {
    const nonce = Uint8Array.from(randomBytes(16));
    const statuses: number[] = [];
    for (const offsetMs of [0, 0, 59_000, 60_001]) {
      b.environment.monotonicOffsetMs = offsetMs;
      const { peer, header } = await dial();
      statuses.push((await request(peer, { ...post, header: header(Date.now(), nonce) })).status);
    }
    expect(statuses).toEqual([200, 401, 401, 200]);
    expect(b.count("inbound_refused", "replayed")).toBe(2);
  });

  test("may not make a node's call", async () => {
    const { peer, header } = await dial();
    const call = { method: "POST", path: CHUNK, body: "{}", header: header(Date.now(), undefined, CHUNK) };
    expect((await request(peer, call)).status).toBe(403);
    expect(b.count("inbound_refused", "not_allowed")).toBe(1);
    expect(asked).toEqual([]);
  });
});

describe("TLS files", () => {
  test("are renewed under a running node: the new certificate is shown, sessions go on", async () => {
    await until("connected", () => a.network.isConnected("b"));
    const before = await RawPeer.as(cluster, b, await cluster.issue("node", "a"));
    await cluster.writeTls("b", await cluster.issue("node", "b", 2 * DAY_MS));
    await b.network.reloadTls();
    const after = await RawPeer.as(cluster, b, await cluster.issue("node", "a"));
    const [old, renewed] = [before, after].map((peer) => peer.socket.getPeerX509Certificate()?.serialNumber);
    expect(renewed).not.toBe(old);
    expect(a.network.isConnected("b")).toBe(true);
    expect(a.downs).toEqual([]);
    expect((await a.network.call("b", PRIME, null, TIMEOUT)).status).toBe(200);
  });

  test("that cannot be used are refused with a code, and the old ones stay in use", async () => {
    const files = await cluster.writeTls("b", await cluster.issue("node", "b"));
    const other = await cluster.issue("node", "b");
    await writeFile(files.keyFile, other.privateKeyPem);
    await expect(b.network.reloadTls()).rejects.toMatchObject({ code: "key_mismatch" });
    await cluster.writeTls("b", await cluster.issue("node", "c"));
    await expect(b.network.reloadTls()).rejects.toMatchObject({ code: "wrong_identity" });
    await cluster.writeTls("b", await cluster.issue("operator", "b"));
    await expect(b.network.reloadTls()).rejects.toMatchObject({ code: "wrong_identity" });
    await writeFile(files.certificateFile, "nothing");
    await expect(b.network.reloadTls()).rejects.toMatchObject({ code: "malformed" });
    expect((await a.network.call("b", PRIME, null, TIMEOUT)).status).toBe(200);
  });
});
