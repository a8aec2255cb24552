import { readFileSync, readdirSync } from "node:fs";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "rolldown";
import type { Maker } from "../artefact.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import { npmParts } from "../contents.ts";
import type { Library } from "../npm/bundle-code.ts";
import { packNpm, packageFolder } from "../npm/package.ts";

const CLI = packageFolder("cli");
const FILE = "anchorctl.js";

/** Modules that libraries use if somebody has installed them. */
const OPTIONAL: ReadonlySet<string> = new Set(["pg-native", "pg-cloudflare"]);

const WITHOUT_OPTIONAL: Plugin = {
  name: "without optional modules",
  resolveId: { order: "pre", handler: (id) => (OPTIONAL.has(id) ? `\0${id}` : null) },
  load: (id) => (OPTIONAL.has(id.slice(1)) ? `throw new Error("${id.slice(1)} is not in this file");` : null),
};

const STORE = packageFolder("store");

/** The numbered files of the database's schema go into the file, in the place of the module that reads them. */
const WITH_MIGRATIONS: Plugin = {
  name: "with migrations",
  load: (id) => (id === join(STORE, "src/postgres/migration-files.ts") ? migrationsAsCode() : null),
};

function migrationsAsCode(): string {
  const folder = join(STORE, "migrations");
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const files = names.sort().map((name) => ({ name, sql: readFileSync(join(folder, name), "utf8") }));
  return `const FILES = ${JSON.stringify(files)};\nexport const readMigrationFiles = () => FILES;\n`;
}

/** Writes the command line as one executable file. @returns the libraries whose code is in it */
export async function bundleAnchorctl(file: string): Promise<readonly Library[]> {
  const libraries = await bundleCode({
    entry: join(CLI, "src/main.ts"),
    platform: "node",
    target: "node20",
    format: "es",
    file,
    hasMap: false,
    hasSideEffects: true,
    plugins: [WITHOUT_OPTIONAL, WITH_MIGRATIONS],
  });
  await chmod(file, 0o755);
  return libraries;
}

/** The command line as one file, by itself and as an npm package. */
export const npmAnchorctl: Maker = {
  name: "npm-anchorctl",
  make: async (target) => {
    const { folder, version } = target;
    const manifest = {
      name: "anchorctl",
      version,
      engines: { node: ">=20.19" },
      bin: { anchorctl: FILE },
      files: [FILE, "NOTICE", "THIRD-PARTY-LICENSES.txt"],
    };
    const single = `anchorctl-${version}.js`;
    const fill = async (staging: string): Promise<readonly Library[]> => {
      const file = join(staging, FILE);
      const libraries = await bundleAnchorctl(file);
      await copyFile(file, join(folder, single));
      target.hasParts(single, npmParts(libraries));
      return libraries;
    };
    return [await packNpm({ source: CLI, manifest, fill }, target), single];
  },
};
