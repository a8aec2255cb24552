/** The part of WebAssembly's JavaScript API that is used here; the compiler's ES libraries do not declare it. */
export interface WasmApi {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  instantiate(
    module: WasmModule,
    imports: WasmImports,
  ): Promise<{ readonly exports: Readonly<Record<string, unknown>> }>;
  readonly Module: { imports(module: WasmModule): readonly { readonly module: string; readonly name: string }[] };
}

declare const moduleBrand: unique symbol;
export interface WasmModule {
  readonly [moduleBrand]: true;
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

export type WasmImport = (...args: never[]) => number | void;
export type WasmImports = Readonly<Record<string, Readonly<Record<string, WasmImport>>>>;

export const wasmApi = (globalThis as unknown as { readonly WebAssembly: WasmApi }).WebAssembly;
