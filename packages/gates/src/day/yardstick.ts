import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LoadClient } from "@event-anchoring/testkit/clients";
import { readMainThreadMs } from "@event-anchoring/testkit/overload";

const EVERY_MS = 100;
const TIMEOUT_MS = 600_000;
const SCRIPT = fileURLToPath(new URL("../../bin/yardstick.js", import.meta.url));

/** Asks a server that does the same all day; its latencies are the machine's. */
export class Yardstick {
  readonly #child: ChildProcess;
  readonly #client: LoadClient;
  readonly #run: Promise<void>;
  #isWanted = true;

  private constructor(child: ChildProcess, client: LoadClient, onLatency: (tookMs: number) => void) {
    this.#child = child;
    this.#client = client;
    this.#run = this.#measure(onLatency);
    // Whoever stops it hears of it.
    this.#run.catch(() => {});
  }

  /** @param folder on the disk that the nodes write to @param onLatency called with milliseconds */
  static async start(folder: string, onLatency: (tookMs: number) => void): Promise<Yardstick> {
    const child = spawn(process.execPath, [SCRIPT, folder], { stdio: ["pipe", "pipe", "inherit"] });
    const [port] = (await once(child.stdout, "data")) as [Buffer];
    const apiUrl = `http://127.0.0.1:${port.toString("utf8").trim()}`;
    return new Yardstick(child, new LoadClient({ apiUrl, apiKey: "", connections: 1 }), onLatency);
  }

  /** Processor time that the server has taken; NaN where nobody tells. */
  processorMs(): number {
    return (this.#child.pid === undefined ? null : readMainThreadMs(this.#child.pid)) ?? NaN;
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#run;
    await this.#client.close();
    const ended = once(this.#child, "exit");
    this.#child.stdin?.end();
    await ended;
  }

  async #measure(onLatency: (tookMs: number) => void): Promise<void> {
    while (this.#isWanted) {
      const startedMs = performance.now();
      await this.#client.get("/", TIMEOUT_MS);
      onLatency(performance.now() - startedMs);
      await delay(EVERY_MS);
    }
  }
}
