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

test("README.md installs the files that a release has now", () => {
  const versionIn = (path: string): string => {
    const text = readFileSync(join(CHECKOUT, "packages", path), "utf8");
    return /^\s*"?version"?\s*[:=]\s*"([^"]+)"/mu.exec(text)?.[1] ?? "none";
  };
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
