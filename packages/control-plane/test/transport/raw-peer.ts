/** A peer that does what it likes: TLS by hand, frames by hand. */
// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 looks for it while it loads
import "reflect-metadata";
import { helloOf, until } from "./harness.ts";
import type { TestCluster, TestNode } from "./harness.ts";
import { randomBytes, webcrypto } from "node:crypto";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import {
  EXPORTER_LABEL,
  FrameSplitter,
  LANE_PATHS,
  decodeHelloAnswer,
  decodeSignedFrame,
  encodeHello,
  encodeSignedFrame,
  frameHeader,
  signNodeRequest,
} from "@event-anchoring/control-contract";
import type { AuthClaims, Hello, HelloAnswer, Lane } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import type { IssuedCertificate } from "@event-anchoring/provision";
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
  cryptoProvider,
} from "@peculiar/x509";
import type { JsonGeneralName } from "@peculiar/x509";

export class RawPeer {
  readonly socket: TLSSocket;
  #received = Buffer.alloc(0);
  isClosed = false;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on("close", () => {
      this.isClosed = true;
    });
    // The tests look at isClosed; a reset is how a refusal often looks.
    socket.on("error", () => undefined);
  }

  /** Resolves when TLS is up on this side; rejects if it never is. */
  static async connect(node: TestNode, options: ConnectionOptions): Promise<RawPeer> {
    const peer = await RawPeer.tryConnect(node, options);
    if (peer === null) throw new Error("closed during the TLS handshake");
    return peer;
  }

  /** Null if the connection is closed during the TLS handshake. */
  static async tryConnect(node: TestNode, options: ConnectionOptions): Promise<RawPeer | null> {
    const { host, port } = node.address;
    const socket = connect({ host, port, checkServerIdentity: () => undefined, ...options });
    const peer = new RawPeer(socket);
    return new Promise((resolve) => {
      socket.once("secureConnect", () => resolve(peer));
      socket.once("close", () => resolve(null));
    });
  }

  static async as(cluster: TestCluster, node: TestNode, certificate: IssuedCertificate): Promise<RawPeer> {
    return RawPeer.connect(node, {
      ca: cluster.authority.certificatePem,
      cert: certificate.certificatePem,
      key: certificate.privateKeyPem,
    });
  }

  get exporter(): Uint8Array {
    return this.socket.exportKeyingMaterial(32, EXPORTER_LABEL, Buffer.alloc(0));
  }

  write(bytes: Uint8Array | string): void {
    this.socket.write(bytes);
  }

  /** Text received so far. */
  get text(): string {
    return this.#received.toString("latin1");
  }

  async upgrade(path: string = LANE_PATHS.control): Promise<void> {
    this.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: event-anchoring-control/1\r\n\r\n`);
    await this.waitFor("the upgrade", () => this.text.includes("\r\n\r\n"));
    if (!this.text.startsWith("HTTP/1.1 101")) throw new Error(this.text.split("\r\n")[0]);
    this.#received = this.#received.subarray(this.text.indexOf("\r\n\r\n") + 4);
  }

  sendFrame(frame: Uint8Array): void {
    this.write(Buffer.concat([frameHeader(frame.length), frame]));
  }

  /** The answer to our first frame. */
  async helloAnswer(): Promise<HelloAnswer> {
    const frames = (): Uint8Array[] => new FrameSplitter(1 << 20).push(this.#received);
    await this.waitFor("the answer", () => frames().length > 0);
    const [frame = new Uint8Array(0)] = frames();
    return decodeHelloAnswer(decodeSignedFrame(frame).body);
  }

  async closed(): Promise<void> {
    await this.waitFor("the end", () => this.isClosed);
  }

  async waitFor(what: string, condition: () => boolean): Promise<void> {
    await until(what, () => condition() || this.isClosed);
    if (!condition()) throw new Error(`closed while waiting for ${what}`);
  }
}

export interface FrameChanges {
  /** In the hello and in its header. */
  readonly incarnation?: number;
  readonly claims?: Partial<AuthClaims>;
  readonly hello?: Partial<Hello>;
  readonly signer?: Signer;
  /** The lane that is signed for. */
  readonly lane?: Lane;
  readonly exporter?: Uint8Array;
}

/** A good first frame from `from` to `to`, but for the changes. */
export function firstFrame(
  cluster: TestCluster,
  peer: RawPeer,
  from: string,
  to: string,
  changes: FrameChanges = {},
): Uint8Array {
  const body = encodeHello({ ...helloOf(cluster, from, changes.incarnation ?? 1), ...changes.hello });
  const claims: AuthClaims = {
    clusterId: cluster.clusterId,
    from,
    to,
    incarnation: changes.incarnation ?? 1,
    trustRootVersion: 2,
    sequence: 0,
    nonce: Uint8Array.from(randomBytes(16)),
    ...changes.claims,
  };
  const context = {
    method: "GET",
    path: LANE_PATHS[changes.lane ?? "control"],
    exporter: changes.exporter ?? peer.exporter,
    bodyDigest: nodeCrypto.sha256(body),
  };
  const signer = changes.signer ?? cluster.signerOf(from);
  const header = signNodeRequest(claims, context, (message) => signer.sign(message), nodeCrypto.sha256);
  return encodeSignedFrame(header, body);
}

/** A certificate of the right authority with other names, which provision would not issue. */
export async function issueWithNames(cluster: TestCluster, names: JsonGeneralName[]): Promise<IssuedCertificate> {
  cryptoProvider.set(webcrypto);
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const der = Buffer.from(cluster.authority.privateKeyPem.replace(/-----[A-Z ]+-----|\s/g, ""), "base64");
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: ["node a"] }],
    issuer: new X509Certificate(cluster.authority.certificatePem).subject,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]),
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    certificatePem: certificate.toString("pem"),
    privateKeyPem: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
    expiresMs: certificate.notAfter.getTime(),
  };
}
