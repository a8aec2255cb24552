import { randomBytes } from "node:crypto";
import { createServer } from "node:tls";
import type { Server, TLSSocket, TlsOptions } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  EXPORTER_LABEL,
  FrameSplitter,
  LANE_PATHS,
  decodeSignedFrame,
  encodeHelloAnswer,
  encodeSignedFrame,
  frameHeader,
  signResponse,
} from "@event-anchoring/control-contract";
import type { AuthClaims, HelloAnswer } from "@event-anchoring/control-contract";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";
import type { IssuedCertificate } from "@event-anchoring/provision";
import { DAY_MS, TestCluster, TestNode, helloOf, until } from "./harness.ts";

let cluster: TestCluster;
let node: TestNode;
beforeEach(async () => {
  cluster = await TestCluster.create();
  cluster.signerOf("b");
  node = await TestNode.start(cluster, "a");
});
afterEach(async () => {
  await cluster.close();
});

/** What a false "b" says; every field has an honest default. */
interface Answer {
  readonly claims?: Partial<AuthClaims>;
  readonly signer?: Signer;
  readonly answer?: HelloAnswer;
  readonly status?: number;
  readonly requestHeader?: string;
  readonly raw?: (frame: Uint8Array) => Uint8Array;
  /** Instead of the upgrade. */
  readonly http?: string;
}

function tlsOf(certificate: IssuedCertificate): TlsOptions {
  return { ca: cluster.authority.certificatePem, cert: certificate.certificatePem, key: certificate.privateKeyPem };
}

/** Listens as a false peer; closed with the cluster. */
async function listen(options: TlsOptions, onSocket: (socket: TLSSocket) => void): Promise<number> {
  const server: Server = createServer({ requestCert: true, ...options });
  const sockets = new Set<TLSSocket>();
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  cluster.keep({
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function dialFalsePeer(options: TlsOptions, onSocket: (socket: TLSSocket) => void): Promise<void> {
  const port = await listen(options, onSocket);
  node.network.setPeers([{ nodeId: "b", host: "127.0.0.1", port }]);
}

/** Reads the hello, and answers it as told. */
function respond(socket: TLSSocket, told: Answer): void {
  let received = Buffer.alloc(0);
  let isUpgraded = false;
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!isUpgraded && received.includes("\r\n\r\n")) {
      isUpgraded = true;
      received = Buffer.alloc(0);
      const upgrade =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: event-anchoring-control/1\r\n\r\n";
      socket.write(told.http ?? upgrade);
      return;
    }
    const [frame] = new FrameSplitter(1 << 20).push(received);
    if (frame === undefined) return;
    const answer = (told.raw ?? ((sealed: Uint8Array) => sealed))(seal(socket, decodeSignedFrame(frame).header, told));
    socket.write(Buffer.concat([frameHeader(answer.length), answer]));
  });
}

function seal(socket: TLSSocket, header: string, told: Answer): Uint8Array {
  const answer = told.answer ?? { accepted: true, hello: helloOf(cluster, "b", 1) };
  const body = encodeHelloAnswer(answer);
  const claims: AuthClaims = {
    clusterId: cluster.clusterId,
    from: "b",
    to: "a",
    incarnation: 1,
    trustRootVersion: 2,
    sequence: 0,
    nonce: Uint8Array.from(randomBytes(16)),
    ...told.claims,
  };
  const context = {
    method: "GET",
    path: LANE_PATHS.control,
    exporter: socket.exportKeyingMaterial(32, EXPORTER_LABEL, Buffer.alloc(0)),
    bodyDigest: nodeCrypto.sha256(body),
  };
  const signer = told.signer ?? cluster.signerOf("b");
  const status = told.status ?? (answer.accepted ? 200 : 403);
  const signed = signResponse(
    claims,
    status,
    told.requestHeader ?? header,
    context,
    (message) => signer.sign(message),
    nodeCrypto.sha256,
  );
  return encodeSignedFrame(signed, body);
}

const NOTHING = { isConnected: false, ups: [], refusals: [] };

/** What the node made of a peer that it has tried twice, and failed each time (for that reason). */
async function afterTwoTries(reason?: string): Promise<object> {
  await until("failed twice", () => node.count("dial_failed", reason) > 1, 15_000);
  return { isConnected: node.network.isConnected("b"), ups: node.ups, refusals: node.refusals };
}

describe("a listener is not taken for b, with", () => {
  test("a certificate of another authority", async () => {
    const other = await createCertificateAuthority("test", Date.now());
    const identity = { role: "node", clusterId: cluster.clusterId, id: "b" } as const;
    const certificate = await issueCertificate(other, identity, DAY_MS, Date.now());
    await dialFalsePeer(tlsOf(certificate), () => undefined);
    expect(await afterTwoTries()).toEqual(NOTHING);
  });

  test.each([
    ["the certificate of another node", "node", "c"],
    ["an operator's certificate", "operator", "b"],
    ["an api process's certificate", "api", "b"],
  ] as const)("%s", async (_what, role, id) => {
    await dialFalsePeer(tlsOf(await cluster.issue(role, id)), (socket) => respond(socket, {}));
    expect(await afterTwoTries()).toEqual(NOTHING);
  });

  test("an expired certificate", async () => {
    const identity = { role: "node", clusterId: cluster.clusterId, id: "b" } as const;
    const certificate = await issueCertificate(cluster.authority, identity, DAY_MS, Date.now() - 3 * DAY_MS);
    await dialFalsePeer(tlsOf(certificate), () => undefined);
    expect(await afterTwoTries()).toEqual(NOTHING);
  });

  test("nothing newer than TLS 1.2", async () => {
    await dialFalsePeer({ ...tlsOf(await cluster.issue("node", "b")), maxVersion: "TLSv1.2" }, () => undefined);
    expect(await afterTwoTries()).toEqual(NOTHING);
  });
});

describe("an answer to our hello is not believed", () => {
  const cases: [string, string, () => Answer][] = [
    ["signed by another key", "bad_signature", () => ({ signer: createSigner(generateSeed()) })],
    ["to another hello", "bad_signature", () => ({ requestHeader: "v1;another" })],
    ["of another node", "wrong_identity", () => ({ claims: { from: "c" } })],
    ["for another node", "wrong_target", () => ({ claims: { to: "c" } })],
    ["of another cluster", "wrong_cluster", () => ({ claims: { clusterId: new Uint8Array(32) } })],
    ["with another sequence", "replayed", () => ({ claims: { sequence: 1 } })],
    ["whose status contradicts it", "body_mismatch", () => ({ status: 403 })],
    [
      "whose hello names another node",
      "malformed",
      () => ({ answer: { accepted: true, hello: helloOf(cluster, "c", 1) } }),
    ],
    ["whose incarnation contradicts its header", "malformed", () => ({ claims: { incarnation: 3 } })],
    ["that is no signed frame", "malformed", () => ({ raw: () => Uint8Array.of(1, 2, 3) })],
    ["with bytes left over", "malformed", () => ({ raw: (frame) => Uint8Array.of(...frame, 0) })],
    ["with a changed body", "body_mismatch", () => ({ raw: flipLifeId })],
    ["that is HTTP and no upgrade", "no_upgrade", () => ({ http: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" })],
  ];
  test.each(cases)("%s", async (_what, reason, told) => {
    await dialFalsePeer(tlsOf(await cluster.issue("node", "b")), (socket) => respond(socket, told()));
    expect(await afterTwoTries(reason)).toEqual(NOTHING);
  });

  test("if it is a refusal that b did not sign: nobody can fence us with it", async () => {
    const answer = { accepted: false, code: "amnesia", detail: "you forgot" } as const;
    const told = { answer, signer: createSigner(generateSeed()) };
    await dialFalsePeer(tlsOf(await cluster.issue("node", "b")), (socket) => respond(socket, told));
    expect(await afterTwoTries("bad_signature")).toEqual(NOTHING);
  });
});

/** The hello ends with the life id, and with a byte that says that no backup follows. */
function flipLifeId(frame: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(frame);
  changed[changed.length - 2] = (changed.at(-2) ?? 0) ^ 1;
  return changed;
}

test("an authentic refusal is handed on, with its chain", async () => {
  const answer = { accepted: false, code: "retired", detail: "version 7", trustRootChain: ["one"] } as const;
  await dialFalsePeer(tlsOf(await cluster.issue("node", "b")), (socket) => respond(socket, { answer }));
  await until("told", () => node.refusals.length > 0);
  expect(node.refusals[0]).toEqual({ peer: "b", refusal: answer });
  expect(node.count("hello_refused_by_peer", "retired")).toBeGreaterThan(0);
});

test("a peer whose hello this node's judgement refuses is not connected", async () => {
  const strict = await TestNode.start(cluster, "a", {
    incarnation: 2,
    judgeHello: () => ({ accepted: false, code: "amnesia", detail: "it signed more" }),
  });
  const b = await TestNode.start(cluster, "b");
  b.network.setPeers([strict.address]);
  strict.network.setPeers([b.address]);
  await until("told", () => b.refusals.some(({ refusal }) => refusal.code === "amnesia"));
  await until("refused", () => strict.count("dial_failed", "amnesia") > 0);
  expect(strict.network.isConnected("b")).toBe(false);
  expect(b.network.isConnected("a")).toBe(false);
});

test("a listener that accepts and says nothing is given up, and does not stop close()", async () => {
  const port = await listen(tlsOf(await cluster.issue("node", "b")), () => undefined);
  node.network.setPeers([{ nodeId: "b", host: "127.0.0.1", port }]);
  await until("given up", () => node.count("dial_failed", "timeout") > 0);
  await node.network.close();
  expect(node.network.isConnected("b")).toBe(false);
});
