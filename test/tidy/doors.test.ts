import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { readDoors, withoutUser } from "./doors.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
/** What is not ours, or made from what is. */
const LEFT_OUT = new Set(["node_modules", "dist", "target", "fixtures"]);
/** Packages that are for people who have no checkout: their index is their interface. */
const PUBLISHED = new Set([
  "packages/adapters/src/index.ts",
  "packages/raft-ts/src/index.ts",
  "packages/sdk-typescript/src/index.ts",
  "packages/sdk-typescript/src/recorder/index.ts",
]);

function modulesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isFile()) return /\.(tsx?|js)$/.test(entry.name) ? [path] : [];
    return entry.isDirectory() && !LEFT_OUT.has(entry.name) && !entry.name.startsWith(".") ? modulesUnder(path) : [];
  });
}

const DOORS = ["packages", "test", "deploy", "certs"]
  .flatMap(modulesUnder)
  .map((path) => readDoors(path, join(ROOT, path)));

/** What only a program takes that a test writes and starts. */
const STARTED_ELSEWHERE = new Set([
  "packages/testkit/src/overload/index.ts: checkReadiness",
  "packages/testkit/src/overload/index.ts: storm",
  "packages/simulator/src/index.ts: lyingNetwork",
  "packages/testkit/src/overload/hostile-bodies.ts: holdsHere",
  "packages/testkit/src/faults/planted-code.ts: load",
]);

test("no name is exported without a user", () => {
  const isJudged = (path: string): boolean => /^packages\/[^/]+\/src\//.test(path) && !PUBLISHED.has(path);
  const offenders = withoutUser(DOORS, isJudged);
  expect(offenders.filter((name) => !STARTED_ELSEWHERE.has(name))).toEqual([]);
  expect(offenders).toEqual(expect.arrayContaining([...STARTED_ELSEWHERE]));
});

describe("the reader of doors", () => {
  const folder = mkdtempSync(join(tmpdir(), "doors-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const planted = (path: string, text: string): ReturnType<typeof readDoors> => {
    const file = join(folder, path.replaceAll("/", "-"));
    writeFileSync(file, text);
    return readDoors(path, file);
  };
  const files = [
    planted(
      "packages/ledger/src/a.ts",
      `export const used = 1, idle = 2; export interface Used {} export class Idle {} export { used as renamed };
export function deep() {} export type ByScript = 1; export function outside() {}`,
    ),
    planted(
      "packages/ledger/src/b.ts",
      `import { type Used, used as other } from "./a.ts"; import * as all from "./a.ts"; all.deep();`,
    ),
    planted("packages/ledger/src/index.ts", `export { outside, type ByScript } from "./a.ts";`),
    planted("packages/store/src/c.ts", `import { outside } from "@event-anchoring/ledger";`),
  ];

  test("finds exports without a user, in a file and at a package's index", () => {
    expect(withoutUser(files, () => true)).toEqual([
      "packages/ledger/src/a.ts: idle",
      "packages/ledger/src/a.ts: Idle",
      "packages/ledger/src/a.ts: renamed",
      "packages/ledger/src/index.ts: ByScript",
    ]);
  });

  test("knows what is built from a source for that source", () => {
    const script = planted("packages/ledger/bin/x.js", `const { ByScript } = await import("../dist/index.js");`);
    expect(withoutUser([...files, script], (path) => path.endsWith("index.ts"))).toEqual([]);
  });
});
