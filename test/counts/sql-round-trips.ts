import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Messages after which a client waits for the server: a simple query, and the end of an extended one. */
const QUERY = 0x51;
const SYNC = 0x53;

/** A way to a Postgres socket that counts round trips. */
export interface CountedDatabase {
  readonly url: string;
  /** Since the newest call of it. */
  taken(): number;
  close(): Promise<void>;
}

export async function countedDatabase(databaseUrl: string): Promise<CountedDatabase> {
  const target = new URL(databaseUrl);
  const port = target.searchParams.get("port") ?? (target.port === "" ? "5432" : target.port);
  const upstreamPath = join(target.searchParams.get("host") ?? "", `.s.PGSQL.${port}`);
  const folder = mkdtempSync(join(tmpdir(), "anchoring-counted-"));
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(upstreamPath);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const messages = new FrontendMessages((type) => {
      if (type === QUERY || type === SYNC) count += 1;
    });
    client.on("data", (bytes) => {
      messages.push(bytes);
      upstream.write(bytes);
    });
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(join(folder, `.s.PGSQL.${port}`), resolve));
  target.searchParams.set("host", folder);
  return {
    url: target.href,
    taken: () => {
      const taken = count;
      count = 0;
      return taken;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a client sends: first a message without a type, then type, length and content of each. */
class FrontendMessages {
  readonly #onType: (type: number) => void;
  #rest = Buffer.alloc(0);
  #hasBegun = false;

  constructor(onType: (type: number) => void) {
    this.#onType = onType;
  }

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const typeBytes = this.#hasBegun ? 1 : 0;
      if (this.#rest.length < typeBytes + 4) return;
      const length = typeBytes + this.#rest.readUInt32BE(typeBytes);
      if (this.#rest.length < length) return;
      if (this.#hasBegun) this.#onType(this.#rest.readUInt8(0));
      this.#hasBegun = true;
      this.#rest = this.#rest.subarray(length);
    }
  }
}
