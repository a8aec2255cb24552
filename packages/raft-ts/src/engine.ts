import { readFile } from "node:fs/promises";
import { EngineLoadError } from "./errors.ts";
import { WasmInstance } from "./instance.ts";
import { RawNode } from "./raw-node.ts";
import type { RawNodeOptions } from "./types.ts";
import { wasmApi } from "./wasm-api.ts";
import type { WasmModule } from "./wasm-api.ts";

export interface EngineOptions {
  /** The module's bytes; without them the one that ships with this package is used. */
  readonly wasm?: Uint8Array;
  /** The Go runtime's clock in milliseconds. Raft itself counts ticks only. Default: Date.now. */
  readonly nowMs?: () => number;
}

/** Works from the sources and from the build alike. */
const SHIPPED_WASM = new URL("../engine/raft.wasm", import.meta.url);

/** The shipped module is compiled once per process. */
let shippedModule: Promise<WasmModule> | null = null;

/**
 * One instance of the engine, home of any number of RawNodes. They share its memory and its fate (see
 * EngineDeadError), nothing else: a panic of one leaves the others as they were.
 */
export class RaftEngine {
  readonly #instance: WasmInstance;

  private constructor(instance: WasmInstance) {
    this.#instance = instance;
  }

  /** Throws EngineLoadError. */
  static async load(options: EngineOptions = {}): Promise<RaftEngine> {
    const module = options.wasm === undefined ? await loadShipped() : await compile(options.wasm);
    return new RaftEngine(await WasmInstance.start(module, options.nowMs ?? Date.now));
  }

  /** Size of the engine's memory, which grows with need and never shrinks. */
  get memoryBytes(): number {
    return this.#instance.memoryBytes;
  }

  /**
   * A node that continues from what its storage holds. Throws InvalidArgumentError if that cannot be what a node
   * has stored: a gap in the log, a commit index beyond its end, a membership that contradicts itself.
   */
  createNode(options: RawNodeOptions): RawNode {
    return RawNode.create(this.#instance, options);
  }
}

async function loadShipped(): Promise<WasmModule> {
  shippedModule ??= readFile(SHIPPED_WASM).then(compile, (cause: unknown) => {
    throw new EngineLoadError("the module cannot be read", { cause });
  });
  try {
    return await shippedModule;
  } catch (error) {
    // The next load tries again: the file may be readable by then.
    shippedModule = null;
    throw error;
  }
}

async function compile(bytes: Uint8Array): Promise<WasmModule> {
  try {
    return await wasmApi.compile(bytes);
  } catch (cause) {
    throw new EngineLoadError("the module is not valid WebAssembly", { cause });
  }
}
