import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

/** What a registry shows of a package, where nothing is beside it. */
const READMES = ["packages/sdk-python/README.md", "packages/sdk-rust/README.md"];

/** Where links lead, but for those within the page. */
function linksOf(markdown: string): readonly string[] {
  const text = markdown.replaceAll(/```[^]*?```/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)/g)].flatMap(([, target = ""]) => (target.startsWith("#") ? [] : [target]));
}

test.each(READMES)("%s has no link that leads out of its package", (path) => {
  const markdown = readFileSync(join(CHECKOUT, path), "utf8");
  expect(linksOf(markdown).filter((target) => !target.startsWith("https://"))).toEqual([]);
});
