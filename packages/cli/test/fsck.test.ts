import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { EXIT } from "../src/terminal/cli-error.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

// What fsck says of tables is tested where they are: packages/store, and test/cluster with a real node.

/** Nobody listens on port 1. */
const NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-fsck-"));
  writeFileSync(join(folder, "open.json"), JSON.stringify({ database_url: NOWHERE, node_id: "n1" }));
  chmodSync(join(folder, "open.json"), 0o644);
  writeFileSync(join(folder, "closed.json"), JSON.stringify({ database_url: NOWHERE, node_id: "n1" }), { mode: 0o600 });
  writeFileSync(join(folder, "empty.json"), "{}", { mode: 0o600 });
});

afterAll(() => rmSync(folder, { recursive: true }));

const inFolder = (name: string): string => join(folder, name);

describe("anchorctl fsck", () => {
  test.each([
    ["names no database", () => [], EXIT.usage, "--database"],
    ["names a file that is not there", () => ["--database", inFolder("none.json")], EXIT.usage, "none.json"],
    ["names settings that others may read", () => ["--database", inFolder("open.json")], EXIT.usage, "chmod 600"],
    ["names settings without a database", () => ["--database", inFolder("empty.json")], EXIT.usage, "database_url"],
    ["asks for no differences at all", () => ["--database", NOWHERE, "--max", "none"], EXIT.usage, "--max"],
    ["pins what is no hash", () => ["--database", NOWHERE, "--root-thk", "xyz"], EXIT.invalid, "64 hex digits"],
    ["asks a server that is not there", () => ["--database", NOWHERE], EXIT.unavailable, "cannot connect"],
    ["asks by a settings file", () => ["--database", inFolder("closed.json")], EXIT.unavailable, "cannot connect"],
  ])("that %s ends with its exit code, and says why", async (_, args, exitCode, told) => {
    const run = await runAnchorctl(folder, ["fsck", ...args()]);
    expect(run.stderr).toContain(told);
    expect(run.exitCode).toBe(exitCode);
    expect(run.stdout).toBe("");
  });
});
