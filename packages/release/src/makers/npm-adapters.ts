import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import { bundleTypes } from "../npm/bundle-types.ts";
import { packNpm, packageFolder } from "../npm/package.ts";

const ADAPTERS = packageFolder("adapters");
const EXPORTS = {
  ".": {
    import: { types: "./dist/index.d.ts", default: "./dist/index.js" },
    require: { types: "./dist/index.d.cts", default: "./dist/index.cjs" },
  },
  "./package.json": "./package.json",
};

/** The adapters: ES modules and CommonJS that import nothing. Their types are those of the SDK that a user has. */
export const npmAdapters: Maker = {
  name: "npm-adapters",
  make: async (target) => {
    const manifest = {
      sideEffects: false,
      main: "./dist/index.cjs",
      types: "./dist/index.d.cts",
      exports: EXPORTS,
      files: ["dist", "NOTICE"],
      peerDependencies: { "@event-anchoring/sdk": "0.2.0" },
    };
    const fill = async (staging: string) => {
      const entry = join(ADAPTERS, "src", "index.ts");
      const node = { entry, platform: "node", target: "node18" } as const;
      const types = ["index.d.ts", "index.d.cts"].map((name) => join(staging, "dist", name));
      const sibling = { name: "@event-anchoring/sdk/recorder", isBeside: false };
      const built = join(ADAPTERS, "dist", "index.d.ts");
      await bundleTypes({ package: ADAPTERS, entry: built, bundled: [], files: types, sibling });
      await bundleCode({ ...node, file: join(staging, "dist/index.js"), format: "es" });
      return bundleCode({ ...node, file: join(staging, "dist/index.cjs"), format: "cjs" });
    };
    return [await packNpm({ source: ADAPTERS, manifest, fill }, target)];
  },
};
