import { readdir } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";

/** @returns the files in a folder and those below it, from there, with forward slashes */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll(sep, posix.sep));
}

const NAMES_SHOWN_MAX = 8;

/** Names of files in a line, and how many more there are. */
export function namesShown(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX;
  return names.slice(0, NAMES_SHOWN_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
