import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

/** What a registry shows of a package, where nothing is beside it. */
const READMES = [
  "packages/sdk-python/README.md",
  "packages/sdk-rust/README.md",
  "deploy/helm/event-anchoring/README.md",
];

/** Where links lead, but for those within the page. */
function linksOf(markdown: string): readonly string[] {
  const text = markdown.replaceAll(/```[^]*?```/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)/g)].flatMap(([, target = ""]) => (target.startsWith("#") ? [] : [target]));
}

test.each(READMES)("%s has no link that leads out of its package", (path) => {
  const markdown = readFileSync(join(CHECKOUT, path), "utf8");
  expect(linksOf(markdown).filter((target) => !target.startsWith("https://"))).toEqual([]);
});

const versionIn = (path: string): string => {
  const text = readFileSync(join(CHECKOUT, "packages", path), "utf8");
  return /^\s*"?version"?\s*[:=]\s*"([^"]+)"/mu.exec(text)?.[1] ?? "none";
};

// A name that is not held yet is somebody else's to take.
test.each([
  ["adapters", "npm install ./event-anchoring-sdk-SDK.tgz ./event-anchoring-adapters-OWN.tgz ", "package.json"],
  ["cli", "npm install --global ./anchorctl-OWN.tgz ", "package.json"],
  ["raft-ts", "npm install ./raft-ts-OWN.tgz ", "package.json"],
  ["sdk-python", "pip install ./event_anchoring-OWN-py3-none-any.whl ", "pyproject.toml"],
  ["sdk-rust", 'event-anchoring = { path = "event-anchoring-OWN" } ', "Cargo.toml"],
  ["sdk-typescript", "npm install ./event-anchoring-sdk-OWN.tgz ", "package.json"],
])("the README of %s installs the file of a release, and no name of a registry", (name, line, manifest) => {
  const readme = readFileSync(join(CHECKOUT, "packages", name, "README.md"), "utf8");
  const own = line
    .replace("OWN", versionIn(`${name}/${manifest}`))
    .replace("SDK", versionIn("sdk-typescript/package.json"));
  expect(readme).toContain(`\n${own}`);
  expect(readme).toMatch(/^\*\*It is |^\*\*They are /mu);
  const installed = [...readme.matchAll(/^(?:npm|pip) install (.*?)(?: {2,}#|$)/gmu)].flatMap(([, what = ""]) =>
    what.split(" ").filter((word) => !word.startsWith("-")),
  );
  expect(installed.filter((word) => !word.startsWith("./"))).toEqual([]);
});

test("README.md installs the files that a release has now", () => {
  const readme = readFileSync(join(CHECKOUT, "README.md"), "utf8");
  for (const line of [
    `npm install ./event-anchoring-sdk-${versionIn("sdk-typescript/package.json")}.tgz `,
    `pip install ./event_anchoring-${versionIn("sdk-python/pyproject.toml")}-py3-none-any.whl `,
    `tar xzf event-anchoring-${versionIn("sdk-rust/Cargo.toml")}.crate `,
    `cargo add --path event-anchoring-${versionIn("sdk-rust/Cargo.toml")}\n`,
  ]) {
    expect(readme).toContain(`\n${line}`);
  }
  expect(readme.indexOf("\n## Install\n")).toBeLessThan(readme.indexOf("\n## Start\n"));
});
