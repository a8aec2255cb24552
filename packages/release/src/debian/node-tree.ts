import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { CHECKOUT } from "../checkout.ts";
import type { Library } from "../npm/bundle-code.ts";
import { libraryIn, lockedFolders } from "../npm/locked.ts";
import { run } from "../run.ts";

/** Packages of this repository that a node runs, as in deploy/Dockerfile. */
const PROGRAMS = ["api", "control-plane", "cli", "provision"];
/** Beside packages and libraries, as in deploy/Dockerfile. */
const BESIDE = ["LICENSE", "NOTICE", "package.json", "certs", "docs/openapi.json"];
/** The page that the api process serves; the rest of its package is for a browser's build. */
const PAGE = "explorer/dist/page.html";

/** What libraries have and no program loads: declarations, maps, sources, documents, settings of tools. */
const NOT_RUN_FILE = new RegExp(
  [
    "\\.(test\\.js|[cm]?ts|tsx|map|md|markdown|tsbuildinfo|ya?ml|flow|sh|html|png)$",
    "^\\.",
    "^(licen[cs]es?|copying|changelog|history|notice|authors|makefile)(\\.txt)?$",
  ].join("|"),
  "iu",
);

/** At the top of a library. */
const NOT_RUN_FOLDER = /^(tests?|examples?|docs?|benchmarks?|bench|\..*)$/iu;

/**
 * Writes a program tree of a node: built packages, and the libraries of the lockfile that run, without those for
 * development and the optional ones.
 * @param tree the folder that takes the place of the checkout
 * @returns the libraries
 */
export async function writeNodeTree(tree: string): Promise<readonly Library[]> {
  for (const name of BESIDE) await cp(join(CHECKOUT, name), join(tree, name), { recursive: true });
  const folders = await lockedFolders(PROGRAMS, ["--omit=dev", "--omit=optional"]);
  const isLibrary = (folder: string): boolean => folder.includes("node_modules/");
  const packages = folders.filter((folder) => !isLibrary(folder));
  const kept = await mkdtemp(join(tmpdir(), "release-kept-"));
  try {
    await run("sh", [join(CHECKOUT, "deploy/container/keep-what-runs.sh"), CHECKOUT, kept]);
    for (const folder of packages) await cp(join(kept, folder), join(tree, folder), { recursive: true });
    await cp(join(kept, "packages", PAGE), join(tree, "packages", PAGE));
  } finally {
    await rm(kept, { recursive: true });
  }
  await linkPackages(packages, tree);
  const libraries: Library[] = [];
  for (const folder of folders.filter(isLibrary)) libraries.push(await copyLibrary(folder, tree));
  return libraries;
}

/** The links by which packages of this repository find one another. */
async function linkPackages(folders: readonly string[], tree: string): Promise<void> {
  for (const folder of folders) {
    const { name } = JSON.parse(await readFile(join(tree, folder, "package.json"), "utf8")) as {
      readonly name: string;
    };
    const link = join(tree, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(relative(dirname(link), join(tree, folder)), link);
  }
}

async function copyLibrary(folder: string, tree: string): Promise<Library> {
  const from = join(CHECKOUT, folder);
  const isKept = async (path: string): Promise<boolean> => {
    const isFolder = (await stat(path)).isDirectory();
    if (isFolder) {
      const isNested = path !== from && basename(path) === "node_modules";
      return !isNested && !(dirname(path) === from && NOT_RUN_FOLDER.test(basename(path)));
    }
    return !NOT_RUN_FILE.test(basename(path));
  };
  await cp(from, join(tree, folder), { recursive: true, filter: isKept });
  return libraryIn(folder);
}
