import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { ReleaseError } from "../artefact.ts";
import type { Part } from "../contents.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import { bundleTypes } from "../npm/bundle-types.ts";
import { packNpm, packageFolder } from "../npm/package.ts";

const RAFT = packageFolder("raft-ts");
/** The engine, and the licences of what is in it. */
const ENGINE = ["raft.wasm", "raft.wasm.sha256", "NOTICE", "licenses"];

/** The licences of the modules in the engine, as engine/NOTICE has them. */
const MODULE_LICENCES: Readonly<Record<string, string>> = {
  "go.etcd.io/raft/v3": "Apache-2.0",
  "google.golang.org/protobuf": "BSD-3-Clause",
};

/**
 * The Go modules whose code is in the engine: go.mod requires no others, and go.sum holds their contents.
 * @throws ReleaseError one has no known licence, or no sum
 */
async function engineModules(): Promise<readonly Part[]> {
  const [required, sums] = await Promise.all(
    ["go.mod", "go.sum"].map((name) => readFile(join(RAFT, "engine", name), "utf8")),
  );
  const modules = [...(required ?? "").matchAll(/^(?:require)?\s+(\S+\.\S+) (v\S+)$/gmu)];
  if (modules.length === 0) throw new ReleaseError("engine/go.mod requires no module");
  return modules.map(([, name = "", version = ""]) => {
    const license = MODULE_LICENCES[name];
    if (license === undefined) throw new ReleaseError(`the licence of the Go module ${name} is not known`);
    if (sums?.includes(`${name} ${version} h1:`) !== true) throw new ReleaseError(`go.sum lacks ${name} ${version}`);
    return { registry: "golang", name, version, license, relation: "CONTAINS" } as const;
  });
}

/** etcd's raft for TypeScript: ES modules for Node, with the WebAssembly module beside them. */
export const npmRaft: Maker = {
  name: "npm-raft",
  make: async (target) => {
    const manifest = {
      sideEffects: false,
      types: "./dist/index.d.ts",
      exports: {
        ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
        "./package.json": "./package.json",
      },
      files: ["dist", "engine", "examples", "NOTICE"],
    };
    const fill = async (staging: string) => {
      await cp(join(RAFT, "examples"), join(staging, "examples"), { recursive: true });
      for (const name of ENGINE) {
        await cp(join(RAFT, "engine", name), join(staging, "engine", name), { recursive: true });
      }
      const entry = join(RAFT, "dist/index.d.ts");
      await bundleTypes({ package: RAFT, entry, bundled: [], files: [join(staging, "dist/index.d.ts")] });
      const file = join(staging, "dist/index.js");
      const code = { entry: join(RAFT, "src/index.ts"), platform: "node", target: "node18", format: "es" } as const;
      return bundleCode({ ...code, file });
    };
    const file = await packNpm({ source: RAFT, manifest, fill }, target);
    target.hasParts(file, await engineModules());
    return [file];
  },
};
