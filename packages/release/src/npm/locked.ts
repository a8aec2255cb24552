import { readFile, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { CHECKOUT } from "../checkout.ts";
import { run } from "../run.ts";
import type { Library } from "./bundle-code.ts";

/** An override of package.json puts a package without contents here; it has no licence either. */
const EMPTY = "node_modules/@scarf/scarf";

/**
 * What packages of this repository need, as npm reads the lockfile.
 * @param packages names of folders
 * @param options of `npm ls`
 * @returns folders from the root: `packages/…`, `node_modules/…`, `packages/…/node_modules/…`
 */
export async function lockedFolders(
  packages: readonly string[],
  options: readonly string[],
): Promise<readonly string[]> {
  const workspaces = packages.flatMap((name) => ["--workspace", `packages/${name}`]);
  const lines = await run("npm", ["ls", "--all", "--parseable", ...options, ...workspaces], { cwd: CHECKOUT });
  const paths = await Promise.all(
    lines
      .trim()
      .split("\n")
      .map((line) => realpath(line)),
  );
  return paths.map((path) => relative(CHECKOUT, path)).filter((path) => path !== "" && path !== EMPTY);
}

/** What a library's manifest says, in a folder from the root. */
export async function libraryIn(folder: string): Promise<Library> {
  const path = join(CHECKOUT, folder);
  const { name, version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as Library;
  return { name, version, license, folder: path };
}

/** The libraries of others among what packages of this repository need. */
export async function lockedLibraries(
  packages: readonly string[],
  options: readonly string[],
): Promise<readonly Library[]> {
  const folders = await lockedFolders(packages, options);
  return Promise.all(folders.filter((folder) => folder.includes("node_modules/")).map((folder) => libraryIn(folder)));
}
