import { EngineDeadError, EngineLoadError, InvalidArgumentError } from "./errors.ts";
import type { LogLevel } from "./types.ts";
import { wasiImports } from "./wasi.ts";
import { wasmApi } from "./wasm-api.ts";
import type { WasmMemory, WasmModule } from "./wasm-api.ts";

/** The byte layouts and exports these sources were written for; `abiVersion` in engine/main.go. */
const ABI_VERSION = 1;
const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;
const LAST_WORDS_MAX = 16_384;
/** `left` in engine/main.go: the output's address and length, then the status. */
const STATUS_AT = 8;
export const STATUS_WORDS = 20;
/** Room for the input of nearly every call. */
const INPUT_BYTES_MIN = 64 * 1024;
/** A larger input buffer, which a start with a long log needs, is not kept. */
const INPUT_BYTES_KEPT_MAX = 1024 * 1024;

/** On whose behalf the engine runs: whose randomness it draws and who hears its log lines. */
export interface Caller {
  readonly random: (bytes: Uint8Array) => void;
  readonly logger: ((level: LogLevel, text: string) => void) | null;
}

const EXPORT_NAMES = [
  "raft_abi_version",
  "raft_left_at",
  "raft_input",
  "raft_new",
  "raft_free",
  "raft_tick",
  "raft_step",
  "raft_campaign",
  "raft_forget_leader",
  "raft_transfer_leader",
  "raft_propose",
  "raft_propose_conf_change",
  "raft_decode_conf_change",
  "raft_apply_conf_change",
  "raft_conf_state",
  "raft_read_index",
  "raft_report_unreachable",
  "raft_report_snapshot",
  "raft_ready",
  "raft_mirror_append",
  "raft_mirror_hard_state",
  "raft_mirror_snapshot",
  "raft_mirror_compact",
  "raft_progress",
  "raft_term_at",
] as const;

export type ExportName = (typeof EXPORT_NAMES)[number];
type EngineFunction = (...args: readonly (number | bigint)[]) => number;

interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
}

/**
 * One instance of the module: its memory, its calls, and what it may ask of the host. States: starting (no exports
 * yet), alive, dead (`#dead` is set and every call throws it). It dies when anything is thrown through the engine's
 * frames, because the Go runtime's own state is then unknown.
 */
export class WasmInstance {
  readonly #startupRandom = startupRandom();
  #memory: WasmMemory | null = null;
  #exports: Readonly<Record<ExportName, EngineFunction>> | null = null;
  /** A view is invalid once the memory has grown, so it is compared with the memory before each use. */
  #view = new DataView(new ArrayBuffer(0));
  #bytes = new Uint8Array(0);
  #words = new Uint32Array(0);
  #leftAt = 0;
  #inputAt = 0;
  #inputBytesMax = 0;
  #caller: Caller | null = null;
  #isRunning = false;
  #logLines: LogLine[] = [];
  /** What a failing call is put down to. */
  #fault = "the Go runtime died";
  #lastWords = "";
  #dead: EngineDeadError | null = null;

  /** Throws EngineLoadError. */
  static async start(module: WasmModule, nowMs: () => number): Promise<WasmInstance> {
    const instance = new WasmInstance();
    try {
      await instance.#start(module, nowMs);
    } catch (cause) {
      if (cause instanceof EngineLoadError) throw cause;
      throw new EngineLoadError(`the engine did not start ${instance.#lastWords}`.trim(), { cause });
    }
    return instance;
  }

  async #start(module: WasmModule, nowMs: () => number): Promise<void> {
    const wasi = wasiImports({
      view: () => this.#currentView(),
      random: (bytes) => this.#fillRandom(bytes),
      nowMs,
      write: (text) => {
        this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS_MAX);
      },
    });
    const { exports } = await wasmApi.instantiate(module, {
      wasi_snapshot_preview1: wasi,
      raft_host: { log: (level: number, at: number, length: number) => this.#log(level, at, length) },
    });
    this.#memory = exports["memory"] as WasmMemory;
    (exports["_initialize"] as () => void)();
    const version = (exports["raft_abi_version"] as EngineFunction | undefined)?.();
    if (version !== ABI_VERSION) {
      throw new EngineLoadError(`the module's interface is version ${String(version)}, not ${ABI_VERSION}`);
    }
    const missing = EXPORT_NAMES.filter((name) => typeof exports[name] !== "function");
    if (missing.length > 0) throw new EngineLoadError(`the module lacks ${missing.join(", ")}`);
    this.#exports = exports as Readonly<Record<ExportName, EngineFunction>>;
    this.#leftAt = this.#exports.raft_left_at();
  }

  get memoryBytes(): number {
    return this.#memory?.buffer.byteLength ?? 0;
  }

  /**
   * Runs one export. `input` is what it reads, its length being the last argument. Throws EngineDeadError if the
   * engine is or becomes unusable.
   */
  call(caller: Caller, name: ExportName, args: readonly (number | bigint)[], input?: Uint8Array): number {
    this.assertAlive();
    if (this.#exports === null) throw new EngineDeadError("the engine has not started");
    if (this.#isRunning) throw new InvalidArgumentError("the engine was called from inside one of its callbacks");
    this.#isRunning = true;
    this.#caller = caller;
    let status: number;
    try {
      if (input === undefined) {
        status = this.#exports[name](...args);
      } else {
        this.#putInput(this.#exports, input);
        status = this.#exports[name](...args, input.length);
      }
      this.#deliverLog(caller);
    } catch (cause) {
      this.#dead = this.#obituary(cause);
      throw this.#dead;
    } finally {
      this.#isRunning = false;
      this.#caller = null;
    }
    return status;
  }

  /** Throws if calls would. */
  assertAlive(): void {
    if (this.#dead !== null) throw this.#dead;
  }

  /** The output of the latest call, valid until the next one. */
  output(): Uint8Array {
    const view = this.#currentView();
    const at = view.getUint32(this.#leftAt, true);
    return new Uint8Array(view.buffer, at, view.getUint32(this.#leftAt + 4, true));
  }

  /** Copies the status that the latest call left; `status` in engine/node.go. */
  copyStatus(to: Uint32Array): void {
    this.#currentView();
    const from = (this.#leftAt + STATUS_AT) / 4;
    for (let at = 0; at < STATUS_WORDS; at += 1) to[at] = this.#words[from + at] as number;
  }

  /** The engine is asked for a buffer only when the one it has is too small, or too large to keep. */
  #putInput(exports: Readonly<Record<ExportName, EngineFunction>>, input: Uint8Array): void {
    if (input.length > this.#inputBytesMax || this.#inputBytesMax > INPUT_BYTES_KEPT_MAX) {
      this.#inputBytesMax = Math.max(input.length, INPUT_BYTES_MIN);
      this.#inputAt = exports.raft_input(this.#inputBytesMax);
    }
    this.#currentView();
    this.#bytes.set(input, this.#inputAt);
  }

  #currentView(): DataView {
    const buffer = this.#memory?.buffer;
    if (buffer === undefined) throw new EngineDeadError("the engine has no memory yet");
    if (this.#view.buffer !== buffer) {
      this.#view = new DataView(buffer);
      this.#bytes = new Uint8Array(buffer);
      this.#words = new Uint32Array(buffer);
    }
    return this.#view;
  }

  /** An exception that unwinds the engine's frames ends the engine. */
  #fillRandom(bytes: Uint8Array): void {
    if (this.#caller === null) {
      this.#startupRandom(bytes);
      return;
    }
    try {
      this.#caller.random(bytes);
    } catch (cause) {
      this.#fault = "a source of randomness failed";
      throw cause;
    }
  }

  /** Lines are kept until the export has returned: no foreign code runs on top of the engine's frames. */
  #log(level: number, at: number, length: number): void {
    const bytes = new Uint8Array(this.#currentView().buffer, at, length);
    this.#logLines.push({ level: LOG_LEVELS[level] ?? "error", text: new TextDecoder().decode(bytes) });
  }

  /** A logger that throws ends the engine: the caller would otherwise never see the result of a call that happened. */
  #deliverLog(caller: Caller): void {
    if (this.#logLines.length === 0) return;
    const lines = this.#logLines;
    this.#logLines = [];
    try {
      for (const { level, text } of lines) caller.logger?.(level, text);
    } catch (cause) {
      this.#fault = "a logger failed";
      throw cause;
    }
  }

  #obituary(cause: unknown): EngineDeadError {
    const words = this.#lastWords === "" ? "" : `: ${this.#lastWords.trim()}`;
    return new EngineDeadError(this.#fault + words, { cause });
  }
}

/**
 * The runtime seeds its hash tables when it starts, before there is a node to draw from. A fixed stream keeps runs
 * repeatable; nothing secret and nothing that peers could exploit depends on it (tables are keyed by node id).
 */
function startupRandom(): (bytes: Uint8Array) => void {
  let state = 0x9e37_79b9;
  return (bytes) => {
    for (let i = 0; i < bytes.length; i += 1) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      bytes[i] = state & 0xff;
    }
  };
}
