import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";

// What SECURITY.md says of the packages that the service runs with.

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

const { packages } = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const installed = Object.entries(packages).filter(([path, { link }]) => path.startsWith("node_modules/") && !link);
const running = installed.filter(([, { dev, devOptional, optional }]) => !dev && !devOptional && !optional);
const LICENCES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

describe("package-lock.json", () => {
  test("names every package that runs by its content", () => {
    expect(running.length).toBeGreaterThan(50);
    expect(running.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path)).toEqual([]);
  });

  test("has no package with another licence in what runs", () => {
    const others = running.filter(([, { license }]) => !LICENCES.includes(license ?? "none"));
    expect(others.map(([path, { license }]) => `${path}: ${license ?? "none"}`)).toEqual([]);
  });

  // A counter of downloads that comes with swagger-ui-dist: package.json turns it off, and so does --ignore-scripts.
  test("has none but one that wants to run a script when it is installed, in what runs", () => {
    const scripted = running.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
    expect(scripted).toEqual(["node_modules/@scarf/scarf"]);
  });
});
