import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { expect, test } from "@jest/globals";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));

test("one service of docker-compose.yml builds the image, and the others name it", () => {
  const text = readFileSync(join(CHECKOUT, "docker-compose.yml"), "utf8");
  // A block that several services merge would give each of them a build of its own.
  const [blocks = "", services = ""] = text.split(/^services:$/mu);
  expect(blocks).not.toMatch(/^ +build:/mu);
  expect(services.match(/^ +build:/gmu)).toHaveLength(1);
  expect(text.match(/<<: \[\*image,/gu)?.length).toBeGreaterThan(2);
});
