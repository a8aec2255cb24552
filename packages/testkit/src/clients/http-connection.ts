import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { HttpResponseReader } from "./http-response-reader.ts";
import type { HttpAnswer } from "./http-response-reader.ts";
import { KeptSocket } from "./kept-socket.ts";

export interface HttpRequest {
  readonly path: string;
  /** JSON; null: a GET. */
  readonly body: string | null;
}

export interface HttpConnectionOptions {
  /** `http://host:port`, or `https://host`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Silence of the server after which a request is given up. */
  readonly timeoutMs: number;
}

/**
 * One kept connection with one request under way: a client of the load. It does as little as it can for a request,
 * because what it uses is taken from the processors that the measured servers run on.
 */
export class HttpConnection {
  readonly #options: HttpConnectionOptions;
  readonly #host: string;
  readonly #port: number;
  readonly #headers: string;
  readonly #isTls: boolean;
  readonly #socket = new KeptSocket(() => this.#connect());
  /** Reads the answers of the open connection. */
  #reader = new HttpResponseReader();

  constructor(options: HttpConnectionOptions) {
    const { protocol, hostname, port, host } = new URL(options.url);
    if (protocol !== "http:" && protocol !== "https:") throw new Error(`neither http nor https: ${options.url}`);
    this.#options = options;
    this.#host = hostname;
    this.#isTls = protocol === "https:";
    this.#port = Number(port === "" ? (this.#isTls ? 443 : 80) : port);
    const lines = Object.entries({ host, ...options.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#headers = lines.join("");
  }

  get url(): string {
    return this.#options.url;
  }

  /** @throws when no answer comes: connection refused or lost, silence, or bytes that are not HTTP */
  send({ path, body }: HttpRequest): Promise<HttpAnswer> {
    if (this.#socket.isBusy) throw new Error("the answer to the request before has not come yet");
    const request =
      body === null
        ? `GET ${path} HTTP/1.1\r\n${this.#headers}\r\n`
        : `POST ${path} HTTP/1.1\r\n${this.#headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return new Promise((resolve, reject) => {
      const onPart = (part: Buffer): void => {
        const answer = this.#reader.push(part);
        if (answer === null) return;
        this.#socket.answered(this.#reader.isLast);
        resolve(answer);
      };
      this.#socket.send(request, this.#options.timeoutMs, { onPart, onEnd: reject });
    });
  }

  close(): void {
    this.#socket.close();
  }

  #connect(): Socket {
    this.#reader = new HttpResponseReader();
    const [host, port] = [this.#host, this.#port];
    if (!this.#isTls) return connect({ host, port, noDelay: true });
    const socket = connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) });
    return socket.setNoDelay(true);
  }
}
