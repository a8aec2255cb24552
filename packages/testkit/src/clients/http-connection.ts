import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { HttpResponseReader } from "./http-response-reader.ts";
import type { HttpAnswer } from "./http-response-reader.ts";

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

interface Asker {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
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
  #reader = new HttpResponseReader();
  #socket: Socket | null = null;
  #asker: Asker | null = null;

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
    if (this.#asker !== null) throw new Error("the answer to the request before has not come yet");
    const socket = this.#socket ?? this.#open();
    const request =
      body === null
        ? `GET ${path} HTTP/1.1\r\n${this.#headers}\r\n`
        : `POST ${path} HTTP/1.1\r\n${this.#headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return new Promise((resolve, reject) => {
      this.#asker = { resolve, reject };
      socket.write(request);
    });
  }

  close(): void {
    this.#lose(this.#socket, new Error("closed by the client"));
  }

  #open(): Socket {
    const socket = this.#connect();
    socket.setTimeout(this.#options.timeoutMs);
    socket.on("data", (part: Buffer) => this.#receive(socket, part));
    socket.on("timeout", () => this.#lose(socket, new Error(`no answer in ${this.#options.timeoutMs} ms`)));
    socket.on("error", (error) => this.#lose(socket, error));
    socket.on("close", () => this.#lose(socket, new Error("the connection was closed")));
    this.#socket = socket;
    this.#reader = new HttpResponseReader();
    return socket;
  }

  #connect(): Socket {
    const [host, port] = [this.#host, this.#port];
    if (!this.#isTls) return connect({ host, port, noDelay: true });
    const socket = connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) });
    return socket.setNoDelay(true);
  }

  #receive(socket: Socket, part: Buffer): void {
    if (socket !== this.#socket) return;
    try {
      const answer = this.#reader.push(part);
      if (answer === null) return;
      const asker = this.#asker;
      this.#asker = null;
      if (this.#reader.isLast) this.#lose(socket, new Error("the server ends the connection"));
      asker?.resolve(answer);
    } catch (error) {
      this.#lose(socket, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The next request opens another connection. */
  #lose(socket: Socket | null, reason: Error): void {
    if (socket === null || socket !== this.#socket) return;
    this.#socket = null;
    socket.destroy();
    const asker = this.#asker;
    this.#asker = null;
    asker?.reject(reason);
  }
}
