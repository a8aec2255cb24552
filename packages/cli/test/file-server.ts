import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A plain web server: files by their paths, and a page of HTML for those that are not there. */
export class FileServer {
  readonly #server: Server;
  readonly asked: string[] = [];

  /** @param fileAt null: there is none */
  private constructor(fileAt: (path: string) => Uint8Array | string | null) {
    this.#server = createServer((request, response) => {
      const path = (request.url ?? "").slice(1);
      this.asked.push(path);
      const file = fileAt(path === "" ? "index.html" : path);
      const type = path === "" || path.endsWith(".html") ? "text/html; charset=utf-8" : "application/octet-stream";
      response.writeHead(file === null ? 404 : 200, { "content-type": type });
      response.end(file ?? "<html>404</html>");
    });
  }

  static async start(fileAt: (path: string) => Uint8Array | string | null): Promise<FileServer> {
    const server = new FileServer(fileAt);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
