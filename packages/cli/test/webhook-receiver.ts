import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Takes webhooks, or answers with what a test wants. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  /** The status of the answer. */
  status = 204;
  headers: Readonly<Record<string, string>> = {};
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { url = "", headers } = request;
        this.received.push({ path: url, headers, body: Buffer.concat(chunks).toString("utf8") });
        response.writeHead(this.status, this.headers).end();
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
