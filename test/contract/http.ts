/**
 * Requests as they are: nothing in a path is tidied up, and any header may be sent or left out. Neither the SDK nor the
 * testkit's client is used, on purpose: a fault of theirs would hide here what it hides there.
 */
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";

export interface Sent {
  readonly method: string;
  /** As it goes onto the wire. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Received {
  readonly sent: Sent;
  readonly status: number;
  /** By lower-case names; of a repeated header the values joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Above the longest that a request may wait. */
const TIMEOUT_MS = 40_000;

export class HttpSender {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });

  constructor(apiUrl: string) {
    this.#url = new URL(apiUrl);
  }

  /** @throws if there is no answer */
  send(sent: Sent): Promise<Received> {
    const { hostname: host, port } = this.#url;
    const { method, target: path, headers = {}, body } = sent;
    return new Promise((resolve, reject) => {
      const options = { host, port, method, path, headers, agent: this.#agent, timeout: TIMEOUT_MS };
      const request = httpRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        const done = (): void => {
          const all = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ sent, status: response.statusCode ?? 0, headers: Object.fromEntries(all), text });
        };
        response.on("end", done);
        // A stream has no end: its beginning is the answer.
        if (response.headers["content-type"] !== "text/event-stream") return;
        response.once("data", () => {
          done();
          request.destroy();
        });
      });
      request.on("timeout", () => request.destroy(new Error(`no answer to ${method} ${path}`)));
      request.on("error", reject);
      request.end(body);
    });
  }

  /** Sends bytes that may be no HTTP, and reads until the connection is closed. */
  raw(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const socket = connect(Number(this.#url.port), this.#url.hostname, () => socket.write(bytes, "latin1"));
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error("the connection stays open")));
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("error", reject);
      socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
