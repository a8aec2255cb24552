import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { BackOff } from "./back-off.ts";
import { MALLOC_ENVIRONMENT } from "./node-flags.ts";
import type { RotatingLog } from "./rotating-log.ts";

/** Exit codes after which a start again would be wrong or useless. */
const EXIT_CONFIG = 2;
export const EXIT_FENCED = 78;
export const EXIT_HALTED = 79;

const FINAL_EXIT_CODES: readonly (number | null)[] = [EXIT_CONFIG, EXIT_FENCED, EXIT_HALTED];

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Null: it stays down, as its exit code asks for. */
  readonly restartInMs: number | null;
}

export interface SupervisedProcessOptions {
  /** Such as `n1 api`. */
  readonly name: string;
  /** Options of Node itself. */
  readonly nodeFlags: readonly string[];
  /** A JavaScript file and its arguments, run by this Node. */
  readonly script: string;
  readonly args: readonly string[];
  /** Added to this process's own environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: RotatingLog;
  /** The process has a new id, or none (null). */
  readonly onPid: (pid: number | null) => void;
  /** The process ended without being asked. */
  readonly onEnd: (end: ProcessEnd) => void;
}

/**
 * One Node process that is started again when it ends by itself.
 *
 * States: stopped → `start` → running → (ended by itself) → waiting → running; `stop` leads to stopped from any state.
 * Exit codes 2, 78 and 79 lead from running to stopped. The child has a session of its own, so that a Ctrl-C in the
 * terminal reaches the supervisor alone, and an IPC channel whose end tells it that the supervisor has died.
 */
export class SupervisedProcess {
  readonly #options: SupervisedProcessOptions;
  readonly #backOff = new BackOff();
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #isWanted = false;

  constructor(options: SupervisedProcessOptions) {
    this.#options = options;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): void {
    this.#isWanted = true;
    if (this.#child === null && this.#restart === null) this.#launch();
  }

  /** Asks with SIGTERM, insists with SIGKILL after `graceMs`, and returns when the process has ended. */
  async stop(graceMs: number): Promise<void> {
    const insist = setTimeout(() => this.#child?.kill("SIGKILL"), graceMs);
    await this.#end("SIGTERM");
    clearTimeout(insist);
  }

  /** As a crash would, but for good; returns when the process has ended. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    const child = this.#child;
    if (child === null) return;
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
    });
    child.kill(signal);
    await ended;
  }

  #launch(): void {
    const { nodeFlags, script, args, environment, log } = this.#options;
    const startedAt = performance.now();
    const child = spawn(process.execPath, [...nodeFlags, script, ...args], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: true,
      env: { ...inheritedEnvironment(), ...MALLOC_ENVIRONMENT, ...environment },
    });
    this.#child = child;
    child.stdout?.on("data", (chunk: Uint8Array) => log.write(chunk));
    child.stderr?.on("data", (chunk: Uint8Array) => log.write(chunk));
    child.once("error", (error) => {
      log.write(Buffer.from(`${error.message}\n`));
      if (child.pid === undefined) this.#ended(null, null, performance.now() - startedAt);
    });
    child.once("exit", (code, signal) => this.#ended(code, signal, performance.now() - startedAt));
    this.#options.onPid(child.pid ?? null);
  }

  #ended(code: number | null, signal: NodeJS.Signals | null, ranMs: number): void {
    this.#child = null;
    this.#options.onPid(null);
    if (!this.#isWanted) return;
    if (FINAL_EXIT_CODES.includes(code)) {
      this.#isWanted = false;
      this.#options.onEnd({ code, signal, restartInMs: null });
      return;
    }
    const restartInMs = this.#backOff.delayAfter(ranMs);
    this.#restart = setTimeout(() => {
      this.#restart = null;
      this.#launch();
    }, restartInMs);
    this.#options.onEnd({ code, signal, restartInMs });
  }
}

/** Options meant for the supervisor's own Node (a debugger, a test runner's flags) are not passed on. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _ownOptions, NODE_CHANNEL_FD: _ownChannel, ...environment } = process.env;
  return environment;
}
