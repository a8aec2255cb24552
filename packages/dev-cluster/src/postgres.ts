import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { hasCode } from "@event-anchoring/provision";
import { ownFolder } from "./os-user.ts";
import type { OsUser } from "./os-user.ts";
import type { PostgresInstallation } from "./postgres-installation.ts";

/** Settings of the embedded servers: small, durable, reached through a unix socket only. */
export const EMBEDDED_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  shared_buffers: "32MB",
  max_connections: "24",
  max_worker_processes: "2",
  autovacuum_max_workers: "1",
  checkpoint_timeout: "15min",
  max_wal_size: "2GB",
  // After a crash the server ends, and its supervisor starts another. By itself Postgres would recover with what is
  // left of it, and if that fails in turn (a disk that cannot fsync), it waits for ever and takes no shutdown either.
  restart_after_crash: "off",
  // Parameters hold clients' own event ids: in a log they would outlive their erasure.
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  timezone: "UTC",
  log_timezone: "UTC",
};

/** `fast` ends sessions and writes a checkpoint; `immediate` leaves recovery to the next start. */
export type StopMode = "fast" | "immediate";

export interface EmbeddedPostgresOptions {
  /** The database directory; made by the first start. Its parent folder exists and the account can enter it. */
  readonly dir: string;
  /** Folder of the unix socket, private to the account. The whole socket path is at most 107 bytes. */
  readonly socketDir: string;
  /** Names the socket (`.s.PGSQL.<port>`); no TCP port is opened. */
  readonly port: number;
  readonly installation: PostgresInstallation;
  readonly user: OsUser | null;
  /** SQL run once, in the new server's single-user mode, before the directory counts as made: one command a line. */
  readonly bootstrapSql?: readonly string[];
  /** Given to initdb beside our own, such as `--no-sync`. */
  readonly initdbFlags?: readonly string[];
  /** Added to, and winning over, EMBEDDED_SETTINGS. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long a shutdown may take before a harder one is asked for. Default 20,000. */
  readonly shutdownMs?: number;
  /** What the server writes to its standard error. */
  readonly onLog?: (chunk: Uint8Array) => void;
}

export interface PostgresExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether `stop` or `kill` asked for it. */
  readonly expected: boolean;
}

/** An immediate shutdown, then none at all. */
const HARDER: readonly NodeJS.Signals[] = ["SIGQUIT", "SIGKILL"];
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 15;
/** How long a server is tried again while backends of a killed predecessor still hold its memory. */
const LEFTOVER_TIMEOUT_MS = 10_000;
const LEFTOVER_POLL_MS = 200;
const LOG_TAIL_BYTES = 4096;
const SHUTDOWN_MS_DEFAULT = 20_000;
const SOCKET_PATH_BYTES_MAX = 107;
const STATUS_LINE = 7;

/**
 * One Postgres server that belongs to this process.
 *
 * The server runs in its own session, so Ctrl-C in a terminal does not reach it; a small watcher outlives this
 * process and stops the server (fast) when this process ends without having done so, also by SIGKILL.
 * States: stopped → `start` → running → `stop`, `kill` or a crash → stopped. `onExit` listeners hear every end.
 */
export class EmbeddedPostgres {
  readonly #options: EmbeddedPostgresOptions;
  readonly #exitListeners = new Set<(exit: PostgresExit) => void>();
  #server: ChildProcess | null = null;
  #stopping = false;
  #logTail = "";

  constructor(options: EmbeddedPostgresOptions) {
    const socketPath = join(options.socketDir, `.s.PGSQL.${options.port}`);
    if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
      throw new Error(`the socket path ${socketPath} is longer than ${SOCKET_PATH_BYTES_MAX} bytes`);
    }
    this.#options = options;
  }

  /** Process id of the server, null while it is stopped. */
  get pid(): number | null {
    return this.#server?.pid ?? null;
  }

  /** Connection string of a database role. */
  url(role: string, database: string): string {
    const { socketDir, port } = this.#options;
    const query = new URLSearchParams({ host: socketDir, port: String(port) });
    return `postgresql://${encodeURIComponent(role)}@localhost/${encodeURIComponent(database)}?${query.toString()}`;
  }

  /** Calls back after each end of the server process. */
  onExit(listener: (exit: PostgresExit) => void): void {
    this.#exitListeners.add(listener);
  }

  /**
   * Makes the database directory if there is none, starts the server and resolves when it takes connections.
   * Throws with the end of the server's log when it does not come up.
   */
  async start(): Promise<void> {
    if (this.#server !== null) throw new Error("this Postgres server is already running");
    ownFolder(this.#options.socketDir, 0o700, this.#options.user);
    await this.initialise();
    const giveUpAt = performance.now() + LEFTOVER_TIMEOUT_MS;
    for (;;) {
      if (await this.#launch()) return;
      if (this.#stopping) throw new Error("Postgres was stopped while it was starting");
      const leftover = /pre-existing shared memory|lock file ".*" already exists/u.test(this.#logTail);
      if (!leftover || performance.now() > giveUpAt) {
        throw new Error(`Postgres did not start:\n${this.#logTail.trim()}`);
      }
      await delay(LEFTOVER_POLL_MS);
    }
  }

  /** Makes the database directory if there is none. */
  async initialise(): Promise<void> {
    const { dir, installation, bootstrapSql = [], initdbFlags = [] } = this.#options;
    if (existsSync(dir)) return;
    const partial = `${dir}.partial`;
    rmSync(partial, { recursive: true, force: true });
    ownFolder(partial, 0o700, this.#options.user);
    await this.#run(installation.initdb, [
      "-D",
      partial,
      "-U",
      "postgres",
      "--auth=trust",
      "--locale=C",
      "-E",
      "UTF8",
      "--no-instructions",
      ...initdbFlags,
    ]);
    if (bootstrapSql.length > 0) {
      const input = bootstrapSql.map((command) => `${command}\n`).join("");
      await this.#run(installation.postgres, ["--single", "-D", partial, "postgres"], input);
    }
    renameSync(partial, dir);
  }

  /**
   * Stops the server and waits for its end; nothing happens when it is stopped. A server that does not end in time is
   * stopped harder, and killed at last.
   */
  async stop({ mode }: { mode: StopMode }): Promise<void> {
    await this.#end(mode === "fast" ? "SIGINT" : "SIGQUIT");
  }

  /** Ends the server process with SIGKILL, as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#stopping = true;
    const ended = exitOf(server);
    server.ref();
    server.kill(signal);
    const { shutdownMs = SHUTDOWN_MS_DEFAULT } = this.#options;
    const insist = HARDER.map((harder, i) => setTimeout(() => server.kill(harder), shutdownMs * (i + 1)));
    await ended;
    for (const timer of insist) clearTimeout(timer);
  }

  async #run(program: string, args: readonly string[], input = ""): Promise<void> {
    const child = spawn(program, args, { ...this.#spawnOptions(), stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    const collect = (chunk: Uint8Array): void => {
      output = (output + Buffer.from(chunk).toString("utf8")).slice(-LOG_TAIL_BYTES);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const ended = exitOf(child);
    child.stdin.on("error", () => {
      // The program ended before it read its input; its exit code and output say why.
    });
    child.stdin.end(input);
    const { code, problem } = await ended;
    output += problem;
    if (code !== 0 || /\b(?:ERROR|FATAL|PANIC):/u.test(output)) {
      throw new Error(`${program} failed:\n${output.trim()}`);
    }
  }

  /** Spawns one server process; false when it ended before it was ready. */
  async #launch(): Promise<boolean> {
    const { dir, socketDir, port, installation, settings } = this.#options;
    const all = { ...EMBEDDED_SETTINGS, ...settings, unix_socket_directories: `"${socketDir}"`, port: String(port) };
    const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.#logTail = "";
    this.#stopping = false;
    const server = spawn(installation.postgres, ["-D", dir, ...flags], {
      ...this.#spawnOptions(),
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    server.stderr.on("data", (chunk: Uint8Array) => {
      this.#logTail = (this.#logTail + Buffer.from(chunk).toString("utf8")).slice(-LOG_TAIL_BYTES);
      this.#options.onLog?.(chunk);
    });
    const watcher = server.pid === undefined ? null : this.#watch(server.pid);
    this.#server = server;
    let isReady = false;
    const ended = exitOf(server).then(({ code, signal, problem }) => {
      watcher?.kill("SIGKILL");
      this.#server = null;
      this.#logTail += problem;
      if (!isReady) return;
      for (const listener of this.#exitListeners) listener({ code, signal, expected: this.#stopping });
    });
    try {
      isReady = await this.#ready(server, ended);
    } catch (error) {
      server.kill("SIGKILL");
      await ended;
      throw error;
    }
    // An idle server does not keep this process alive; the watcher stops it when the process ends.
    server.unref();
    if (server.stderr instanceof Socket) server.stderr.unref();
    return isReady;
  }

  /**
   * A process that waits for the end of this one (its input closes) and then stops the server. It runs in a session
   * of its own, so what ends this process does not end it.
   */
  #watch(serverPid: number): ChildProcess {
    const script = 'cat >/dev/null; kill -INT "$1"';
    const watcher = spawn("/bin/sh", ["-c", script, "postgres-watcher", String(serverPid)], {
      ...this.#spawnOptions(),
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    watcher.unref();
    if (watcher.stdin instanceof Socket) watcher.stdin.unref();
    return watcher;
  }

  /** Waits for the word `ready` in postmaster.pid, as pg_ctl does; false when the process ended first. */
  async #ready(server: ChildProcess, ended: Promise<unknown>): Promise<boolean> {
    const end = ended.then(() => "ended" as const);
    const giveUpAt = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const status = statusLines(join(this.#options.dir, "postmaster.pid"));
      if (Number(status[0]) === server.pid && status[STATUS_LINE]?.trim() === "ready") return true;
      if (performance.now() > giveUpAt) {
        throw new Error(`Postgres was not ready after ${READY_TIMEOUT_MS} ms:\n${this.#logTail.trim()}`);
      }
      if ((await Promise.race([end, delay(READY_POLL_MS)])) === "ended") return false;
    }
  }

  #spawnOptions(): { cwd: string; env: Record<string, string>; uid?: number; gid?: number } {
    const { user, installation, dir } = this.#options;
    const base = { cwd: user === null ? dirname(dir) : "/", env: { ...installation.environment } };
    return user === null ? base : { ...base, uid: user.uid, gid: user.gid };
  }
}

function statusLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** The end of a process, also of one that could not be started (code 127, as a shell says it, and the reason). */
function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null; problem: string }> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, problem: "" }));
    child.once("error", (error) => {
      if (child.pid === undefined) resolve({ code: 127, signal: null, problem: error.message });
    });
  });
}
