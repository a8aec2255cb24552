import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "@swc/core";
import { folderOf } from "./packages.ts";

/** What one file takes from others, and what it gives. Lines count from 1. */
export interface Doors {
  readonly path: string;
  readonly text: string;
  /** `names` is null where all of a module is taken: `import *`, `import()`. */
  readonly taken: readonly { readonly specifier: string; readonly names: readonly string[] | null }[];
  readonly given: readonly { readonly name: string; readonly isType: boolean }[];
}

interface Specifier {
  readonly type: string;
  readonly local?: { readonly value: string };
  readonly imported?: { readonly value: string } | null;
  readonly orig?: { readonly value: string };
  readonly exported?: { readonly value: string } | null;
}

interface Item {
  readonly type: string;
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly Specifier[];
  readonly declaration?: {
    readonly type: string;
    readonly identifier?: { readonly value: string };
    readonly id?: { readonly value: string };
    readonly declarations?: readonly { readonly id: { readonly value?: string } }[];
  };
}

/** Doors of a TypeScript or JavaScript module; `path` from the root, where `file` lies. */
export function readDoors(path: string, file: string): Doors {
  const text = readFileSync(file, "utf8");
  const options = { syntax: "typescript", tsx: path.endsWith(".tsx"), target: "es2022" } as const;
  const { body } = parseSync(text, options) as unknown as { body: readonly Item[] };
  const taken = body.flatMap(({ source, specifiers = [] }) =>
    source === undefined || source === null ? [] : [{ specifier: source.value, names: namesTaken(specifiers) }],
  );
  for (const [, specifier = ""] of text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g))
    taken.push({ specifier, names: null });
  return { path, text, taken, given: body.flatMap(namesGiven) };
}

function namesTaken(specifiers: readonly Specifier[]): string[] | null {
  if (specifiers.some(({ type }) => type.includes("Namespace"))) return null;
  return specifiers.flatMap(({ local, imported, orig }) => (imported ?? orig ?? local)?.value ?? []);
}

function namesGiven({ type, specifiers, declaration }: Item): Doors["given"][number][] {
  if (type === "ExportNamedDeclaration") {
    return (specifiers ?? []).flatMap(({ exported, orig }) => asGiven((exported ?? orig)?.value, false));
  }
  if (type !== "ExportDeclaration" || declaration === undefined) return [];
  const { identifier, id, declarations = [] } = declaration;
  const isType = declaration.type.startsWith("Ts");
  return [identifier?.value ?? id?.value, ...declarations.map((one) => one.id.value)].flatMap((name) =>
    asGiven(name, isType),
  );
}

function asGiven(name: string | undefined, isType: boolean): Doors["given"][number][] {
  return name === undefined ? [] : [{ name, isType }];
}

/** The file that an import names; a source, if it names what is built from it. Null: it is not in this repository. */
export function fileOf(importer: string, specifier: string): string | null {
  if (specifier.startsWith(".")) {
    const path = posix.join(posix.dirname(importer), specifier);
    return path.replace(/^(packages\/[^/]+)\/dist\/(.*)\.js$/, "$1/src/$2.ts");
  }
  const folder = folderOf(specifier);
  const [, , ...door] = specifier.split("/");
  return folder === null ? null : posix.join("packages", folder, "src", ...door, "index.ts");
}

/**
 * Names that nobody takes, as `path: name`. What a package's index takes from its files is for others: it has a user if
 * one of them, or a test, takes it there. A file may name a type for its own sake: what it gives is made of it.
 */
export function withoutUser(files: readonly Doors[], isJudged: (path: string) => boolean): string[] {
  const users = new Map<string, Set<string>>();
  const wholes = new Map<string, string[]>();
  for (const { path, text, taken } of files) {
    for (const { specifier, names } of taken) {
      const target = fileOf(path, specifier);
      if (target === null) continue;
      if (names === null) wholes.set(target, [...(wholes.get(target) ?? []), text]);
      else users.set(target, new Set([...(users.get(target) ?? []), ...names]));
    }
  }
  const isUsed = (path: string, name: string): boolean =>
    (users.get(path)?.has(name) ?? false) ||
    (wholes.get(path) ?? []).some((text) => new RegExp(`\\b${name}\\b`).test(text));
  return files
    .filter(({ path }) => isJudged(path))
    .flatMap(({ path, given }) =>
      given.filter(({ name, isType }) => !isType && !isUsed(path, name)).map(({ name }) => `${path}: ${name}`),
    );
}
