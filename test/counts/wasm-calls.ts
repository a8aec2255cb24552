/** Counts calls into instances of WebAssembly that are made after it began. */
interface Instances {
  instantiate(module: object, imports: object): Promise<{ readonly exports: Readonly<Record<string, unknown>> }>;
}

export class WasmCalls {
  count = 0;
  readonly #wasm = (globalThis as unknown as { readonly WebAssembly: Instances }).WebAssembly;
  readonly #instantiate = this.#wasm.instantiate;

  constructor() {
    const instantiate = this.#instantiate.bind(this.#wasm);
    this.#wasm.instantiate = async (module, imports) => {
      const { exports } = await instantiate(module, imports);
      const counted = Object.entries(exports).map(([name, value]) => [name, this.#counted(value)] as const);
      return { exports: Object.fromEntries(counted) };
    };
  }

  /** Instances that are there go on being counted. */
  end(): void {
    this.#wasm.instantiate = this.#instantiate;
  }

  #counted(value: unknown): unknown {
    if (typeof value !== "function") return value;
    return (...args: readonly unknown[]): unknown => {
      this.count += 1;
      return value(...args) as unknown;
    };
  }
}
