import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

// What SECURITY.md says of the packages that the service runs with.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));

interface Locked {
  readonly version?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly os?: readonly string[];
  readonly hasInstallScript?: boolean;
}

const { packages } = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const installed = Object.entries(packages).filter(([path, { link }]) => path.startsWith("node_modules/") && !link);
const running = installed.filter(([, { dev, devOptional, optional }]) => !dev && !devOptional && !optional);
const LICENCES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

let emptyHome: string;

beforeAll(() => {
  emptyHome = mkdtempSync(join(tmpdir(), "anchoring-home-"));
});

afterAll(() => {
  rmSync(emptyHome, { recursive: true, force: true });
});

/**
 * Formatter, linter, and compiler and module resolver of the tests, as programs for platforms on which the suite is not
 * run. The registry that the lockfile was made with has no such files of these versions, so nobody knows their hashes.
 * None of them is needed to build, to run `npm start`, or to make the image. A lockfile that has the hashes is as good:
 * then the line goes.
 */
const WITHOUT_HASH = [
  { tool: /^@oxfmt\/binding-/u, version: "0.78.0", count: 17 },
  { tool: /^@oxlint\/binding-/u, version: "1.94.0", count: 17 },
  { tool: /^@oxlint-tsgolint\//u, version: "7.0.2007", count: 4 },
  { tool: /^@swc\/core-/u, version: "1.16.22", count: 8 },
  { tool: /^@unrs\/resolver-binding-/u, version: "1.13.0", count: 17 },
];

describe("package-lock.json", () => {
  test("names every package by its content, but for the listed tools of other platforms", () => {
    expect(running.length).toBeGreaterThan(50);
    const unnamed = installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));
    for (const [path, { version, dev, optional, os }] of unnamed) {
      expect([path, dev, optional, os === undefined]).toEqual([path, true, true, false]);
      const listed = WITHOUT_HASH.find(({ tool }) => tool.test(path.replace("node_modules/", "")));
      expect([path, version]).toEqual([path, listed?.version]);
    }
    const counts = WITHOUT_HASH.map(({ tool }) => unnamed.filter(([path]) => tool.test(path.slice(13))).length);
    expect(counts).toEqual(WITHOUT_HASH.map(({ count }) => count));
  });

  test("says of every package where it comes from", () => {
    expect(installed.filter(([, { resolved }]) => !resolved?.startsWith("https://")).map(([path]) => path)).toEqual([]);
  });

  test("has no package with another licence in what runs", () => {
    const others = running.filter(([, { license }]) => !LICENCES.includes(license ?? "none"));
    expect(others.map(([path, { license }]) => `${path}: ${license ?? "none"}`)).toEqual([]);
  });

  test("has no package in what runs that wants to run a script when it is installed", () => {
    expect(running.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
  });

  test("is installed without any package's script, however npm was called", () => {
    const { status, stdout } = spawnSync("npm", ["config", "get", "ignore-scripts"], {
      cwd: CHECKOUT,
      encoding: "utf8",
      // As on a machine where nobody has set anything. (npm run would hand its own settings on in the environment.)
      env: { PATH: process.env["PATH"], HOME: emptyHome },
    });
    expect([status, stdout.trim()]).toEqual([0, "true"]);
  });
});
