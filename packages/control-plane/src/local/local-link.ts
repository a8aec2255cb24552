import { chmodSync, rmSync } from "node:fs";
import { type Server, type Socket, createConnection, createServer } from "node:net";
import {
  FrameSizeError,
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LOCAL_WINDOW,
  type LocalRequest,
  type LocalResponse,
  LocalResponseWriter,
  decodeLocalRequest,
  joinFrames,
  RETRY_AFTER_MS,
} from "@event-anchoring/control-contract";
import { DecodeError } from "@event-anchoring/protocol";
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock } from "../ports/environment.ts";

/** Answers one request, exactly once. @param gone aborted when the connection has ended */
export type LocalHandler = (
  request: LocalRequest,
  respond: (response: LocalResponse) => void,
  gone: AbortSignal,
) => void;

export interface LocalLinkOptions {
  /** Unix socket. Who may connect is decided by its folder and by `mode`. */
  readonly path: string;
  /** Permissions of the socket, such as 0o600. */
  readonly mode: number;
  readonly handle: LocalHandler;
  readonly logger: Logger;
  readonly clock: TimerClock;
}

/** Where the api process of this node connects: framed, multiplexed, all answers of a turn in one write. */
export class LocalLink {
  readonly #options: LocalLinkOptions;
  readonly #server: Server;
  readonly #connections = new Map<Socket, LocalConnection>();
  #isRefusing = false;
  #onChange: () => void = () => {};

  constructor(options: LocalLinkOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** @throws Error if another process serves this path: taking it over would cut the api process off from that one */
  async listen(): Promise<void> {
    const { path, mode } = this.#options;
    if (await isServed(path)) throw new Error(`another process serves ${path}`);
    // Left by a process that was killed.
    rmSync(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(path, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    chmodSync(path, mode);
  }

  /**
   * Before the end, two steps, each over as soon as no client is connected: for `serveMs` all is answered as before, so
   * that the api process and its callers learn from /readyz that the node is stopping; then no new request is accepted,
   * and accepted ones are waited for, `answerMs` at most.
   */
  async drain({ serveMs, answerMs }: { readonly serveMs: number; readonly answerMs: number }): Promise<void> {
    await this.#until(() => this.#connections.size === 0, serveMs);
    this.#isRefusing = true;
    await this.#until(() => [...this.#connections.values()].every(({ outstanding }) => outstanding === 0), answerMs);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#connections.keys()) socket.destroySoon();
    await closed;
  }

  async #until(isSo: () => boolean, timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.startTimer(timeoutMs, resolve);
      this.#onChange = () => {
        if (!isSo()) return;
        timer.cancel();
        resolve();
      };
      this.#onChange();
    });
    this.#onChange = () => {};
  }

  #serve(socket: Socket): void {
    const connection = new LocalConnection(socket, this.#options, {
      isRefusing: () => this.#isRefusing,
      onAnswered: () => this.#onChange(),
    });
    this.#connections.set(socket, connection);
    socket.on("close", () => {
      this.#connections.delete(socket);
      connection.onClosed();
      this.#onChange();
    });
    socket.on("error", (error) => this.#options.logger.warn("local_link_error", { reason: error.message }));
    socket.on("data", (chunk: Buffer) => connection.onBytes(chunk));
  }
}

/** The state that a link and its connections share. */
interface LinkState {
  readonly isRefusing: () => boolean;
  readonly onAnswered: () => void;
}

class LocalConnection {
  readonly #socket: Socket;
  readonly #options: LocalLinkOptions;
  readonly #splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
  readonly #link: LinkState;
  readonly #writer = new LocalResponseWriter();
  readonly #gone = new AbortController();
  #outstanding = 0;
  /** Frames of this turn, in order: an answer may name a certificate that goes before it. */
  #frames: Uint8Array[] = [];

  constructor(socket: Socket, options: LocalLinkOptions, link: LinkState) {
    this.#socket = socket;
    this.#options = options;
    this.#link = link;
  }

  get outstanding(): number {
    return this.#outstanding;
  }

  onBytes(chunk: Uint8Array): void {
    try {
      for (const body of this.#splitter.push(chunk)) this.#onRequest(decodeLocalRequest(body));
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof FrameSizeError)) throw error;
      this.#options.logger.error("local_frame_invalid", { reason: error.message });
      this.#socket.destroy();
    }
  }

  onClosed(): void {
    this.#gone.abort();
  }

  #onRequest(request: LocalRequest): void {
    const { requestId, type } = request;
    if (this.#link.isRefusing() && type !== "status" && type !== "metrics") {
      const detail = "the node is shutting down";
      this.#send({ type: "refused", requestId, code: "unavailable", detail, retryAfterMs: RETRY_AFTER_MS });
      return;
    }
    if (this.#outstanding >= LOCAL_WINDOW) {
      const detail = `${LOCAL_WINDOW} requests are outstanding`;
      this.#send({ type: "refused", requestId, code: "overloaded", detail, retryAfterMs: RETRY_AFTER_MS });
      return;
    }
    this.#outstanding += 1;
    const respond = (response: LocalResponse): void => {
      this.#outstanding -= 1;
      this.#send(response);
      this.#link.onAnswered();
    };
    this.#options.handle(request, respond, this.#gone.signal);
  }

  #send(response: LocalResponse): void {
    if (this.#socket.destroyed) return;
    const isFirst = this.#frames.length === 0;
    this.#frames.push(...this.#writer.bodiesOf(response));
    if (!isFirst) return;
    queueMicrotask(() => {
      const frames = this.#frames;
      this.#frames = [];
      if (this.#socket.destroyed || this.#socket.write(joinFrames(frames))) return;
      // Backpressure: no further request is read from a client that does not read its answers.
      this.#socket.pause();
      this.#socket.once("drain", () => this.#socket.resume());
    });
  }
}

/** Whether a live process accepts connections there. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(path);
    const answer = (served: boolean): void => {
      probe.destroy();
      resolve(served);
    };
    probe.once("connect", () => answer(true));
    probe.once("error", () => answer(false));
  });
}
