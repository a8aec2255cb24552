/**
 * The vectors are made from fixed keys, so they can be made again. `UPDATE_VECTORS=1 npm run jest -- vector-files`
 * rewrites the files; a change in one of them is a change of the format and is reviewed as such.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { formatJson } from "./json.ts";
import type { Json } from "./json.ts";

/** @param files what builds each file, by its name in test/vectors */
export function holdVectorFiles(files: Readonly<Record<string, () => Json>>): void {
  describe("vector files", () => {
    test.each(Object.entries(files))("%s is what the builders make", (name, build) => {
      const file = new URL(`../vectors/${name}`, import.meta.url);
      const made = formatJson(build());
      if (process.env["UPDATE_VECTORS"] === "1") writeFileSync(file, made);
      expect(readFileSync(file, "utf8")).toBe(made);
    });
  });
}
