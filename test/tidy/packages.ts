/** Who may import whom; what is not listed is forbidden. `docs/ARCHITECTURE.md` has the reasons. */

/** What a package.json says. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Tools of the repository alone: their libraries are devDependencies, which no image and no node installs. */
const NOT_DEPLOYED: readonly string[] = ["release", "testkit", "gates", "site"];

/** The libraries that the sources of a package may import, with their versions. */
export function declaredLibraries(folder: string, manifest: Manifest | undefined): Readonly<Record<string, string>> {
  const ofTools = NOT_DEPLOYED.includes(folder) ? manifest?.devDependencies : {};
  return { ...manifest?.dependencies, ...manifest?.optionalDependencies, ...ofTools };
}

/** By package folder: the packages of this repository that its `src` may import. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  "node-crypto": ["protocol"],
  records: ["protocol"],
  bundle: ["protocol", "records"],
  verdicts: ["protocol", "bundle"],
  ledger: ["protocol", "records"],
  "raft-ts": [],
  "api-contract": ["protocol"],
  "control-contract": ["protocol", "ledger", "raft-ts"],
  store: ["protocol", "node-crypto", "records", "ledger", "raft-ts"],
  telemetry: ["control-contract"],
  "control-plane": [
    "protocol",
    "node-crypto",
    "records",
    "ledger",
    "raft-ts",
    "store",
    "control-contract",
    "telemetry",
  ],
  api: [
    "protocol",
    "node-crypto",
    "records",
    "bundle",
    "ledger",
    "store",
    "api-contract",
    "control-contract",
    "telemetry",
  ],
  provision: ["protocol", "node-crypto", "control-contract"],
  explorer: ["protocol", "records", "bundle", "sdk-typescript", "verdicts"],
  "sdk-typescript": ["protocol", "bundle", "api-contract"],
  adapters: ["sdk-typescript"],
  cli: [
    "protocol",
    "node-crypto",
    "records",
    "bundle",
    "ledger",
    "store",
    "control-contract",
    "provision",
    "sdk-typescript",
    "verdicts",
  ],
  release: [],
  site: [],
  "dev-cluster": ["protocol", "node-crypto", "control-contract", "provision", "api", "control-plane"],
  testkit: [
    "protocol",
    "node-crypto",
    "records",
    "ledger",
    "api-contract",
    "control-contract",
    "provision",
    "sdk-typescript",
    "dev-cluster",
  ],
  simulator: [
    "protocol",
    "node-crypto",
    "records",
    "ledger",
    "raft-ts",
    "store",
    "control-contract",
    "control-plane",
    "testkit",
  ],
  bench: ["protocol", "node-crypto", "api-contract", "sdk-typescript", "dev-cluster", "testkit"],
  gates: ["cli", "dev-cluster", "simulator", "testkit"],
};

/** Packages with more than one door, for those who cannot take all of it. */
export const MORE_DOORS: Readonly<Record<string, readonly string[]>> = {
  // It needs files, which a browser does not have.
  "sdk-typescript": ["./recorder"],
  // Each suite loads what it asks for: a cluster's libraries take longer to load than most suites to run.
  testkit: [
    "./clients",
    "./cluster",
    "./faults",
    "./gateway",
    "./openapi",
    "./overload",
    "./postgres",
    "./receipts",
    "./records",
    "./sdks",
  ],
  // Suites run command lines without loading every gate and the simulator.
  gates: ["./anchorctl"],
};

/** Packages that only tests import, and each other as the table says. */
export const FOR_TESTS: readonly string[] = ["testkit", "simulator", "bench", "gates"];

/** Imports of which only the types may be used. */
export const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = {
  store: ["raft-ts"],
  "control-contract": ["raft-ts"],
  telemetry: ["control-contract"],
  "sdk-typescript": ["api-contract"],
};

/** Packages that are functions of their arguments: no clock, randomness, I/O or waiting. With what else they use. */
export const PURE: Readonly<Record<string, readonly string[]>> = {
  protocol: ["@noble/curves", "@noble/hashes"],
  records: [],
  bundle: [],
  verdicts: [],
  ledger: [],
  "raft-ts": [],
  "api-contract": ["zod"],
  "control-contract": ["leven", "zod"],
};

/** Files of a pure package that reach outside, and why. */
export const IMPURE_FILES: Readonly<Record<string, string>> = {
  "packages/verdicts/src/times.ts": "writes times that it is given; reads no clock",
  "packages/raft-ts/src/engine.ts": "loads the WebAssembly module, once",
  "packages/raft-ts/src/instance.ts": "starts an instance of that module",
  "packages/raft-ts/src/wasm-api.ts": "states the types of both",
};

/** Libraries that stay behind one wall. */
export const OWNED_LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  pg: ["store", "testkit"],
  express: ["api"],
  "@peculiar/x509": ["provision", "testkit"],
  "@noble/curves": ["protocol"],
  "@noble/hashes": ["protocol"],
  commander: ["cli"],
  "age-encryption": ["cli"],
  "@hpcc-js/wasm-zstd": ["cli"],
  fzstd: ["cli"],
  preact: ["explorer"],
  pino: ["telemetry"],
  "@opentelemetry/api": ["telemetry"],
  "@opentelemetry/exporter-trace-otlp-http": ["telemetry"],
  "@opentelemetry/resources": ["telemetry"],
  "@opentelemetry/sdk-trace": ["telemetry"],
};

/** Packages whose name does not end in that of their folder: there is more than one SDK. */
const FOLDERS: Readonly<Record<string, string>> = { sdk: "sdk-typescript" };

/** The folder of a package of this repository; null for any other specifier. */
export function folderOf(specifier: string): string | null {
  if (specifier === "raft-ts" || specifier.startsWith("raft-ts/")) return "raft-ts";
  const name = /^@event-anchoring\/([^/]+)/.exec(specifier)?.[1];
  return name === undefined ? null : (FOLDERS[name] ?? name);
}

/** The name under which a library is installed: a specifier without its path inside the package. */
export function libraryOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? specifier);
}
