import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { asCliError } from "../files/read-input.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `[::1]:port`. @throws CliError `usage` */
export function listenAddressOf(text: string): ListenAddress {
  const [, bracketed, plain, port = ""] = /^(?:\[([0-9a-f:]+)\]|([^[\]:\s]+)):(\d{1,5})$/iu.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new CliError(EXIT.usage, "listen_invalid", `--listen takes host:port, such as 127.0.0.1:9110, not: ${text}`);
}

/** What a scrape and a supervisor ask. */
export interface MonitorState {
  readonly metrics: () => Promise<string>;
  /** Whether looks take place. */
  readonly isAlive: () => boolean;
}

/** `/metrics` and `/healthz`, for a private network. */
export class MonitorListener {
  readonly #server: Server;

  private constructor(state: MonitorState) {
    this.#server = createServer((request, response) => {
      if (request.method !== "GET") {
        response.writeHead(405).end();
      } else if (request.url === "/metrics") {
        state.metrics().then(
          (text) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
          () => response.writeHead(500).end(),
        );
      } else if (request.url === "/healthz") {
        const isAlive = state.isAlive();
        response.writeHead(isAlive ? 200 : 503, { "content-type": "application/json" });
        response.end(JSON.stringify({ status: isAlive ? "ok" : "error" }));
      } else {
        response.writeHead(404).end();
      }
    });
    this.#server.requestTimeout = 5000;
    this.#server.maxConnections = 32;
  }

  /** @throws CliError `cannot_write` for an address that cannot be listened at */
  static async open({ host, port }: ListenAddress, state: MonitorState): Promise<MonitorListener> {
    const listener = new MonitorListener(state);
    try {
      await new Promise<void>((resolve, reject) => {
        listener.#server.once("error", reject);
        listener.#server.listen(port, host, resolve);
      });
    } catch (error) {
      throw asCliError(`${host}:${port}`, "write", error);
    }
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
