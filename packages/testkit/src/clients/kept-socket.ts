import type { Socket } from "node:net";

/** What a request waits for. */
export interface Waiting {
  /** Bytes of the server. What it throws ends the connection. */
  readonly onPart: (part: Buffer) => void;
  /** The connection has ended first. */
  readonly onEnd: (reason: Error) => void;
}

/** One connection that is kept, with one request under way. The next request after its end opens another. */
export class KeptSocket {
  readonly #connect: () => Socket;
  #socket: Socket | null = null;
  #waiting: Waiting | null = null;

  constructor(connect: () => Socket) {
    this.#connect = connect;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  get isBusy(): boolean {
    return this.#waiting !== null;
  }

  /** @param timeoutMs silence of the server after which the request is given up; it counts from the opening */
  send(bytes: Buffer | string, timeoutMs: number, waiting: Waiting): void {
    const socket = this.#socket ?? this.#open(timeoutMs);
    this.#waiting = waiting;
    socket.write(bytes);
  }

  /** The answer is whole. @param isLast the server takes no other request on this connection */
  answered(isLast: boolean): void {
    this.#waiting = null;
    if (isLast) this.close();
  }

  close(): void {
    this.#lose(this.#socket, new Error("closed by the client"));
  }

  #open(timeoutMs: number): Socket {
    const socket = this.#connect();
    socket.setTimeout(timeoutMs, () => this.#lose(socket, new Error(`no answer in ${timeoutMs} ms`)));
    socket.on("data", (part: Buffer) => this.#receive(socket, part));
    socket.on("error", (error: Error) => this.#lose(socket, error));
    socket.on("close", () => this.#lose(socket, new Error("the connection was closed")));
    this.#socket = socket;
    return socket;
  }

  #receive(socket: Socket, part: Buffer): void {
    if (socket !== this.#socket) return;
    try {
      this.#waiting?.onPart(part);
    } catch (error) {
      this.#lose(socket, error instanceof Error ? error : new Error(String(error)));
    }
  }

  #lose(socket: Socket | null, reason: Error): void {
    if (socket === null || socket !== this.#socket) return;
    this.#socket = null;
    socket.destroy();
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.onEnd(reason);
  }
}
