import { createServer } from "node:https";
import type { Server } from "node:https";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import {
  FrameSizeError,
  FrameSplitter,
  HELLO_FRAME_BYTES_MAX,
  LANE_PATHS,
  UPGRADE_PROTOCOL,
  frameHeader,
} from "@event-anchoring/control-contract";
import type { Hello, Lane } from "@event-anchoring/control-contract";
import { judgeHelloFrame, makeHelloAnswer } from "./hello-exchange.ts";
import { PENDING_MS } from "./hello-timeouts.ts";
import type { PeerAddresses } from "./peer-addresses.ts";
import { PendingConnections } from "./pending-connections.ts";
import { RefusalLog } from "./refusal-log.ts";
import { judgePeerCertificate } from "./tls-material.ts";
import type { PeerCertificateVerdict } from "./tls-material.ts";
import type { TransportContext } from "./transport-context.ts";
import { answerUnary } from "./unary-server.ts";

const HEAD_BYTES_MAX = 8 * 1024;
const CONNECTIONS_MAX = 512;

export type AcceptedCertificate = Extract<PeerCertificateVerdict, { ok: true }>;

export interface ListenerOptions {
  readonly context: TransportContext;
  /** Whose connections have a reserve. */
  readonly addresses: PeerAddresses;
  /** A peer's hello was accepted and answered; the socket is its lane from here on. */
  readonly onLane: (lane: Lane, hello: Hello, socket: Duplex, expiresMs: number) => void;
}

/**
 * Accepts peers' lanes and unary calls. A connection passes, in order: count and deadline, TLS 1.3 with a certificate
 * of ours, the identity in it, then a signed first frame or a signed call. Every refusal is counted and logged.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #pending: PendingConnections;
  readonly #refusals: RefusalLog;
  readonly #sockets = new Set<Socket>();
  readonly #accepted = new WeakMap<object, AcceptedCertificate>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { context, addresses } = options;
    this.#pending = new PendingConnections(context.options.environment.clock, addresses);
    this.#refusals = new RefusalLog(context.options.environment);
    const server = createServer({
      ...context.material().options,
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: PENDING_MS,
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: PENDING_MS,
      requestTimeout: PENDING_MS,
      keepAliveTimeout: 1,
      insecureHTTPParser: false,
      noDelay: true,
    });
    server.maxConnections = CONNECTIONS_MAX;
    server.maxRequestsPerSocket = 1;
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#onConnection(socket));
    server.on("secureConnection", (socket) => this.#onSecureConnection(socket));
    server.on("tlsClientError", (error) => this.#refuse("tls", "", error.message));
    server.on("clientError", (error, socket) => {
      // A failed TLS handshake is reported here a second time.
      if (this.#accepted.has(socket)) this.#refuse("http", "", error.message);
      socket.destroy();
    });
    server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    server.on("request", (request, response) => {
      const certificate = this.#accepted.get(request.socket);
      if (certificate === undefined) request.socket.destroy();
      else {
        const authenticated = (): void => this.#pending.release(request.socket as TLSSocket);
        answerUnary({ context, certificate, request, response, authenticated });
      }
    });
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options.context.options.listen;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.#server.address() as AddressInfo;
    return { host: address, port };
  }

  /** New connections use the new files; those that are open end with the certificates they were made with. */
  useNewMaterial(): void {
    this.#server.setSecureContext(this.#options.context.material().options);
  }

  sweep(): void {
    const late = this.#pending.sweep();
    if (late > 0) this.#drop("late", late);
    this.#refusals.sweep();
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve, reject) => {
      this.#server.close((error) => (error === undefined ? resolve() : reject(error)));
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  #onConnection(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (!this.#pending.admit(socket)) this.#drop("too_many", 1);
  }

  #onSecureConnection(socket: TLSSocket): void {
    const { options, material } = this.#options.context;
    const judged = judgePeerCertificate(socket, options.self.clusterId, material(), options.caSpkiPins());
    if (judged.ok) this.#accepted.set(socket, judged);
    else {
      this.#refuse(judged.code, "", "");
      socket.destroy();
    }
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const certificate = this.#accepted.get(socket);
    const lane = laneOf(request.url ?? "");
    socket.on("error", () => socket.destroy());
    if (certificate === undefined || lane === null || request.headers.upgrade !== UPGRADE_PROTOCOL) {
      this.#refuse("not_found", certificate?.identity.id ?? "", `upgrade to ${request.headers.upgrade ?? ""}`);
      socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${UPGRADE_PROTOCOL}\r\n\r\n`);
    const splitter = new FrameSplitter(HELLO_FRAME_BYTES_MAX);
    const onChunk = (chunk: Buffer): void => {
      const frames = this.#split(splitter, chunk);
      if (frames !== null && frames.length === 0) return;
      socket.off("data", onChunk);
      const [frame] = frames ?? [];
      // Nothing may follow the hello before its answer: earlier bytes were not written for this exchange.
      const isAlone = frames?.length === 1 && splitter.pendingBytes === 0;
      if (frame !== undefined && isAlone) this.#onHello(lane, certificate, socket, frame);
      else {
        this.#refuse("malformed", certificate.identity.id, "the first frame is too long or not alone");
        socket.destroy();
      }
    };
    socket.on("data", onChunk);
    if (head.length > 0) onChunk(head);
  }

  #onHello(lane: Lane, certificate: AcceptedCertificate, socket: Duplex, frame: Uint8Array): void {
    const { context, onLane } = this.#options;
    const { identity, exporter, expiresMs } = certificate;
    const judgement = judgeHelloFrame(context, lane, identity, exporter, frame);
    const answer = makeHelloAnswer(context, identity.id, lane, exporter, judgement);
    const bytes = Buffer.concat([frameHeader(answer.length), answer]);
    if (!judgement.accepted) {
      this.#refuse(judgement.reason, identity.id, judgement.detail);
      socket.end(bytes);
      return;
    }
    const tls = socket as TLSSocket;
    this.#pending.release(tls);
    if (tls.remoteAddress !== undefined) this.#options.addresses.prove(tls.remoteAddress);
    socket.write(bytes);
    socket.removeAllListeners("error");
    onLane(lane, judgement.hello, socket, expiresMs);
  }

  /** Null if the peer announced a frame that is too long. */
  #split(splitter: FrameSplitter, chunk: Uint8Array): readonly Uint8Array[] | null {
    try {
      return splitter.push(chunk);
    } catch (error) {
      if (error instanceof FrameSizeError) return null;
      throw error;
    }
  }

  #refuse(reason: string, peer: string, detail: string): void {
    this.#options.context.counters.add("inbound_refused", peer, reason);
    this.#refusals.note({ reason, peer, detail });
  }

  /** Before anything was heard of it. */
  #drop(reason: "late" | "too_many", amount: number): void {
    this.#options.context.counters.add("connection_dropped", "", reason, amount);
    this.#refusals.note({ reason, peer: "", detail: "a connection that has proved nothing" }, amount);
  }
}

function laneOf(path: string): Lane | null {
  if (path === LANE_PATHS.control) return "control";
  return path === LANE_PATHS.bulk ? "bulk" : null;
}
