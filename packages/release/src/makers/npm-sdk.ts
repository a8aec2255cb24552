import { readFileSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "rolldown";
import type { Maker } from "../artefact.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import type { Library } from "../npm/bundle-code.ts";
import { bundleTypes } from "../npm/bundle-types.ts";
import { packNpm, packageFolder } from "../npm/package.ts";

const SDK = packageFolder("sdk-typescript");
const SOURCES = join(SDK, "src/");

/** Modules of the SDK that need Node, and what takes their place elsewhere; null: what they export is left out. */
const NEEDS_NODE: Readonly<Record<string, string | null>> = {
  "crypto.ts": "web-crypto.ts",
  "secrets.ts": "web-secrets.ts",
  "file-monitor-store.ts": null,
};

/**
 * Browsers, and runtimes at the edge of networks: a bundler or a runtime asks for one of these. What asks by `require`
 * (Jest with jsdom) runs on Node.
 */
const BROWSER_CONDITIONS = ["browser", "workerd", "edge-light"];

const BROWSER = { import: { types: "./dist/browser.d.ts", default: "./dist/browser.js" } };
const EXPORTS = {
  ".": {
    ...Object.fromEntries(BROWSER_CONDITIONS.map((condition) => [condition, BROWSER])),
    import: { types: "./dist/index.d.ts", default: "./dist/index.js" },
    require: { types: "./dist/index.d.cts", default: "./dist/index.cjs" },
  },
  "./package.json": "./package.json",
};

/** What a module exports, without the statements that export from a module which is left out. */
function withoutNode(index: string): string {
  const left = Object.keys(NEEDS_NODE).filter((module) => NEEDS_NODE[module] === null);
  return index
    .split(/(?<=;)\n/u)
    .filter((statement) => !left.some((module) => statement.endsWith(`from "./${module}";`)))
    .join("\n");
}

/** Puts the modules for browsers in the place of those that need Node. */
const WITHOUT_NODE: Plugin = {
  name: "without Node",
  resolveId: {
    order: "pre",
    handler: (id, importer) => {
      const module = importer?.startsWith(SOURCES) === true && id.startsWith("./") ? NEEDS_NODE[id.slice(2)] : null;
      return typeof module === "string" ? join(SOURCES, module) : null;
    },
  },
  load: (id) => (id === join(SOURCES, "index.ts") ? withoutNode(readFileSync(id, "utf8")) : null),
};

async function makeCode(staging: string): Promise<readonly Library[]> {
  const entry = join(SOURCES, "index.ts");
  const node = { entry, platform: "node", target: "node18" } as const;
  const inNode = [
    ...(await bundleCode({ ...node, file: join(staging, "dist/index.js"), format: "es" })),
    ...(await bundleCode({ ...node, file: join(staging, "dist/index.cjs"), format: "cjs" })),
  ];
  const browser = { entry, platform: "browser", target: "es2022", format: "es", plugins: [WITHOUT_NODE] } as const;
  const inBrowser = await bundleCode({ ...browser, file: join(staging, "dist/browser.js") });
  const libraries = new Map([...inNode, ...inBrowser].map((library) => [library.name, library]));
  return [...libraries.values()];
}

async function makeTypes(staging: string): Promise<void> {
  const bundled = ["@event-anchoring/bundle", "@event-anchoring/protocol", "@event-anchoring/records"];
  const index = join(SDK, "dist/index.d.ts");
  const dist = (name: string): string => join(staging, "dist", name);
  await bundleTypes({ package: SDK, entry: index, bundled, files: [dist("index.d.ts"), dist("index.d.cts")] });
  // Beside the declarations that it names.
  const browser = join(SDK, "dist/browser.release.d.ts");
  try {
    await writeFile(browser, withoutNode(await readFile(index, "utf8")));
    await bundleTypes({ package: SDK, entry: browser, bundled, files: [dist("browser.d.ts")] });
  } finally {
    await rm(browser, { force: true });
  }
}

/** The TypeScript SDK: ES modules, CommonJS, and a build for browsers, in files of their own without dependencies. */
export const npmSdk: Maker = {
  name: "npm-sdk",
  make: async ({ folder }) => {
    const manifest = {
      sideEffects: false,
      main: "./dist/index.cjs",
      types: "./dist/index.d.cts",
      exports: EXPORTS,
      files: ["dist", "examples", "NOTICE", "THIRD-PARTY-LICENSES.txt"],
    };
    const fill = async (staging: string): Promise<readonly Library[]> => {
      await cp(join(SDK, "examples"), join(staging, "examples"), { recursive: true });
      await makeTypes(staging);
      return makeCode(staging);
    };
    return [await packNpm({ source: SDK, manifest, fill }, folder)];
  },
};
