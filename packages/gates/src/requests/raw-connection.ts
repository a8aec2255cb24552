import { connect } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { HttpResponseReader, KeptSocket } from "@event-anchoring/testkit/clients";

/** Where requests go: a node, or the gateway before all of them. */
export interface Door {
  readonly name: string;
  readonly port: number;
  /** Whether a node is behind it, and nothing between. */
  readonly isNode: boolean;
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
export const ANSWER_TIMEOUT_MS = 40_000;

/** One kept connection to a door, with one request under way. The next request after its end opens another. */
export class RawConnection {
  readonly #door: Door;
  readonly #timeoutMs: number;
  readonly #socket = new KeptSocket(() => openSocket(this.#door));
  /** Whether the server has said anything to the request that is under way. */
  #isHeard = false;

  constructor(door: Door, timeoutMs = ANSWER_TIMEOUT_MS) {
    this.#door = door;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends one whole request. A kept connection that the server has ended meanwhile, without a byte, is replaced once.
   * @throws when there is no answer
   */
  async ask(bytes: Buffer): Promise<RawAnswer> {
    const isKept = this.#socket.isOpen;
    const sentMs = performance.now();
    try {
      return await this.#exchange(bytes);
    } catch (error) {
      const isEnded = !this.#isHeard && performance.now() - sentMs < this.#timeoutMs;
      if (!isKept || !isEnded) throw error;
      return this.#exchange(bytes);
    }
  }

  close(): void {
    this.#socket.close();
  }

  #exchange(bytes: Buffer): Promise<RawAnswer> {
    const reader = new HttpResponseReader();
    this.#isHeard = false;
    return new Promise((resolve, reject) => {
      const onPart = (part: Buffer): void => {
        const text = this.#isHeard ? "" : part.toString("latin1");
        this.#isHeard = true;
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
}

/** A new connection to a door, whose bytes leave at once. */
export function openSocket({ port, ca }: Door): Socket {
  const at = { host: "127.0.0.1", port };
  const socket = ca === null ? connect(at) : connectTls({ ...at, ca, servername: "localhost" });
  return socket.setNoDelay(true);
}
