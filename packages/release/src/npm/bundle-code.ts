import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import type { OutputChunk, Plugin } from "rolldown";
import { ReleaseError } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";

/** A library of others whose code is in a bundle. */
export interface Library {
  readonly name: string;
  readonly version: string;
  /** As its package.json states it. */
  readonly license: string;
  readonly folder: string;
}

/** One file to be made of sources and all that they import. */
export interface BundleOrder {
  /** A source of this checkout. */
  readonly entry: string;
  /** The file that is written; a source map goes beside it unless `hasMap` is false. */
  readonly file: string;
  readonly format: "es" | "cjs";
  readonly platform: "node" | "browser";
  /** The oldest engine that runs it, `node18` say. */
  readonly target: string;
  readonly plugins?: readonly Plugin[];
  readonly hasMap?: boolean;
  readonly isMinified?: boolean;
  /** Whether modules do something by being loaded. If not, one of which nothing is used is left out. */
  readonly hasSideEffects?: boolean;
  /** Files beside it that it imports instead of having them in it, by what sources or plugins name them. */
  readonly siblings?: Readonly<Record<string, string>>;
}

/**
 * Bundles one file with rolldown. No path of this machine goes in: a source map names sources from the root of the
 * repository, and contains them.
 * @returns the libraries whose code is in it
 * @throws ReleaseError if it would import something that is neither in it nor of Node
 */
export async function bundleCode(order: BundleOrder): Promise<readonly Library[]> {
  const { entry, file, platform, plugins = [], hasMap = true, siblings = {} } = order;
  const wanted = new Map<string, string>();
  const bundle = await rolldown({
    input: entry,
    cwd: CHECKOUT,
    platform,
    external: [/^node:/u, ...Object.keys(siblings)],
    resolve: { conditionNames: ["source", platform, "default"] },
    transform: { target: order.target },
    treeshake: { moduleSideEffects: order.hasSideEffects === true },
    plugins: [notingImporters(wanted), ...plugins],
    onLog: (level, log) => {
      if (level === "warn") throw new ReleaseError(`${file}: ${log.message}`);
    },
  });
  try {
    const { output } = await bundle.generate({
      dir: join(CHECKOUT, "dist"),
      format: order.format,
      exports: "named",
      paths: siblings,
      codeSplitting: false,
      sourcemap: hasMap,
      sourcemapPathTransform: (source, map) => relative(CHECKOUT, resolve(dirname(map), source)),
      minify: order.isMinified === true,
      comments: { legal: true, annotation: true, jsdoc: false },
    });
    const chunk = onlyChunk(output, file);
    assertImports(chunk, order, wanted);
    await mkdir(dirname(file), { recursive: true });
    const name = file.slice(file.lastIndexOf("/") + 1);
    const link = chunk.map === null ? "" : `//# sourceMappingURL=${name}.map\n`;
    const code = chunk.code.replace(/\/\/# sourceMappingURL=.*\n*$/u, "");
    await writeFile(file, `${code.trimEnd()}\n${link}`);
    if (chunk.map !== null) await writeFile(`${file}.map`, JSON.stringify({ ...chunk.map, file: name }));
    return librariesOf(chunk.moduleIds);
  } finally {
    await bundle.close();
  }
}

function onlyChunk(output: readonly { readonly type: string }[], file: string): OutputChunk {
  const chunks = output.filter((part): part is OutputChunk => part.type === "chunk");
  const [chunk] = chunks;
  if (chunk === undefined || chunks.length > 1)
    throw new ReleaseError(`${file}: ${chunks.length} files were made of it`);
  return chunk;
}

/** Notes who imports what is not bundled, for the message. */
function notingImporters(wanted: Map<string, string>): Plugin {
  return {
    name: "importers",
    resolveId: {
      order: "pre",
      filter: { id: /^node:/u },
      handler: (id, importer) => {
        wanted.set(id, relative(CHECKOUT, importer ?? ""));
        return null;
      },
    },
  };
}

function assertImports(chunk: OutputChunk, order: BundleOrder, wanted: ReadonlyMap<string, string>): void {
  const { file, platform, siblings = {} } = order;
  const beside = [...Object.keys(siblings), ...Object.values(siblings)];
  const others = [...chunk.imports, ...chunk.dynamicImports].filter(
    (id) => !beside.includes(id) && (platform === "browser" || !id.startsWith("node:")),
  );
  if (others.length === 0) return;
  const said = others.map((id) => `${id} (by ${wanted.get(id) ?? "a library"})`).join(", ");
  throw new ReleaseError(`${file} would import ${said}`);
}

/** The libraries that modules come from, by name. */
function librariesOf(modules: readonly string[]): readonly Library[] {
  const folders = new Set(modules.filter((id) => id.includes("/node_modules/")).map(libraryFolder));
  const libraries = [...folders].map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Omit<Library, "folder">;
    return { name: manifest.name, version: manifest.version, license: manifest.license, folder };
  });
  return libraries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Where the package is that a module is in; one that has a package.json of its own inside is not another package. */
function libraryFolder(id: string): string {
  const path = id.replace(/^\0/u, "").replace(/\?.*$/u, "");
  const [, folder = ""] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//u.exec(path) ?? [];
  if (!existsSync(join(folder, "package.json"))) throw new ReleaseError(`${path} is in no package`);
  return folder;
}
