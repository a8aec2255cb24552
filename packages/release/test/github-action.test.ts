import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

// The folder that a workflow names is made, and started where there is nothing else.

const folder = mkdtempSync(join(tmpdir(), "anchoring-github-action-"));

beforeAll(() => {
  const release = join(CHECKOUT, "packages/release/bin/release.js");
  const args = [release, "--dry", "--twice", "--only", "github-action", "--out", join(folder, "out")];
  execFileSync(process.execPath, args, { stdio: "pipe" });
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true }));

test("is a folder of its own, whose one program starts", () => {
  const action = join(folder, "out", "github-action");
  expect(readdirSync(action).sort()).toEqual(["LICENSE", "NOTICE", "README.md", "action.yml", "index.mjs"]);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(action, "index.mjs")], {
    cwd: folder,
    env: {},
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "::error::the input api-key is missing\n",
    stderr: "",
  });
});
