import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import {
  FOR_TESTS,
  IMPURE_FILES,
  MAY_IMPORT,
  MORE_DOORS,
  type Manifest,
  OWNED_LIBRARIES,
  PURE,
  TYPES_ONLY,
  declaredLibraries,
  folderOf,
  libraryOf,
} from "./tidy/packages.ts";
import { type SyntaxFacts, readSyntax } from "./tidy/syntax.ts";
import { bareOf, wordInLine, wordInName } from "./tidy/words.ts";

// The rules of this repository that neither compiler nor linter hold. Each test lists every offender as
// `file:line: what is wrong`; nothing is executed, so a rule costs one pass over the text or the syntax tree.

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const FUNCTION_LINES_MAX = 70;
const FILE_LINES_MAX = 500;
const LINE_COLUMNS_MAX = 120;
const SWALLOWED = /catch\s*(\([^)]*\))?\s*\{\s*\}|\.catch\(\(\w*\)\s*=>\s*(\{\s*\}|undefined|null)\)/;
const LEFT_FOR_LATER = /\b(TODO|FIXME|XXX|HACK)\b/;
const IMPURE = new Set(["async", "await", "Promise", "Date", "Math.random"]);
const SELF = "test/tidy.test.ts";
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "coverage", "target", "vectors", "transcripts", "fixtures"]);

interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  /** The folder under `packages/`; null outside of them. */
  readonly package: string | null;
  readonly isTest: boolean;
  readonly lines: readonly string[];
  /** null unless TypeScript. */
  readonly facts: SyntaxFacts | null;
}

function pathsUnder(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) return entry.isFile() ? [path] : [];
    return SKIPPED_FOLDERS.has(entry.name) || entry.name.startsWith(".") ? [] : pathsUnder(path);
  });
}

function load(path: string): SourceFile {
  const [top, folder, area] = path.split("/");
  return {
    path,
    package: top === "packages" ? (folder ?? null) : null,
    isTest: top === "test" || area === "test" || area === "bench",
    lines: readFileSync(join(ROOT, path), "utf8").split("\n"),
    facts: /\.tsx?$/.test(path) ? readSyntax(join(ROOT, path)) : null,
  };
}

const PATHS = ["packages", "test", "docs", "deploy", "certs"].flatMap(pathsUnder);
const CODE = PATHS.filter((path) => /\.(tsx?|js|sql|go|sh)$/.test(path)).map(load);
const TYPESCRIPT = CODE.filter((file): file is SourceFile & { facts: SyntaxFacts } => file.facts !== null);
const SOURCES = TYPESCRIPT.filter(({ package: folder, path }) => folder !== null && path.split("/")[2] === "src");
const DOCUMENTS = [...PATHS.filter((path) => path.endsWith(".md")), "README.md"]
  .filter((path) => existsSync(join(ROOT, path)))
  .map(load);
const PACKAGES = readdirSync(join(ROOT, "packages")).filter((folder) =>
  existsSync(join(ROOT, "packages", folder, "package.json")),
);
const MANIFESTS = new Map(PACKAGES.map((folder) => [folder, manifestOf(folder)]));

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, "packages", folder, "package.json"), "utf8")) as Manifest;
}

function internalDependencies(folder: string): string[] {
  const names = Object.keys(MANIFESTS.get(folder)?.dependencies ?? {});
  return names.flatMap((name) => folderOf(name) ?? []);
}

function linesWhere(files: readonly SourceFile[], judge: (line: string) => string | null): string[] {
  return files.flatMap((file) =>
    file.lines.flatMap((line, at) => {
      const wrong = judge(line);
      return wrong === null ? [] : [`${file.path}:${at + 1}: ${wrong}`];
    }),
  );
}

function constructsWhere(
  files: readonly (SourceFile & { facts: SyntaxFacts })[],
  banned: ReadonlySet<string>,
): string[] {
  return files.flatMap(({ path, facts }) =>
    facts.constructs.filter(({ name }) => banned.has(name)).map(({ name, line }) => `${path}:${line}: ${name}`),
  );
}

describe("packages", () => {
  test("every package has a row in the import table", () => {
    expect(PACKAGES.filter((folder) => MAY_IMPORT[folder] === undefined)).toEqual([]);
  });

  test("depend only on what the import table allows, at the common version", () => {
    const offenders = PACKAGES.flatMap((folder) =>
      Object.entries(MANIFESTS.get(folder)?.dependencies ?? {}).flatMap(([name, version]) => {
        const other = folderOf(name);
        if (other === null) return /^\d/.test(version) ? [] : [`${folder}: ${name} is not pinned (${version})`];
        if (!(MAY_IMPORT[folder] ?? []).includes(other)) return [`${folder} may not depend on ${other}`];
        return version === MANIFESTS.get(other)?.version ? [] : [`${folder}: ${name} is at another version`];
      }),
    );
    expect(offenders).toEqual([]);
  });

  test("reference in tsconfig.json exactly the packages they depend on", () => {
    const offenders = PACKAGES.flatMap((folder) => {
      const config = JSON.parse(readFileSync(join(ROOT, "packages", folder, "tsconfig.json"), "utf8")) as {
        references?: { path: string }[];
      };
      const references = (config.references ?? []).map(({ path }) => path.replace("../", "")).sort();
      const wanted = internalDependencies(folder).sort();
      return references.join() === wanted.join()
        ? []
        : [`${folder}: references ${references.join()}, depends on ${wanted.join()}`];
    });
    expect(offenders).toEqual([]);
  });

  test("have one door, and those that the table lists", () => {
    const offenders = PACKAGES.filter((folder) => {
      const doors = Object.keys(MANIFESTS.get(folder)?.exports ?? {});
      return doors.join() !== [".", ...(MORE_DOORS[folder] ?? [])].join();
    });
    expect(offenders).toEqual([]);
  });

  test("are imported through their door, and only where the table allows it", () => {
    const offenders = TYPESCRIPT.flatMap((file) =>
      file.facts.imports.flatMap(({ specifier, line, isTypeOnly }) => {
        const wrong = importFault(file, specifier, isTypeOnly);
        return wrong === null ? [] : [`${file.path}:${line}: ${wrong}`];
      }),
    );
    expect(offenders).toEqual([]);
  });

  test("have no import cycles", () => {
    expect(cyclesAmong(SOURCES)).toEqual([]);
  });
});

function importFault(file: SourceFile, specifier: string, isTypeOnly: boolean): string | null {
  const folder = file.package;
  if (specifier.startsWith(".")) {
    const target = posix.join(posix.dirname(file.path), specifier);
    if (folder === null || target.startsWith(`packages/${folder}/`)) return null;
    return file.isTest && target.startsWith("test/") ? null : `${specifier} leaves the package`;
  }
  if (specifier.startsWith("node:")) return null;
  const other = folderOf(specifier);
  if (other !== null) return internalFault(file, other, specifier, isTypeOnly);
  if (file.isTest || folder === null) return null;
  return libraryFault(folder, libraryOf(specifier));
}

function internalFault(file: SourceFile, other: string, specifier: string, isTypeOnly: boolean): string | null {
  const door = `.${specifier.slice(libraryOf(specifier).length)}`;
  if (door !== "." && MORE_DOORS[other]?.includes(door) !== true) return `${specifier} is not the door of ${other}`;
  if (file.isTest || file.package === null) return null;
  if (other === file.package) return `${specifier} is this package itself; import the file`;
  if (FOR_TESTS.includes(other) && !FOR_TESTS.includes(file.package)) return `${other} is for tests`;
  if (!(MAY_IMPORT[file.package] ?? []).includes(other)) return `${file.package} may not import ${other}`;
  const isTypesOnly = (TYPES_ONLY[file.package] ?? []).includes(other);
  if (isTypesOnly && !isTypeOnly) return `${file.package} may import types of ${other}, nothing else`;
  return internalDependencies(file.package).includes(other) ? null : `${specifier} is not in package.json`;
}

function libraryFault(folder: string, library: string): string | null {
  const owners = OWNED_LIBRARIES[library];
  if (owners !== undefined && !owners.includes(folder)) return `${library} is used by ${owners.join(", ")} alone`;
  if (PURE[folder] !== undefined && !PURE[folder].includes(library)) return `${folder} is pure, without ${library}`;
  const isDeclared = library in declaredLibraries(folder, MANIFESTS.get(folder));
  return isDeclared ? null : `${library} is not in package.json`;
}

/** Each cycle once, as `a -> b -> a`. Imports of types alone are erased and make none. */
function cyclesAmong(files: readonly (SourceFile & { facts: SyntaxFacts })[]): string[] {
  const edges = new Map(
    files.map(({ path, facts }) => [
      path,
      facts.imports
        .filter(({ specifier, isTypeOnly }) => specifier.startsWith(".") && !isTypeOnly)
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier)),
    ]),
  );
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) cycles.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || finished.has(path)) return;
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path]);
    finished.add(path);
  };
  for (const path of edges.keys()) walk(path, []);
  return cycles;
}

describe("pure packages", () => {
  const files = SOURCES.filter(
    ({ package: folder, path }) => folder !== null && folder in PURE && !(path in IMPURE_FILES),
  );

  test("wait for nothing and read neither clock nor chance", () => {
    expect(constructsWhere(files, IMPURE)).toEqual([]);
  });

  test("import nothing of Node", () => {
    const offenders = files.flatMap(({ path, facts }) =>
      facts.imports
        .filter(({ specifier }) => specifier.startsWith("node:"))
        .map(({ specifier, line }) => `${path}:${line}: ${specifier}`),
    );
    expect(offenders).toEqual([]);
  });

  test("every exception is one", () => {
    const needless = Object.keys(IMPURE_FILES).filter((path) => {
      const file = SOURCES.find((source) => source.path === path);
      return file === undefined || constructsWhere([file], IMPURE).length === 0;
    });
    expect(needless).toEqual([]);
  });
});

/** Folders of a package's source, and the imports between them, types included: `from -> to`, with a witness. */
function folderArrows(folder: string): ReadonlyMap<string, string> {
  const arrows = new Map<string, string>();
  for (const { path, package: owner, facts } of SOURCES) {
    if (owner !== folder || path.endsWith("/src/index.ts")) continue;
    const from = posix.dirname(path);
    for (const { specifier, line } of facts.imports) {
      const to = specifier.startsWith(".") ? posix.dirname(posix.join(from, specifier)) : from;
      if (to !== from) arrows.set(`${from} -> ${to}`, `${path}:${line}: ${specifier}`);
    }
  }
  return arrows;
}

/** The arrows that lie on a circle. */
function circlesOf(arrows: ReadonlyMap<string, string>): string[] {
  const reaches = (from: string, wanted: string, seen: Set<string>): boolean =>
    [...arrows.keys()].some((arrow) => {
      const [start, to = ""] = arrow.split(" -> ");
      if (start !== from) return false;
      if (to === wanted) return true;
      if (seen.has(to)) return false;
      seen.add(to);
      return reaches(to, wanted, seen);
    });
  return [...arrows].flatMap(([arrow, where]) => {
    const [from = "", to = ""] = arrow.split(" -> ");
    return reaches(to, from, new Set()) ? [where] : [];
  });
}

const TYPE_DECLARED = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/;

describe("rooms", () => {
  test.each(PACKAGES)("imports between the folders of %s run one way, types included", (folder) => {
    expect(circlesOf(folderArrows(folder))).toEqual([]);
  });

  test("a circle of two folders is found, and a longer one", () => {
    const arrows = (...pairs: string[]): Map<string, string> => new Map(pairs.map((pair) => [pair, pair]));
    expect(circlesOf(arrows("a -> b", "b -> a", "a -> c"))).toEqual(["a -> b", "b -> a"]);
    expect(circlesOf(arrows("a -> b", "b -> c", "c -> a", "d -> a"))).toEqual(["a -> b", "b -> c", "c -> a"]);
    expect(circlesOf(arrows("a -> b", "a -> c", "b -> c"))).toEqual([]);
  });

  test("a package declares no two types of one name", () => {
    const declared = new Map<string, string[]>();
    for (const { path, package: folder, lines } of SOURCES) {
      for (const line of lines) {
        const name = TYPE_DECLARED.exec(line)?.[1];
        if (name === undefined) continue;
        const key = `${folder}: ${name}`;
        declared.set(key, [...(declared.get(key) ?? []), path]);
      }
    }
    const twice = [...declared].filter(([, paths]) => paths.length > 1);
    expect(twice.map(([key, paths]) => `${key} in ${paths.join(", ")}`)).toEqual([]);
  });
});

describe("size", () => {
  test(`functions have at most ${FUNCTION_LINES_MAX} lines`, () => {
    const offenders = TYPESCRIPT.flatMap(({ path, facts }) =>
      facts.functions
        .filter(({ lineCount }) => lineCount > FUNCTION_LINES_MAX)
        .map(({ name, line, lineCount }) => `${path}:${line}: ${name} has ${lineCount} lines`),
    );
    expect(offenders).toEqual([]);
  });

  test(`files have at most ${FILE_LINES_MAX} lines`, () => {
    const long = CODE.filter(({ lines }) => lines.length - 1 > FILE_LINES_MAX);
    expect(long.map(({ path, lines }) => `${path}: ${lines.length - 1} lines`)).toEqual([]);
  });

  test(`lines have at most ${LINE_COLUMNS_MAX} columns`, () => {
    const judge = (line: string): string | null => (line.length > LINE_COLUMNS_MAX ? `${line.length} columns` : null);
    expect(linesWhere(CODE, judge)).toEqual([]);
  });
});

describe("language", () => {
  test("no any, enum, namespace, parameter property, default export or export *", () => {
    const banned = new Set(["any", "enum", "namespace", "parameter property", "default export", "export *"]);
    expect(constructsWhere(TYPESCRIPT, banned)).toEqual([]);
  });

  test("no program that lasts links signals with AbortSignal.any: Node keeps those", () => {
    const lasting = new Set(["control-plane", "api", "store", "telemetry", "sdk-typescript", "adapters"]);
    const files = SOURCES.filter(({ package: folder }) => folder !== null && lasting.has(folder));
    expect(constructsWhere(files, new Set(["AbortSignal.any"]))).toEqual([]);
  });

  test("file names are kebab-case", () => {
    const name = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.tsx?$/;
    expect(TYPESCRIPT.map(({ path }) => path).filter((path) => !name.test(posix.basename(path)))).toEqual([]);
  });

  test("no errors are swallowed; an ignored one has its reason beside it", () => {
    const offenders = CODE.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) => {
        const isExplained = /\/\//.test(line) || /^\s*(\/\/|\*)/.test(lines[at - 1] ?? "");
        return SWALLOWED.test(line) && !isExplained ? [`${path}:${at + 1}: ${line.trim()}`] : [];
      }),
    );
    expect(offenders).toEqual([]);
  });

  test("nothing is left for later", () => {
    const files = [...CODE, ...DOCUMENTS].filter(({ path }) => path !== SELF);
    expect(linesWhere(files, (line) => LEFT_FOR_LATER.exec(line)?.[0] ?? null)).toEqual([]);
  });
});

describe("words", () => {
  const isRule = ({ path }: SourceFile): boolean => [SELF, "test/tidy/words.ts", "docs/GLOSSARY.md"].includes(path);

  test("names say what they name", () => {
    const offenders = TYPESCRIPT.flatMap(({ path, facts }) =>
      facts.declared.flatMap(({ name, line }) => {
        const word = wordInName(name);
        return word === null ? [] : [`${path}:${line}: ${name} (${word})`];
      }),
    );
    expect(offenders).toEqual([]);
  });

  test("files are named for what they hold", () => {
    expect(PATHS.filter((path) => wordInName(posix.basename(path)) !== null)).toEqual([]);
  });

  test("code, comments and documents do without the kept-out words", () => {
    expect(
      linesWhere(
        [...CODE, ...DOCUMENTS].filter((file) => !isRule(file)),
        wordInLine,
      ),
    ).toEqual([]);
  });

  test("comments name what they describe", () => {
    const others = PATHS.filter((path) => /\.(py|rs|ya?ml)$/.test(path)).map(load);
    expect(linesWhere([...CODE, ...others], bareOf)).toEqual([]);
    const planted = [
      "/** Of the group. */",
      "  // Of two.",
      " * Of each.",
      "    # Of a replay.",
      '"""Of it."""',
      "-- Of all.",
    ];
    expect(planted.filter((line) => bareOf(line) === null)).toEqual([]);
  });

  test.each(["dataOf", "entryInfo", "KEY_HELPERS", "utilities.utils", "SessionManager", "magicBytes"])(
    "%s is a name that says nothing",
    (name) => expect(wordInName(name)).not.toBeNull(),
  );

  test.each(["database", "eventDataHash", "event_data_hash_matches", "metadata", "justify", "info", "informed"])(
    "%s is not",
    (name) => expect(wordInName(name)).toBeNull(),
  );
});

describe("the reader of syntax", () => {
  const folder = mkdtempSync(join(tmpdir(), "tidy-"));
  const path = join(folder, "planted.ts");
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    path,
    `// é: offsets count bytes
import type { A } from "./a.ts";
import { type B } from "./b.ts";
export { c } from "./c.ts";
export * from "./d.ts";
export default class Planted { constructor(private readonly e: any) {} }
enum F { G }
namespace H { export const i = 1; }
const { j, k: l = 2, ...m } = await import("./n.ts");
for await (const o of []) {}
const p = async (): Promise<void> => { Math.random(); new Date(); };
describe("q", () => {

});
type R = import("./s.ts").S;
`,
  );
  const facts = readSyntax(path);

  test("finds every construct, on its line", () => {
    expect(facts.constructs.map(({ name, line }) => `${line} ${name}`).sort()).toEqual(
      [
        "10 await",
        "11 Date",
        "11 Math.random",
        "11 Promise",
        "11 async",
        "5 export *",
        "6 any",
        "6 default export",
        "6 parameter property",
        "7 enum",
        "8 namespace",
        "9 await",
      ].sort(),
    );
  });

  test("tells imports of types from those of values", () => {
    const seen = facts.imports.map(({ specifier, isTypeOnly }) => `${specifier}${isTypeOnly ? " types" : ""}`);
    expect(seen).toEqual(["./a.ts types", "./b.ts types", "./c.ts", "./d.ts", "./n.ts", "./s.ts types"]);
  });

  test("counts the lines of functions, not of a describe, and lists declared names", () => {
    expect(facts.functions.map(({ line, lineCount }) => [line, lineCount])).toEqual([
      [6, 1],
      [11, 1],
    ]);
    const names = facts.declared.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["j", "l", "m", "p", "R"]));
    expect(names).not.toContain("k");
  });
});

describe("tests and documents", () => {
  test("no test sleeps: it waits on a condition", () => {
    const sleep = /\b(sleep|delay)\(|new Promise(<\w*>)?\(\(?\w*\)?\s*=>\s*\{?\s*setTimeout\(|timers\/promises/;
    const tests = CODE.filter(({ path }) => path.endsWith(".test.ts") && path !== SELF);
    expect(linesWhere(tests, (line) => sleep.exec(line)?.[0] ?? null)).toEqual([]);
  });

  test("every file with tests asserts something", () => {
    const tests = TYPESCRIPT.filter(({ lines }) => lines.some((line) => /^\s*test(?:\.each)?[(<]/.test(line)));
    const silent = tests.filter(({ lines }) => !lines.some((line) => /\bexpect\w*\(/.test(line)));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test("every document has exactly one title", () => {
    const offenders = DOCUMENTS.flatMap(({ path, lines }) => {
      const titles = titlesOf(lines);
      return titles === 1 ? [] : [`${path}: ${titles} titles`];
    });
    expect(offenders).toEqual([]);
  });
});

function titlesOf(lines: readonly string[]): number {
  let isFenced = false;
  let titles = 0;
  for (const line of lines) {
    if (/^\s*(```|~~~)/.test(line)) isFenced = !isFenced;
    else if (!isFenced && /^# \S/.test(line)) titles++;
  }
  return titles;
}
