import { connect } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { HttpResponseReader, KeptSocket } from "@event-anchoring/testkit/clients";

/** Where requests go: a node, or the gateway before all of them. */
export interface Door {
  readonly name: string;
  readonly port: number;
  /** PEM of the CA of a TLS server; null: plain HTTP. */
  readonly ca: string | null;
}

export interface RawAnswer {
  readonly status: number;
  /** A stream has only its beginning here. */
  readonly text: string;
}

const STREAM = /\r\ncontent-type: *text\/event-stream/i;
const SOME_STATUS = /HTTP\/1\.1 (\d\d\d) /;
/** Above the longest that a request may wait, which is 30 s. */
const TIMEOUT_MS = 40_000;
/** What is no request may leave the server waiting for more: it is given up sooner. */
const UNFRAMED_TIMEOUT_MS = 250;

/** One kept connection to a door, with one request under way. The next request after its end opens another. */
export class RawConnection {
  readonly #door: Door;
  readonly #timeoutMs: number;
  readonly #socket = new KeptSocket(() => this.#connect());

  constructor(door: Door, timeoutMs = TIMEOUT_MS) {
    this.#door = door;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends one whole request. A connection that the server has ended meanwhile is replaced once.
   * @throws when there is no answer
   */
  async ask(bytes: Buffer): Promise<RawAnswer> {
    const isKept = this.#socket.isOpen;
    try {
      return await this.#exchange(bytes);
    } catch (error) {
      if (!isKept) throw error;
      return this.#exchange(bytes);
    }
  }

  /** Sends bytes that may be no request, on a connection of their own. @returns what was said until it ended */
  throwAway(bytes: Buffer): Promise<string> {
    this.close();
    return new Promise((resolve) => {
      const parts: Buffer[] = [];
      this.#socket.send(bytes, UNFRAMED_TIMEOUT_MS, {
        onPart: (part) => void parts.push(part),
        onEnd: () => resolve(Buffer.concat(parts).toString("latin1")),
      });
    });
  }

  close(): void {
    this.#socket.close();
  }

  #exchange(bytes: Buffer): Promise<RawAnswer> {
    const reader = new HttpResponseReader();
    let isBegun = false;
    return new Promise((resolve, reject) => {
      const onPart = (part: Buffer): void => {
        const text = isBegun ? "" : part.toString("latin1");
        isBegun = true;
        if (STREAM.test(text)) {
          this.#socket.answered(true);
          resolve({ status: Number(SOME_STATUS.exec(text)?.[1]), text });
          return;
        }
        const answer = reader.push(part);
        if (answer === null) return;
        this.#socket.answered(reader.isLast);
        resolve({ status: answer.status, text: answer.body.toString("utf8") });
      };
      this.#socket.send(bytes, this.#timeoutMs, { onPart, onEnd: reject });
    });
  }

  #connect(): Socket {
    const { port, ca } = this.#door;
    const at = { host: "127.0.0.1", port };
    const socket = ca === null ? connect(at) : connectTls({ ...at, ca, servername: "localhost" });
    return socket.setNoDelay(true);
  }
}
