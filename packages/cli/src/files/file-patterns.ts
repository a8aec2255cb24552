/** Patterns of file names for shells that leave them as they are, and for lists too long for a command line. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { RECEIPT_ENDING } from "./receipt-file.ts";

const SPECIAL = /[*?]/u;

/** Whether a path is to be looked for: it has `*` or `?`, and no file is called that. */
export function isPattern(path: string): boolean {
  return SPECIAL.test(path) && !existsSync(path);
}

/**
 * Each path as it is, each pattern as the files that match it, in byte order: `*` and `?` within a name, `**` for any
 * folders. Hidden names are matched only by patterns that begin with a dot, receipts only by those that name them.
 * @throws CliError `no_match`
 */
export function expandPatterns(given: readonly string[], workingDir: string): readonly string[] {
  return given.flatMap((path) => {
    if (!isPattern(resolve(workingDir, path))) return [path];
    const found = matchesOf(path, workingDir);
    if (found.length === 0) throw new CliError(EXIT.usage, "no_match", `no file matches ${path}`);
    return found;
  });
}

function matchesOf(pattern: string, workingDir: string): readonly string[] {
  const parts = pattern.split("/").filter((part, at) => part !== "" || at === 0);
  const [start, rest] = parts[0] === "" ? ["/", parts.slice(1)] : ["", parts];
  const areReceiptsMeant = pattern.endsWith(RECEIPT_ENDING);
  const found = walk(start, rest, workingDir);
  return found.filter((path) => areReceiptsMeant || !path.endsWith(RECEIPT_ENDING)).toSorted();
}

/** Files below `folder` (as it is written; relative to `workingDir`) that the rest of a pattern leads to. */
function walk(folder: string, parts: readonly string[], workingDir: string): readonly string[] {
  const [part, ...rest] = parts;
  if (part === undefined) return [];
  if (part === "**") {
    const below = foldersIn(folder, workingDir).flatMap((name) => walk(join(folder, name), parts, workingDir));
    return [...new Set([...walk(folder, rest.length === 0 ? ["*"] : rest, workingDir), ...below])];
  }
  if (!SPECIAL.test(part)) {
    const path = join(folder, part);
    if (rest.length > 0) return walk(path, rest, workingDir);
    return existsSync(resolve(workingDir, path)) ? [path] : [];
  }
  const matcher = matcherOf(part);
  const isHiddenMeant = part.startsWith(".");
  return entriesIn(folder, workingDir).flatMap(({ name, isFolder }) => {
    if (!matcher.test(name) || (name.startsWith(".") && !isHiddenMeant)) return [];
    const path = join(folder, name);
    if (rest.length > 0) return isFolder ? walk(path, rest, workingDir) : [];
    return isFolder ? [] : [path];
  });
}

function matcherOf(part: string): RegExp {
  const escaped = part.replaceAll(/[.+^${}()|[\]\\]/gu, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "su");
}

function entriesIn(
  folder: string,
  workingDir: string,
): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    return readdirSync(resolve(workingDir, folder), { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
    }));
  } catch {
    // A folder that cannot be listed holds nothing that can be anchored.
    return [];
  }
}

function foldersIn(folder: string, workingDir: string): readonly string[] {
  return entriesIn(folder, workingDir)
    .filter(({ name, isFolder }) => isFolder && !name.startsWith("."))
    .map(({ name }) => name);
}
