import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import { bundleTypes } from "../npm/bundle-types.ts";
import { packNpm, packageFolder } from "../npm/package.ts";

const RAFT = packageFolder("raft-ts");
/** The engine, and the licences of what is in it. */
const ENGINE = ["raft.wasm", "raft.wasm.sha256", "NOTICE", "licenses"];

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
    return [await packNpm({ source: RAFT, manifest, fill }, target)];
  },
};
