/** Clients of a gateway: one that sends what a good client sends, and one that sends bytes. */
import { Agent, request as httpsRequest } from "node:https";
import type { OutgoingHttpHeaders } from "node:http";
import { connect } from "node:tls";
import type { GatewayProcess } from "@event-anchoring/testkit/gateway";

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface GatewayRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Over a connection of its own. */
  readonly isFirst?: boolean;
}

/** Keeps connections, as clients do. */
export class GatewayClient {
  readonly #gateway: GatewayProcess;
  readonly #agent: Agent;

  constructor(gateway: GatewayProcess) {
    this.#gateway = gateway;
    this.#agent = new Agent({ keepAlive: true, ca: gateway.ca, maxSockets: 16 });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Rejects only if there was no answer. */
  async ask({ method = "GET", path, headers = {}, body, isFirst = false }: GatewayRequest): Promise<GatewayAnswer> {
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        host: "127.0.0.1",
        port: this.#gateway.port,
        agent: isFirst ? false : this.#agent,
        ca: this.#gateway.ca,
        method,
        path,
        headers: { ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }), ...headers },
      });
      request.once("error", reject);
      request.once("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => void chunks.push(chunk));
        response.once("error", reject);
        response.once("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      request.end(body);
    });
  }
}

const SILENCE_MS = 15_000;

/** Sends bytes as they are, over TLS; what comes back until the other side closes, or says nothing for long. */
export async function sendBytes(gateway: GatewayProcess, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: gateway.port, ca: gateway.ca, servername: "localhost" });
    const chunks: Buffer[] = [];
    const end = (): void => resolve(Buffer.concat(chunks).toString("latin1"));
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    socket.once("secureConnect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => void chunks.push(chunk));
    socket.once("close", end);
    socket.once("error", (error: NodeJS.ErrnoException) => {
      // It may close while we still write: what it said before counts.
      if (error.code === "ECONNRESET" || error.code === "EPIPE") end();
      else reject(error);
    });
  });
}

/** A whole GET with a request target and headers as given; one Host unless there is one already. */
export function getBytes(target: string, headers: readonly string[] = ["Host: localhost"], method = "GET"): string {
  return [`${method} ${target} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n");
}

/** The status of the first answer in what came back; 0 when the connection was closed without one. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 0);
}

/** How many answers came back. */
export function answerCount(answer: string): number {
  return answer.match(/^HTTP\/1\.[01] \d{3}/gm)?.length ?? 0;
}
