import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
  mkdirSync(join(home, "folder"));
  mkdirSync(join(home, "recorded"));
  execFileSync("mkfifo", [join(home, "pipe")]);
});
afterAll(() => rmSync(home, { recursive: true }));

const RECORDING = ["--what", "log", "--folder", "recorded", "--api-url", "http://127.0.0.1:9"];
const KEY = { ANCHORCTL_API_KEY: "no-key-of-anybody" };
const NO_FOLDER = "a part of the path is not a folder";

test.each([
  [["root", "fetch", "--cluster", "text.txt"], NO_FOLDER],
  [["keygen", "text.txt/key"], NO_FOLDER],
  [["keygen", "loop/key"], "symbolic links lead round in a circle"],
  [["backup", "unpack", "text.txt", "--identity", "text.txt", "--out", "text.txt/x"], NO_FOLDER],
  [["tail", "folder", ...RECORDING], "it is a folder"],
  [["tail", "nothing", ...RECORDING], "there is no such file"],
  [["tail", "pipe", ...RECORDING], "it is no regular file; record --stdin takes lines"],
  [["tail", "text.txt/x", ...RECORDING], NO_FOLDER],
])("%j is refused in a sentence", async (args, reason) => {
  const named = args.map((word) =>
    /^(?:text\.txt|loop|folder|nothing|pipe|recorded)/u.test(word) ? join(home, word) : word,
  );
  const { exitCode, stdout } = await runAnchorctl(home, [...named, "--json"], KEY);
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    2,
    { failure: expect.stringMatching(/^cannot_/u), detail: expect.stringContaining(reason) },
  ]);
});

test("a state of tail that names no file is none", async () => {
  writeFileSync(join(home, "folder", "tail.json"), "[]");
  const args = ["tail", join(home, "text.txt"), ...RECORDING, "--folder", join(home, "folder"), "--json"];
  const { exitCode, stdout } = await runAnchorctl(home, args, KEY);
  expect([exitCode, JSON.parse(stdout)]).toMatchObject([2, { failure: "tail_state_malformed" }]);
});
