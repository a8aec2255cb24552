import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

// What SECURITY.md says of the packages that the service runs with.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
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

describe("package-lock.json", () => {
  test("names every package by its content", () => {
    expect(running.length).toBeGreaterThan(50);
    const unnamed = installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));
    expect(unnamed.map(([path]) => path)).toEqual([]);
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
