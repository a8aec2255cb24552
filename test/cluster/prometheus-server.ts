/** Prometheus itself (Debian package prometheus), with the configuration of a test. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const isPrometheusThere = spawnSync("prometheus", ["--version"]).status === 0;

/** An answer of its HTTP API. */
export interface PrometheusAnswer<Found> extends Readonly<Record<"data", Found>> {
  readonly status: "success" | "error";
  readonly error?: string;
}

export class PrometheusServer {
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(folder: string, child: ChildProcess, url: string) {
    this.#folder = folder;
    this.#child = child;
    this.#url = url;
  }

  /** It does not answer yet: whoever asks waits until what it has scraped is there. */
  static async start(config: string): Promise<PrometheusServer> {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-prometheus-"));
    const address = `127.0.0.1:${await freePort()}`;
    writeFileSync(join(folder, "prometheus.yml"), config);
    const args = [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
    ];
    return new PrometheusServer(folder, spawn("prometheus", args, { stdio: "ignore" }), `http://${address}`);
  }

  /** @returns null while it is starting, or busy: whoever waits asks again */
  async ask<Found>(path: string): Promise<PrometheusAnswer<Found> | null> {
    try {
      const response = await fetch(`${this.#url}${path}`, { signal: AbortSignal.timeout(2000) });
      return (await response.json()) as PrometheusAnswer<Found>;
    } catch {
      return null;
    }
  }

  /** @returns how many series an expression has now */
  async count(expression: string): Promise<number> {
    const path = `/api/v1/query?query=${encodeURIComponent(expression)}`;
    const answer = await this.ask<{ readonly result: readonly unknown[] }>(path);
    return answer?.["data"].result.length ?? 0;
  }

  async stop(): Promise<void> {
    const ended = this.#child.exitCode === null ? once(this.#child, "exit") : null;
    this.#child.kill();
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
