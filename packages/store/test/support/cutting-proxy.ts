import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

/** Between a client and a Postgres socket; cuts the line at a moment that a test chooses. */
export interface CuttingProxy {
  /** The same database through the proxy. */
  readonly url: string;
  /**
   * From now on, answers are held back once the client has sent `trigger`; when the server has given its answer to it
   * (so it has done what it was asked), both sides are cut.
   */
  cutAfter(trigger: string): void;
  close(): Promise<void>;
}

/** ReadyForQuery, idle: the last bytes of an answer outside of a transaction. */
const READY_IDLE = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  const socketDirectory = target.searchParams.get("host") ?? "";
  const port = target.searchParams.get("port") ?? (target.port === "" ? "5432" : target.port);
  const folder = mkdtempSync(join(tmpdir(), "anchoring-proxy-"));
  const sockets = new Set<Socket>();
  let trigger: string | null = null;
  const server = createServer((client) => {
    const upstream = connect(join(socketDirectory, `.s.PGSQL.${port}`));
    let isArmed = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (trigger !== null && bytes.includes(trigger)) isArmed = true;
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (!isArmed) client.write(bytes);
      else if (bytes.includes(READY_IDLE)) client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, `.s.PGSQL.${port}`), resolve));
  target.searchParams.set("host", folder);
  return {
    url: target.href,
    cutAfter: (text) => {
      trigger = text;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
