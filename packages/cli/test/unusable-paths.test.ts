import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";

// A path that cannot be used is the person's mistake, whichever command meets it: a sentence and exit code 2.

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-paths-"));
  writeFileSync(join(home, "text.txt"), "hello\n");
  symlinkSync("loop", join(home, "loop"));
});
afterAll(() => rmSync(home, { recursive: true }));

const NO_FOLDER = "a part of the path is not a folder";

test.each([
  [["root", "fetch", "--cluster", "text.txt"], NO_FOLDER],
  [["keygen", "text.txt/key"], NO_FOLDER],
  [["keygen", "loop/key"], "symbolic links lead round in a circle"],
  [["backup", "unpack", "text.txt", "--identity", "text.txt", "--out", "text.txt/x"], NO_FOLDER],
])("%j is refused in a sentence", async (args, reason) => {
  const named = args.map((word) => (/^(?:text\.txt|loop)/u.test(word) ? join(home, word) : word));
  const { exitCode, stdout } = await runAnchorctl(home, [...named, "--json"]);
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    2,
    { failure: expect.stringMatching(/^cannot_/u), detail: expect.stringContaining(reason) },
  ]);
});
