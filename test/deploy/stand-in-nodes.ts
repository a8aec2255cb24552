/** Three servers in the place of nodes: they remember what reached them, and fail when they are told to. */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Reached {
  readonly node: number;
  readonly method: string;
  /** The request target as it came. */
  readonly target: string;
  readonly headers: IncomingMessage["headers"];
  readonly bodyBytes: number;
}

/** What a node does with a request that is not /readyz. */
export type Conduct = "answer" | "break_off" | "unavailable" | "overloaded" | "garbage";

class StandInNode {
  readonly server: Server;
  port = 0;
  conduct: Conduct = "answer";
  isReady = true;

  constructor(at: number, reached: Reached[]) {
    this.server = createServer((request, response) => this.#serve(at, reached, request, response));
    this.server.keepAliveTimeout = 20_000;
  }

  #serve(at: number, reached: Reached[], request: IncomingMessage, response: ServerResponse): void {
    const { method = "", url: target = "", headers } = request;
    if (headers.host === "gateway" && target === "/readyz") {
      response.writeHead(this.isReady ? 200 : 503).end();
      return;
    }
    let bodyBytes = 0;
    request.on("data", (chunk: Buffer) => void (bodyBytes += chunk.length));
    // A body that breaks off: the request counts as one that did not arrive.
    request.on("error", () => response.destroy());
    request.on("end", () => {
      reached.push({ node: at, method, target, headers, bodyBytes });
      this.#conductOf(request, response);
    });
  }

  #conductOf(request: IncomingMessage, response: ServerResponse): void {
    switch (this.conduct) {
      case "answer":
        response.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok"}');
        return;
      case "unavailable":
        response.writeHead(503, { "retry-after": "1" }).end('{"code":"unavailable"}');
        return;
      case "overloaded":
        // As a node that is asked to tell it apart.
        response.writeHead(request.headers["x-overloaded-as"] === "529" ? 529 : 503, { "retry-after": "1" });
        response.end('{"code":"overloaded"}');
        return;
      case "garbage":
        request.socket.end("this is no HTTP\r\n\r\n");
        return;
      case "break_off":
        request.socket.destroy();
    }
  }
}

export class StandInNodes {
  readonly reached: Reached[] = [];
  readonly #nodes = [0, 1, 2].map((at) => new StandInNode(at, this.reached));

  static async start(): Promise<StandInNodes> {
    const all = new StandInNodes();
    for (const node of all.#nodes) await all.#listen(node, 0);
    return all;
  }

  get addresses(): [string, string, string] {
    const [a, b, c] = this.#nodes.map(({ port }) => `127.0.0.1:${port}`);
    return [a ?? "", b ?? "", c ?? ""];
  }

  /** All three behave alike again, are ready, and have seen nothing. */
  reset(): void {
    for (const node of this.#nodes) {
      node.conduct = "answer";
      node.isReady = true;
    }
    this.reached.length = 0;
  }

  set(at: number, conduct: Conduct): void {
    this.#node(at).conduct = conduct;
  }

  setReady(at: number, isReady: boolean): void {
    this.#node(at).isReady = isReady;
  }

  /** Nobody listens there any more; connections are cut. */
  async kill(at: number): Promise<void> {
    const { server } = this.#node(at);
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async revive(at: number): Promise<void> {
    const node = this.#node(at);
    await this.#listen(node, node.port);
  }

  async stop(): Promise<void> {
    for (const [at, { server }] of this.#nodes.entries()) if (server.listening) await this.kill(at);
  }

  #node(at: number): StandInNode {
    const node = this.#nodes[at];
    if (node === undefined) throw new Error(`there is no node ${at}`);
    return node;
  }

  async #listen(node: StandInNode, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      node.server.once("error", reject);
      node.server.listen(port, "127.0.0.1", () => resolve());
    });
    node.port = (node.server.address() as AddressInfo).port;
  }
}
