import { readFileSync, readdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "rolldown";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
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
  "./recorder": {
    // A bundler for browsers says so, instead of looking for Node's modules.
    ...Object.fromEntries(BROWSER_CONDITIONS.map((condition) => [condition, { import: null }])),
    import: { types: "./dist/recorder.d.ts", default: "./dist/recorder.js" },
    require: { types: "./dist/recorder.d.cts", default: "./dist/recorder.cjs" },
  },
  "./package.json": "./package.json",
};

/** The name under which the sources of the recorder are given those of the main entry. */
const MAIN = "@event-anchoring/sdk";
/** Modules that the recorder has from the main entry: errors are of one class in both. */
const FROM_MAIN: ReadonlySet<string> = new Set(["errors.ts", "prepare-event.ts", "wire-names.ts"]);
/** Resolution that knows no `exports` looks for a folder of this name. */
const RECORDER_FOLDER = { main: "../dist/recorder.cjs", types: "../dist/recorder.d.cts" };

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

/** Leaves to the main entry what the recorder has from there. */
const BESIDE_MAIN: Plugin = {
  name: "beside the main entry",
  resolveId: {
    order: "pre",
    handler: (id, importer) => {
      if (importer?.startsWith(SOURCES) !== true || !id.startsWith(".")) return null;
      return FROM_MAIN.has(relative(SOURCES, join(dirname(importer), id))) ? { id: MAIN, external: true } : null;
    },
  },
};

async function makeRecorder(staging: string): Promise<readonly Library[]> {
  const entry = join(SOURCES, "recorder", "index.ts");
  const node = { entry, platform: "node", target: "node18", plugins: [BESIDE_MAIN] } as const;
  const made = [["js", "es"] as const, ["cjs", "cjs"] as const].map(([extension, format]) => {
    const file = join(staging, "dist", `recorder.${extension}`);
    return bundleCode({ ...node, file, format, siblings: { [MAIN]: `./index.${extension}` } });
  });
  await mkdir(join(staging, "recorder"));
  await writeFile(join(staging, "recorder", "package.json"), `${JSON.stringify(RECORDER_FOLDER, null, 2)}\n`);
  return (await Promise.all(made)).flat();
}

async function makeCode(staging: string): Promise<readonly Library[]> {
  const entry = join(SOURCES, "index.ts");
  const node = { entry, platform: "node", target: "node18" } as const;
  const inNode = [
    ...(await bundleCode({ ...node, file: join(staging, "dist/index.js"), format: "es" })),
    ...(await bundleCode({ ...node, file: join(staging, "dist/index.cjs"), format: "cjs" })),
  ];
  const browser = { entry, platform: "browser", target: "es2022", format: "es", plugins: [WITHOUT_NODE] } as const;
  const inBrowser = await bundleCode({ ...browser, file: join(staging, "dist/browser.js") });
  const inRecorder = await makeRecorder(staging);
  const libraries = new Map([...inNode, ...inRecorder, ...inBrowser].map((library) => [library.name, library]));
  return [...libraries.values()];
}

/** Packages of this repository whose types are in the SDK's. */
const BUNDLED = ["@event-anchoring/bundle", "@event-anchoring/protocol", "@event-anchoring/records"];

async function makeTypes(staging: string): Promise<void> {
  const index = join(SDK, "dist/index.d.ts");
  const dist = (name: string): string => join(staging, "dist", name);
  await bundleTypes({ package: SDK, entry: index, bundled: BUNDLED, files: [dist("index.d.ts"), dist("index.d.cts")] });
  // Beside the declarations that it names.
  const browser = join(SDK, "dist/browser.release.d.ts");
  try {
    await writeFile(browser, withoutNode(await readFile(index, "utf8")));
    await bundleTypes({ package: SDK, entry: browser, bundled: BUNDLED, files: [dist("browser.d.ts")] });
  } finally {
    await rm(browser, { force: true });
  }
}

/** The recorder's declarations, in a project of their own that has the SDK as any other package. */
async function makeRecorderTypes(staging: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "release-recorder-"));
  try {
    await symlink(join(CHECKOUT, "node_modules"), join(work, "node_modules"));
    await writeFile(join(work, "package.json"), JSON.stringify({ name: "recorder", version: "0.0.0", type: "module" }));
    const built = join(SDK, "dist", "recorder");
    for (const name of readdirSync(built).filter((each) => each.endsWith(".d.ts"))) {
      const text = await readFile(join(built, name), "utf8");
      await writeFile(join(work, name), text.replaceAll(/(?<= from )"\.\.\/[\w-]+\.ts"/gu, JSON.stringify(MAIN)));
    }
    const sibling = { name: MAIN, isBeside: true };
    const files = ["recorder.d.ts", "recorder.d.cts"].map((name) => join(staging, "dist", name));
    await bundleTypes({ package: work, entry: join(work, "index.d.ts"), bundled: BUNDLED, files, sibling });
  } finally {
    await rm(work, { recursive: true });
  }
}

/** The TypeScript SDK: ES modules, CommonJS, and a build for browsers, in files of their own without dependencies. */
export const npmSdk: Maker = {
  name: "npm-sdk",
  make: async (target) => {
    const manifest = {
      sideEffects: false,
      main: "./dist/index.cjs",
      types: "./dist/index.d.cts",
      exports: EXPORTS,
      files: ["dist", "recorder", "examples", "NOTICE", "THIRD-PARTY-LICENSES.txt"],
    };
    const fill = async (staging: string): Promise<readonly Library[]> => {
      await cp(join(SDK, "examples"), join(staging, "examples"), { recursive: true });
      await makeTypes(staging);
      await makeRecorderTypes(staging);
      return makeCode(staging);
    };
    return [await packNpm({ source: SDK, manifest, fill }, target)];
  },
};
