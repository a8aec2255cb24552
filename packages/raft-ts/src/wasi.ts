import type { WasmImport } from "./wasm-api.ts";

/** What the engine may reach of the world outside. */
export interface WasiHost {
  /** A fresh view of the engine's memory. */
  view(): DataView;
  /** Fills the array; must not throw. */
  random(bytes: Uint8Array): void;
  nowMs(): number;
  /** What the Go runtime says on its way out. */
  write(text: string): void;
}

/** The Go runtime asked to end the process; thrown through the engine's frames, which makes it unusable. */
class EngineExit extends Error {
  constructor(code: number) {
    super(`the Go runtime exited with ${code}`);
    this.name = "EngineExit";
  }
}

const SUCCESS = 0;
const BAD_FD = 8;
const NOT_SUPPORTED = 52;

const CLOCK_MONOTONIC = 1;
const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;
const NS_PER_MS = 1_000_000n;

/** Everything that the Go runtime links but never needs here: files, directories, sockets. */
const UNSUPPORTED = [
  "fd_fdstat_get",
  "fd_fdstat_set_flags",
  "fd_filestat_get",
  "fd_filestat_set_size",
  "fd_pread",
  "fd_prestat_dir_name",
  "fd_pwrite",
  "fd_read",
  "fd_readdir",
  "fd_seek",
  "fd_sync",
  "path_filestat_get",
  "sock_accept",
  "sock_shutdown",
] as const;

/** The functions of WASI preview 1 that the engine imports. There are no files, arguments or environment. */
export function wasiImports(host: WasiHost): Record<string, WasmImport> {
  const imports: Record<string, WasmImport> = {
    args_get: () => SUCCESS,
    args_sizes_get: (count: number, bytes: number) => writeZeros(host.view(), count, bytes),
    environ_get: () => SUCCESS,
    environ_sizes_get: (count: number, bytes: number) => writeZeros(host.view(), count, bytes),
    random_get: (at: number, length: number) => fillRandom(host, at, length),
    fd_write: (fd: number, vectors: number, count: number, writtenAt: number) =>
      writeText(host, fd, vectors, count, writtenAt),
    fd_close: () => SUCCESS,
    fd_prestat_get: () => BAD_FD,
    sched_yield: () => SUCCESS,
    proc_exit: (code: number) => {
      throw new EngineExit(code);
    },
    ...clockImports(host),
  };
  for (const name of UNSUPPORTED) imports[name] = () => NOT_SUPPORTED;
  return imports;
}

/**
 * The host's clock, made monotonic. Nobody can sleep inside a call, so a wait returns at once and the engine's clock
 * moves ahead by as much: otherwise the runtime would wait for ever under a clock that stands still.
 */
function clockImports(host: WasiHost): Record<string, WasmImport> {
  let sleptNs = 0n;
  let latestNs = 0n;
  return {
    clock_time_get: (clock: number, _precision: bigint, at: number) => {
      const nowNs = BigInt(Math.floor(host.nowMs() * 1000)) * 1000n + sleptNs;
      if (nowNs > latestNs) latestNs = nowNs;
      host.view().setBigUint64(at, clock === CLOCK_MONOTONIC ? latestNs + NS_PER_MS : nowNs, true);
      return SUCCESS;
    },
    poll_oneoff: (subscriptions: number, events: number, count: number, eventCount: number) => {
      const view = host.view();
      for (let i = 0; i < count; i += 1) {
        const subscription = subscriptions + i * SUBSCRIPTION_BYTES;
        const event = events + i * EVENT_BYTES;
        view.setBigUint64(event, view.getBigUint64(subscription, true), true);
        view.setUint16(event + 8, SUCCESS, true);
        const kind = view.getUint8(subscription + 8);
        view.setUint8(event + 10, kind);
        if (kind === 0) sleptNs += view.getBigUint64(subscription + 24, true);
      }
      view.setUint32(eventCount, count, true);
      return SUCCESS;
    },
  };
}

function writeZeros(view: DataView, count: number, bytes: number): number {
  view.setUint32(count, 0, true);
  view.setUint32(bytes, 0, true);
  return SUCCESS;
}

/** The engine's memory is never handed to foreign code: the bytes go through an array of their own. */
function fillRandom(host: WasiHost, at: number, length: number): number {
  const bytes = new Uint8Array(length);
  host.random(bytes);
  const view = host.view();
  new Uint8Array(view.buffer, at, length).set(bytes);
  return SUCCESS;
}

function writeText(host: WasiHost, fd: number, vectors: number, count: number, writtenAt: number): number {
  if (fd !== 1 && fd !== 2) return BAD_FD;
  const view = host.view();
  let written = 0;
  for (let i = 0; i < count; i += 1) {
    const at = view.getUint32(vectors + i * 8, true);
    const length = view.getUint32(vectors + i * 8 + 4, true);
    host.write(new TextDecoder().decode(new Uint8Array(view.buffer, at, length)));
    written += length;
  }
  view.setUint32(writtenAt, written, true);
  return SUCCESS;
}
