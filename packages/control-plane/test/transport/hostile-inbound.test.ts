import { randomBytes } from "node:crypto";
import { connect as connectTcp } from "node:net";
import { createServer as createTlsServer, connect as connectTls } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { HELLO_FRAME_BYTES_MAX, LANE_PATHS, encodePeerFrame, formatIdentity } from "@event-anchoring/control-contract";
import { createSigner, generateSeed } from "@event-anchoring/node-crypto";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";
import type { IssuedCertificate } from "@event-anchoring/provision";
import { DAY_MS, OWN_WORD, TestCluster, TestNode, until } from "./harness.ts";
import { RawPeer, firstFrame, issueWithNames } from "./raw-peer.ts";
import type { FrameChanges } from "./raw-peer.ts";

let cluster: TestCluster;
let node: TestNode;
let pins: Uint8Array[];
beforeEach(async () => {
  cluster = await TestCluster.create();
  cluster.signerOf("a");
  pins = [cluster.authority.spkiSha256];
  node = await TestNode.start(cluster, "b", { pins: () => pins });
});
afterEach(async () => {
  await cluster.close();
});

function tlsOf(certificate: IssuedCertificate): ConnectionOptions {
  return { ca: cluster.authority.certificatePem, cert: certificate.certificatePem, key: certificate.privateKeyPem };
}

/** Nothing was opened and nothing delivered. */
function expectNothing(): void {
  expect(node.count("session_opened")).toBe(0);
  expect(node.frames).toEqual([]);
}

/**
 * Why a connection with these options was refused; nothing may have been opened by it. The server's refusal of a
 * TLS 1.3 client certificate reaches the client after its own handshake is done.
 */
async function tlsRefusal(options: ConnectionOptions): Promise<string | undefined> {
  const peer = await RawPeer.tryConnect(node, options);
  await peer?.closed();
  await until("counted", () => node.count("inbound_refused") === 1);
  expectNothing();
  return node.network.counters().find(({ event }) => event === "inbound_refused")?.reason;
}

describe("TLS refuses", () => {
  test("a client without a certificate", async () => {
    expect(await tlsRefusal({ ca: cluster.authority.certificatePem })).toBe("tls");
  });

  test("the right name signed by another authority", async () => {
    const other = await createCertificateAuthority("test", Date.now());
    const identity = { role: "node", clusterId: cluster.clusterId, id: "a" } as const;
    expect(await tlsRefusal(tlsOf(await issueCertificate(other, identity, DAY_MS, Date.now())))).toBe("tls");
  });

  test("the certificate of an api process, which is for a listener of its own", async () => {
    expect(await tlsRefusal(tlsOf(await cluster.issue("api", "a")))).toBe("tls");
  });

  test("an authority's own certificate used as a client's", async () => {
    expect(await tlsRefusal(tlsOf(await createCertificateAuthority("test", Date.now())))).toBe("tls");
  });

  test.each([
    ["an expired certificate", -2 * DAY_MS],
    ["a certificate that is not valid yet", 2 * DAY_MS],
  ])("%s", async (_what, offsetMs) => {
    const identity = { role: "node", clusterId: cluster.clusterId, id: "a" } as const;
    const certificate = await issueCertificate(cluster.authority, identity, DAY_MS, Date.now() + offsetMs);
    expect(await tlsRefusal(tlsOf(certificate))).toBe("tls");
  });

  test("TLS 1.2", async () => {
    expect(await tlsRefusal({ ...tlsOf(await cluster.issue("node", "a")), maxVersion: "TLSv1.2" })).toBe("tls");
  });

  test("bytes that are no TLS", async () => {
    const socket = connectTcp(node.address.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.end("GET / HTTP/1.1\r\n\r\n");
    await until("counted", () => node.count("inbound_refused", "tls") === 1);
    expect(node.count("session_opened")).toBe(0);
  });

  test.each([
    ["no name at all", "no_identity", () => []],
    ["a DNS name", "no_identity", () => [{ type: "dns", value: "a" }]],
    ["two URNs", "no_identity", () => [urn("a"), urn("b")]],
    ["a URN and a DNS name", "no_identity", () => [urn("a"), { type: "dns", value: "a" }]],
    [
      "a URN that is no identity of ours",
      "no_identity",
      () => [{ type: "url", value: "urn:event-anchoring:x:node:a" }],
    ],
    ["a DNS name that looks like a URN", "no_identity", () => [{ type: "dns", value: `x, URI:${urn("a").value}` }]],
    ["the URN of another cluster", "wrong_cluster", () => [urn("a", Uint8Array.from(randomBytes(32)))]],
  ])("a certificate of the right authority with %s", async (_what, reason, names) => {
    expect(await tlsRefusal(tlsOf(await issueWithNames(cluster, names() as never)))).toBe(reason);
  });

  test("an authority that the trust root does not pin any more", async () => {
    pins = [Uint8Array.from(randomBytes(32))];
    expect(await tlsRefusal(tlsOf(await cluster.issue("node", "a")))).toBe("ca_not_pinned");
  });

  test("to resume a session: neither its own nor another server's proves anything", async () => {
    const certificate = await cluster.issue("node", "a");
    const first = await RawPeer.connect(node, tlsOf(certificate));
    const sessions: Buffer[] = [];
    first.socket.on("session", (session: Buffer) => sessions.push(session));
    await first.upgrade();
    // OpenSSL hands out session ids even without tickets; this server remembers none of them.
    sessions.push(await ticketOf(await cluster.issue("node", "b"), certificate));
    for (const session of sessions) {
      const withCertificate = await RawPeer.connect(node, { ...tlsOf(certificate), session });
      expect(withCertificate.socket.isSessionReused()).toBe(false);
      const bare = await RawPeer.tryConnect(node, { ca: cluster.authority.certificatePem, session });
      await bare?.closed();
    }
    await until("counted", () => node.count("inbound_refused", "tls") === sessions.length);
    expectNothing();
  });
});

function urn(id: string, clusterId = cluster.clusterId): { type: string; value: string } {
  return { type: "url", value: formatIdentity({ role: "node", clusterId, id }) };
}

/** A TLS session ticket from an ordinary server. */
async function ticketOf(server: IssuedCertificate, client: IssuedCertificate): Promise<Buffer> {
  const options = {
    ca: cluster.authority.certificatePem,
    cert: server.certificatePem,
    key: server.privateKeyPem,
    requestCert: true,
  };
  const listener = createTlsServer(options, (socket) => void socket.end("x"));
  await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const socket = connectTls({ ...tlsOf(client), host: "127.0.0.1", port, checkServerIdentity: () => undefined });
  socket.resume();
  const ticket = await new Promise<Buffer>((resolve) => void socket.once("session", resolve));
  socket.destroy();
  await new Promise((resolve) => void listener.close(resolve));
  return ticket;
}

function lengthOf(bytes: number): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(bytes);
  return header;
}

describe("the first frame is refused", () => {
  async function dial(role: "node" | "api" | "operator" = "node", id = "a"): Promise<RawPeer> {
    const peer = await RawPeer.as(cluster, node, await cluster.issue(role, id));
    await peer.upgrade();
    return peer;
  }

  const cases: [string, string, string, () => FrameChanges][] = [
    ["signed by another key", "bad_signature", "bad_signature", () => ({ signer: createSigner(generateSeed()) })],
    ["signed for another connection", "bad_signature", "bad_signature", () => ({ exporter: new Uint8Array(32) })],
    ["signed for the other lane", "bad_signature", "bad_signature", () => ({ lane: "bulk" })],
    ["for another node", "wrong_target", "bad_signature", () => ({ claims: { to: "c" } })],
    ["of another cluster", "wrong_cluster", "wrong_cluster", () => ({ claims: { clusterId: new Uint8Array(32) } })],
    ["from another node than the certificate's", "wrong_identity", "bad_signature", () => ({ claims: { from: "b" } })],
    ["whose sequence is not that of a first frame", "replayed", "replayed", () => ({ claims: { sequence: 1 } })],
    ["whose hello names another node", "malformed", "bad_signature", () => ({ hello: { nodeId: "c" } })],
    [
      "whose hello names another cluster",
      "malformed",
      "bad_signature",
      () => ({ hello: { clusterId: new Uint8Array(32) } }),
    ],
    ["whose hello has another incarnation", "malformed", "bad_signature", () => ({ claims: { incarnation: 7 } })],
  ];
  test.each(cases)("%s", async (_what, reason, told, changes) => {
    const peer = await dial();
    peer.sendFrame(firstFrame(cluster, peer, "a", "b", changes()));
    const answer = await peer.helloAnswer();
    expect(answer).toMatchObject({ accepted: false, code: told, detail: "refused" });
    await peer.closed();
    expect(node.count("inbound_refused", reason)).toBe(1);
    expect(node.environment.log.some(({ event }) => event === "inbound_refused")).toBe(true);
    expectNothing();
  });

  test.each([
    [0, ["first document", "second document"]],
    [1, ["second document"]],
    [2, []],
  ])("from a node that no trust root knows, with those after version %i, which it knows", async (version, shown) => {
    const peer = await dial("node", "stranger");
    const changes = { signer: createSigner(generateSeed()), hello: { trustRootVersion: version } };
    peer.sendFrame(firstFrame(cluster, peer, "stranger", "b", changes));
    const answer = await peer.helloAnswer();
    expect(answer).toMatchObject({ code: "unknown_node", trustRootChain: shown });
    expectNothing();
  });

  test("from the certificate of an operator", async () => {
    const peer = await dial("operator", "a");
    peer.sendFrame(firstFrame(cluster, peer, "a", "b"));
    expect(await peer.helloAnswer()).toMatchObject({ accepted: false, code: "bad_signature" });
    expect(node.count("inbound_refused", "wrong_identity")).toBe(1);
    expectNothing();
  });

  test("replayed from an earlier, accepted connection", async () => {
    const first = await dial();
    const frame = firstFrame(cluster, first, "a", "b");
    first.sendFrame(frame);
    expect(await first.helloAnswer()).toMatchObject({ accepted: true });
    const second = await dial();
    second.sendFrame(frame);
    expect(await second.helloAnswer()).toMatchObject({ accepted: false, code: "bad_signature" });
    expect(node.count("session_opened")).toBe(1);
  });

  test("of an older incarnation than one that was accepted", async () => {
    const newer = await dial();
    newer.sendFrame(firstFrame(cluster, newer, "a", "b", { incarnation: 5 }));
    expect(await newer.helloAnswer()).toMatchObject({ accepted: true });
    const older = await dial();
    older.sendFrame(firstFrame(cluster, older, "a", "b", { incarnation: 4 }));
    // What the later one has signed goes with it: the refused node need not take our word.
    expect(await older.helloAnswer()).toMatchObject({ accepted: false, code: "stale_incarnation", ownWord: OWN_WORD });
  });

  test("but a forged higher incarnation locks nobody out", async () => {
    const forger = await dial();
    const signer = createSigner(generateSeed());
    forger.sendFrame(firstFrame(cluster, forger, "a", "b", { incarnation: 99, signer }));
    expect(await forger.helloAnswer()).toMatchObject({ accepted: false });
    const honest = await dial();
    honest.sendFrame(firstFrame(cluster, honest, "a", "b"));
    expect(await honest.helloAnswer()).toMatchObject({ accepted: true });
  });

  test("with any one bit flipped", async () => {
    const flips = 24;
    for (let flip = 0; flip < flips; flip++) {
      const peer = await dial();
      const frame = Uint8Array.from(firstFrame(cluster, peer, "a", "b"));
      const position = Math.floor((frame.length * flip) / flips);
      frame[position] = (frame[position] ?? 0) ^ (1 << (flip % 8));
      peer.sendFrame(frame);
      expect(await peer.helloAnswer()).toMatchObject({ accepted: false });
      await peer.closed();
    }
    expect(node.count("inbound_refused")).toBe(flips);
    expectNothing();
  });

  test.each([
    ["empty", () => Buffer.from([0, 0, 0, 0])],
    ["longer than a hello may be", () => lengthOf(HELLO_FRAME_BYTES_MAX + 1)],
    ["of 4 GiB", () => Buffer.from([255, 255, 255, 255])],
  ])("%s", async (_what, bytes) => {
    const peer = await dial();
    peer.write(bytes());
    await peer.closed();
    expect(node.count("inbound_refused", "malformed")).toBe(1);
    expectNothing();
  });

  test("followed by more before it is answered", async () => {
    const peer = await dial();
    const frame = firstFrame(cluster, peer, "a", "b");
    peer.write(Buffer.concat([Buffer.from([0, 0, frame.length >> 8, frame.length & 255]), frame, Buffer.from([0])]));
    await peer.closed();
    expect(node.count("inbound_refused", "malformed")).toBe(1);
    expectNothing();
  });
});

const NOT_FOUND = "HTTP/1.1 404 Not Found";

describe("before anything is proved", () => {
  test("connections that prove nothing in time are closed, at every stage", async () => {
    const silent = connectTcp(node.address.port, "127.0.0.1");
    silent.on("error", () => undefined);
    const certificate = await cluster.issue("node", "a");
    const afterTls = await RawPeer.as(cluster, node, certificate);
    afterTls.write("GET /control");
    const afterUpgrade = await RawPeer.as(cluster, node, certificate);
    await afterUpgrade.upgrade();
    afterUpgrade.write(Buffer.from([0, 0]));
    node.environment.monotonicOffsetMs = 5000;
    await Promise.all([afterTls.closed(), afterUpgrade.closed(), until("silent one closed", () => silent.destroyed)]);
    await until("counted", () => node.count("connection_dropped", "late") >= 2);
    expect(node.count("session_opened")).toBe(0);
  });

  /** Connections that say nothing, from addresses of 127.0.0.0/8. */
  function strangers(count: number, addressOf: (at: number) => string): ReturnType<typeof connectTcp>[] {
    return Array.from({ length: count }, (_, at) => {
      const { port } = node.address;
      const socket = connectTcp({ port, host: "127.0.0.1", localAddress: addressOf(at) });
      return socket.on("error", () => undefined);
    });
  }

  async function isLetIn(): Promise<boolean> {
    const peer = await RawPeer.as(cluster, node, await cluster.issue("node", "a"));
    await peer.upgrade();
    peer.sendFrame(firstFrame(cluster, peer, "a", "b"));
    return (await peer.helloAnswer()).accepted;
  }

  test("one address holds four such connections, and more are closed unseen", async () => {
    const open = strangers(20, () => "127.0.0.9");
    await until("dropped", () => node.count("connection_dropped", "too_many") === 16);
    expect(await isLetIn()).toBe(true);
    for (const socket of open) socket.destroy();
  });

  test("all strangers together hold 64, and keep no peer out", async () => {
    const open = strangers(80, (at) => `127.0.1.${at + 1}`);
    await until("dropped", () => node.count("connection_dropped", "too_many") === 16);
    // Nobody is configured at 127.0.0.1 yet, and no node has called from there.
    const refused = strangers(1, () => "127.0.0.1");
    await until("dropped too", () => node.count("connection_dropped", "too_many") === 17);
    node.network.setPeers([{ nodeId: "a", host: "127.0.0.1", port: 1 }]);
    expect(await isLetIn()).toBe(true);
    node.network.setPeers([]);
    // It is no peer's address any more, and that of a node which has proved itself.
    expect(await isLetIn()).toBe(true);
    for (const socket of [...open, ...refused]) socket.destroy();
  });

  test("however many there are, the log says so once a second, with their number", async () => {
    const told = (): readonly number[] =>
      node.environment.log
        .filter(({ event }) => event === "inbound_refused")
        .map(({ fields }) => (fields as { count?: number }).count ?? 1);
    const beganMs = node.environment.clock.monotonicMs();
    const open = strangers(200, () => "127.0.0.9");
    await until("dropped", () => node.count("connection_dropped", "too_many") === 196);
    node.environment.monotonicOffsetMs += 1000;
    await until("told", () => told().reduce((sum, count) => sum + count, 0) >= 196);
    const seconds = (node.environment.clock.monotonicMs() - beganMs) / 1000;
    expect(told().length).toBeLessThanOrEqual(1 + seconds);
    for (const socket of open) socket.destroy();
  });

  test.each([
    [
      "another path",
      "GET /control/v1/other HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: event-anchoring-control/1\r\n\r\n",
      NOT_FOUND,
    ],
    [
      "another protocol",
      `GET ${LANE_PATHS.control} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      NOT_FOUND,
    ],
    ["no upgrade", `GET ${LANE_PATHS.control} HTTP/1.1\r\nHost: x\r\n\r\n`, NOT_FOUND],
    ["a head of 10 KiB", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(10_240)}\r\n\r\n`, ""],
    ["no HTTP", "\u0000\u0001\u0002\r\n\r\n", ""],
  ])("%s is answered with nothing useful", async (_what, request, status) => {
    const peer = await RawPeer.as(cluster, node, await cluster.issue("node", "a"));
    peer.write(request);
    await peer.closed();
    expect(peer.text.split("\r\n")[0]).toBe(status);
    expect(node.count("inbound_refused")).toBe(1);
    expectNothing();
  });
});

describe("after the hello, a session ends at", () => {
  function sequenced(sequence: number, body: Uint8Array): Buffer {
    const head = Buffer.alloc(12);
    head.writeUInt32BE(8 + body.length, 0);
    head.writeBigUInt64BE(BigInt(sequence), 4);
    return Buffer.concat([head, body]);
  }
  const clock = (): Uint8Array => encodePeerFrame({ type: "clock", wallMs: 1, appliedIndex: 2, monotonicMs: 3 });

  async function session(): Promise<RawPeer> {
    const peer = await RawPeer.as(cluster, node, await cluster.issue("node", "a"));
    await peer.upgrade();
    peer.sendFrame(firstFrame(cluster, peer, "a", "b"));
    expect(await peer.helloAnswer()).toMatchObject({ accepted: true });
    return peer;
  }

  test.each([
    ["a frame out of sequence", "bad_sequence", 0, (): Buffer => sequenced(2, clock())],
    [
      "a repeated frame",
      "bad_sequence",
      1,
      (): Buffer => Buffer.concat([sequenced(1, clock()), sequenced(1, clock())]),
    ],
    ["a frame shorter than a sequence", "bad_sequence", 0, (): Buffer => Buffer.from([0, 0, 0, 1, 0])],
    ["a frame of unknown kind", "bad_frame", 0, (): Buffer => sequenced(1, Uint8Array.of(99))],
    ["a frame with bytes left over", "bad_frame", 0, (): Buffer => sequenced(1, Uint8Array.of(...clock(), 0))],
    ["a truncated frame body", "bad_frame", 0, (): Buffer => sequenced(1, clock().subarray(0, 10))],
    ["an empty frame", "bad_frame", 0, (): Buffer => Buffer.from([0, 0, 0, 0])],
    ["a frame too long for the control lane", "bad_frame", 0, (): Buffer => Buffer.from([0, 2, 0, 0, 0, 0, 0, 0])],
  ])("%s", async (_what, reason, delivered, bytes) => {
    const peer = await session();
    peer.write(bytes());
    await peer.closed();
    expect(node.count("session_ended", reason)).toBe(1);
    expect(node.frames).toHaveLength(delivered);
  });

  test("silence, though keepalives keep it open", async () => {
    const peer = await session();
    const before = peer.text.length;
    node.environment.monotonicOffsetMs = 4000;
    peer.write(sequenced(1, new Uint8Array(0)));
    await until("keepalive answered", () => peer.text.length === before + 12);
    expect(peer.text.endsWith("\0\0\0\u0008\0\0\0\0\0\0\0\u0001")).toBe(true);
    node.environment.monotonicOffsetMs = 9001;
    await peer.closed();
    expect(node.count("session_ended", "silent")).toBe(1);
  });

  test("a second connection for the same lane", async () => {
    const first = await session();
    const second = await session();
    await first.closed();
    expect(node.count("session_ended", "replaced")).toBe(1);
    second.write(sequenced(1, clock()));
    await until("frame", () => node.frames.length === 1);
  });
});
