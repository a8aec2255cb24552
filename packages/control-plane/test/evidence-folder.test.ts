import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { evidenceFolder } from "../src/process/evidence-folder.ts";

let parent: string;
let folder: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "anchoring-evidence-"));
  folder = join(parent, "evidence");
});

afterEach(() => rmSync(parent, { recursive: true }));

test("a node that never met a contradiction has no folder, and nothing is kept", async () => {
  expect(await evidenceFolder(folder).load()).toEqual(new Map());
});

test("what is kept is a file of its owner's alone, replaced whole, and what is unfinished is none", async () => {
  const files = evidenceFolder(folder);
  await files.keep("x.notes", "one");
  await files.keep("x.notes", "two");
  writeFileSync(join(folder, "y.notes.new"), "half");
  expect(await files.load()).toEqual(new Map([["x.notes", "two"]]));
  expect(readFileSync(join(folder, "x.notes"), "utf8")).toBe("two");
  expect(statSync(join(folder, "x.notes")).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("what a person moves away is kept no more", async () => {
  const files = evidenceFolder(folder);
  await files.keep("x.notes", "one");
  await files.keep("y.notes", "two");
  renameSync(join(folder, "x.notes"), join(parent, "x.notes"));
  expect([...(await files.load()).keys()]).toEqual(["y.notes"]);
  expect(readdirSync(folder)).toEqual(["y.notes"]);
});
