import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { pythonSurface, rustSurface, typescriptSurface } from "./sdk-surface.ts";
import type { Surface } from "./sdk-surface.ts";

// docs/sdk-names.md against the sources of the three SDKs.

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "sdk-names.md"), "utf8");
const surfaces: readonly Surface[] = [typescriptSurface(), pythonSurface(), rustSurface()];
const NONE = "–";

/** The names of one row, in the order of the languages, and its remark. */
const rows = [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$/gm)]
  .map((row) => ({
    names: row.slice(1, 4).map((cell) => cell.replaceAll("`", "").trim()),
    remark: row[4]?.trim() ?? "",
  }))
  .filter(({ names }) => names[0] !== "TypeScript");

/** What every object has in JavaScript. */
const OF_THE_LANGUAGE = new Set(["toString", "toJSON"]);
/** Types all of whose public members are on the page. */
const LISTED = [
  "Client",
  "Receipt",
  "Scope",
  "Monitor",
  "LocalKey",
  "Payload",
  "TrustRootChain",
  "Envelope",
  "Recorder",
  "RecordedEvent",
];

function snake(name: string): string {
  const dotted = name.replace("::", ".");
  const at = dotted.indexOf(".") + 1;
  const last = dotted.slice(at).replaceAll(/JSON/g, "Json");
  return dotted.slice(0, at) + last.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isThere({ functions, members }: Surface, name: string): boolean {
  const [type = "", member] = name.replace("::", ".").split(".");
  return member === undefined ? functions.has(type) : members.get(type)?.has(member) === true;
}

test("every name on the page exists", () => {
  expect(rows.length).toBeGreaterThan(100);
  const missing = rows.flatMap(({ names }) =>
    names.filter((name, language) => {
      const surface = surfaces[language];
      return name !== NONE && (surface === undefined || !isThere(surface, name));
    }),
  );
  expect(missing).toEqual([]);
});

test("an operation has one name, in the casing of each language", () => {
  const different = rows.filter(({ names }) => new Set(names.filter((name) => name !== NONE).map(snake)).size !== 1);
  expect(different).toEqual([]);
});

test("what one language lacks has a reason", () => {
  expect(rows.filter(({ names, remark }) => names.includes(NONE) && remark.length < 8)).toEqual([]);
});

test("every exported function, and every member of the main types, is on the page", () => {
  const unlisted = surfaces.flatMap(({ functions, types, members }, language) => {
    const listed = new Set(rows.map(({ names }) => names[language]?.replace("::", ".")));
    const offered = [
      ...functions,
      ...LISTED.filter((type) => types.has(type)).flatMap((type) =>
        [...(members.get(type) ?? [])].filter((name) => !OF_THE_LANGUAGE.has(name)).map((name) => `${type}.${name}`),
      ),
    ];
    return offered.filter((name) => !listed.has(name) && !MODULES.has(name));
  });
  expect(unlisted).toEqual([]);
});

/** Not functions: a module of Python, a table of readers in TypeScript. */
const MODULES = new Set(["errors", "leaf", "models", "readers"]);

test("requests are logged under one name, which the page says", () => {
  const [, name = ""] = /^body\. In Python's `logging` and in Rust's `log` its name is `(\w+)`/m.exec(page) ?? [];
  expect(name).not.toBe("");
  const source = (path: string): string => readFileSync(join(import.meta.dirname, "../../packages", path), "utf8");
  const python = source("sdk-python/src/event_anchoring/_exchange.py");
  expect(python).toContain(`\nlogger = logging.getLogger("${name}")\n`);
  const rust = source("sdk-rust/src/client/logging.rs");
  expect(rust).toContain(`\nconst TARGET: &str = "${name}";\n`);
  expect(rust).toContain("log::debug!(\n        target: TARGET,\n");
});

test("types of the page have one name in all three", () => {
  const list = /^These have one name in all three: ([^.]*)\./m.exec(page)?.[1] ?? "";
  const names = [...list.matchAll(/`(\w+)`/g)].map((name) => name[1] ?? "");
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !surfaces.every(({ types }) => types.has(name)))).toEqual([]);
});
