import { request as httpsRequest } from "node:https";
import type { Agent } from "node:https";
import type { ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import {
  FrameSizeError,
  FrameSplitter,
  HELLO_ANSWER_FRAME_BYTES_MAX,
  LANE_PATHS,
  UPGRADE_PROTOCOL,
  frameHeader,
} from "@event-anchoring/control-contract";
import type { Hello, Lane } from "@event-anchoring/control-contract";
import type { Timer } from "../ports/environment.ts";
import { Backoff } from "./backoff.ts";
import { judgeHelloAnswer, makeHello } from "./hello-exchange.ts";
import type { AnswerJudgement } from "./hello-exchange.ts";
import { DIAL_TIMEOUT_MS } from "./hello-timeouts.ts";
import { REFUSED_AFTER_MS } from "./network-types.ts";
import type { PeerAddress, ConnectionEnd } from "./network-types.ts";
import { OutboundLane } from "./outbound-lane.ts";
import { systemCodeOf } from "./system-code.ts";
import { judgePeerCertificate } from "./tls-material.ts";
import type { TransportContext } from "./transport-context.ts";

export interface PeerDialerOptions {
  readonly context: TransportContext;
  readonly peer: PeerAddress;
  readonly lane: Lane;
  /** Makes the peer's Agent; asked for each dial, so that a reload of the TLS files is taken up. */
  readonly agent: () => Agent;
  readonly onUp: (hello: Hello) => void;
  /** `isRefusing`: no process has listened there for REFUSED_AFTER_MS. At most once between two onUp. */
  readonly onDown: (reason: ConnectionEnd, isRefusing: boolean) => void;
}

/** One attempt to open a lane. It is settled once, by an open lane or by a failure. */
interface Dial {
  readonly request: ClientRequest;
  readonly timeout: Timer;
  isSettled: boolean;
}

/**
 * Keeps one lane to one peer open.
 *
 * States: *dialling* (#dial set), *open* (#lane set), *waiting* (#retry set), *stopped*. A failed dial waits by the
 * back-off and dials again; a lane that ends dials again at once; `hurry` cuts a wait short, because the peer has
 * shown that it is there.
 */
export class PeerDialer {
  readonly #options: PeerDialerOptions;
  readonly #backoff: Backoff;
  #dial: Dial | null = null;
  #lane: OutboundLane | null = null;
  #retry: Timer | null = null;
  #isStopped = false;
  /** Since when every dial was refused by the peer's host. */
  #refusedSinceMs: number | null = null;
  #wasUp = false;
  #lastEnd: ConnectionEnd = "connection_error";

  constructor(options: PeerDialerOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.context.options.environment.random);
  }

  get lane(): OutboundLane | null {
    return this.#lane;
  }

  start(): void {
    if (!this.#isStopped && this.#dial === null && this.#lane === null) this.#startDial();
  }

  /** The peer is there: dial now if we were waiting. */
  hurry(): void {
    this.#backoff.reset();
    if (this.#retry === null) return;
    this.#retry.cancel();
    this.#retry = null;
    this.start();
  }

  stop(reason: ConnectionEnd): void {
    this.#stopDialling();
    this.#lane?.end(reason);
  }

  /** Stops too, and resolves when the peer has received what was sent, as far as it takes it. */
  async finish(): Promise<void> {
    this.#stopDialling();
    await this.#lane?.finish("shutdown");
  }

  sweep(): void {
    this.#lane?.sweep();
  }

  #stopDialling(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#retry = null;
    if (this.#dial !== null) this.#settle(this.#dial);
  }

  #startDial(): void {
    const { context, peer, lane, agent } = this.#options;
    const { clock } = context.options.environment;
    this.#retry = null;
    if (context.options.authKeyOf(peer.nodeId) === null) return this.#waitAndRetry("unknown_node", "");
    const request = httpsRequest({
      agent: agent(),
      host: peer.host,
      port: peer.port,
      method: "GET",
      path: LANE_PATHS[lane],
      headers: { connection: "Upgrade", upgrade: UPGRADE_PROTOCOL },
    });
    const timeout = clock.startTimer(DIAL_TIMEOUT_MS, () => this.#fail(dial, "timeout", "", null));
    const dial: Dial = { request, timeout, isSettled: false };
    this.#dial = dial;
    request.on("error", (error) => this.#fail(dial, "connection_failed", error.message, systemCodeOf(error)));
    request.on("response", (response) => {
      response.destroy();
      this.#fail(dial, "no_upgrade", `status ${response.statusCode}`, null);
    });
    request.on("upgrade", (_response, socket, head) => this.#onUpgrade(dial, socket, head));
    request.end();
  }

  #onUpgrade(dial: Dial, socket: Duplex, head: Buffer): void {
    const { context, peer, lane } = this.#options;
    if (dial.isSettled) {
      socket.destroy();
      return;
    }
    const tls = socket as TLSSocket;
    tls.setNoDelay(true);
    const judged = judgePeerCertificate(
      tls,
      context.options.self.clusterId,
      context.material(),
      context.options.caSpkiPins(),
    );
    const drop = (reason: string, detail: string): void => {
      socket.destroy();
      this.#fail(dial, reason, detail, null);
    };
    tls.on("error", (error: Error) => drop("connection_failed", error.message));
    if (!judged.ok) return drop(judged.code, "");
    if (judged.identity.role !== "node" || judged.identity.id !== peer.nodeId) return drop("wrong_identity", "");
    const own = makeHello(context, peer.nodeId, lane, judged.exporter);
    if (own === null) return drop("not_ready", "this node has no hello to give");
    const splitter = new FrameSplitter(HELLO_ANSWER_FRAME_BYTES_MAX);
    const onChunk = (chunk: Buffer): void => {
      const frame = firstFrame(splitter, chunk);
      if (frame === "incomplete") return;
      tls.off("data", onChunk);
      tls.off("close", onClose);
      if (dial.isSettled) return;
      if (frame === "malformed") return drop("malformed", "the first frame is too long or not alone");
      const answer = judgeHelloAnswer(context, peer.nodeId, lane, judged.exporter, own, frame);
      this.#onAnswer(dial, tls, answer, judged.expiresMs);
    };
    const onClose = (): void => this.#fail(dial, "connection_failed", "closed during the hello", null);
    tls.on("data", onChunk);
    tls.on("close", onClose);
    tls.write(Buffer.concat([frameHeader(own.frame.length), own.frame]));
    if (head.length > 0) onChunk(head);
  }

  #onAnswer(dial: Dial, socket: TLSSocket, answer: AnswerJudgement, expiresMs: number): void {
    const { context, peer, lane } = this.#options;
    if (answer.outcome === "accepted") return this.#open(dial, socket, answer.hello, expiresMs);
    socket.destroy();
    if (answer.outcome === "failed") return this.#fail(dial, answer.reason, answer.detail, null);
    const { refusal } = answer;
    context.counters.add("hello_refused_by_peer", peer.nodeId, refusal.code);
    context.options.environment.logger.warn("hello_refused_by_peer", {
      peer: peer.nodeId,
      lane,
      code: refusal.code,
      detail: refusal.detail,
    });
    this.#fail(dial, refusal.code, "refused by the peer", null);
    context.options.onHelloRefused(peer.nodeId, refusal);
  }

  #open(dial: Dial, socket: TLSSocket, hello: Hello, expiresMs: number): void {
    const { context, peer, lane } = this.#options;
    const { counters, options } = context;
    this.#settle(dial, false);
    socket.removeAllListeners("error");
    this.#backoff.reset();
    this.#refusedSinceMs = null;
    this.#wasUp = true;
    counters.add("session_opened", peer.nodeId, `${lane}_out`);
    const opened = new OutboundLane({
      socket,
      lane,
      clock: options.environment.clock,
      expiresMs,
      peerIncarnation: hello.progress.incarnation,
      onBytesSent: (bytes) => counters.add("bytes_sent", peer.nodeId, lane, bytes),
      onEnd: (reason, framesDropped) => this.#onLaneEnd(opened, reason, framesDropped),
    });
    this.#lane = opened;
    this.#options.onUp(hello);
  }

  #onLaneEnd(lane: OutboundLane, reason: ConnectionEnd, framesDropped: number): void {
    if (this.#lane !== lane) return;
    const { context, peer } = this.#options;
    this.#lane = null;
    this.#lastEnd = reason;
    context.counters.add("session_ended", peer.nodeId, reason);
    if (framesDropped > 0) context.counters.add("frame_dropped", peer.nodeId, "session_ended", framesDropped);
    context.options.environment.logger.info("session_ended", { peer: peer.nodeId, lane: this.#options.lane, reason });
    // Dial before calling back: the callback may stop this dialer.
    this.start();
    this.#options.onDown(reason, false);
  }

  /** @param errorCode the system's, if it was the system that refused */
  #fail(dial: Dial, reason: string, detail: string, errorCode: string | null): void {
    if (dial.isSettled) return;
    this.#settle(dial);
    const nowMs = this.#options.context.options.environment.clock.monotonicMs();
    if (errorCode === "ECONNREFUSED") this.#refusedSinceMs ??= nowMs;
    else this.#refusedSinceMs = null;
    this.#waitAndRetry(errorCode ?? reason, detail);
    if (this.#refusedSinceMs === null || !this.#wasUp || nowMs - this.#refusedSinceMs < REFUSED_AFTER_MS) return;
    this.#wasUp = false;
    this.#options.onDown(this.#lastEnd, true);
  }

  #waitAndRetry(reason: string, detail: string): void {
    if (this.#isStopped) return;
    const { context, peer, lane } = this.#options;
    const delayMs = this.#backoff.next();
    context.counters.add("dial_failed", peer.nodeId, reason);
    context.options.environment.logger.debug("dial_failed", { peer: peer.nodeId, lane, reason, detail, delayMs });
    this.#retry = context.options.environment.clock.startTimer(delayMs, () => this.#startDial());
  }

  #settle(dial: Dial, isDestroyed = true): void {
    dial.isSettled = true;
    dial.timeout.cancel();
    if (this.#dial === dial) this.#dial = null;
    if (isDestroyed) dial.request.destroy();
  }
}

function firstFrame(splitter: FrameSplitter, chunk: Uint8Array): Uint8Array | "incomplete" | "malformed" {
  try {
    const [frame, ...more] = splitter.push(chunk);
    if (frame === undefined) return "incomplete";
    return more.length === 0 && splitter.pendingBytes === 0 ? frame : "malformed";
  } catch (error) {
    if (error instanceof FrameSizeError) return "malformed";
    throw error;
  }
}
