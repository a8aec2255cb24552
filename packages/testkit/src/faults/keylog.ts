import { closeSync, existsSync, openSync, readSync } from "node:fs";

const READ_BYTES = 64 * 1024;

/** Secrets of TLS connections, as a process that was started with `--tls-keylog` writes them down. */
export class Keylog {
  readonly #path: string;
  readonly #secrets = new Map<string, Uint8Array>();
  #offset = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  /** Null: the process has not written it yet. */
  secretOf(label: string, clientRandomHex: string): Uint8Array | null {
    const key = `${label} ${clientRandomHex}`;
    if (!this.#secrets.has(key)) this.#readMore();
    return this.#secrets.get(key) ?? null;
  }

  #readMore(): void {
    if (!existsSync(this.#path)) return;
    const file = openSync(this.#path, "r");
    try {
      const buffer = Buffer.alloc(READ_BYTES);
      for (;;) {
        const count = readSync(file, buffer, 0, buffer.length, this.#offset);
        if (count === 0) return;
        this.#offset += count;
        this.#take(buffer.toString("latin1", 0, count));
      }
    } finally {
      closeSync(file);
    }
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [label, random, secret] = line.split(" ");
      if (label === undefined || random === undefined || secret === undefined) continue;
      this.#secrets.set(`${label} ${random}`, Buffer.from(secret, "hex"));
    }
  }
}
