import { spawnSync } from "node:child_process";
import { expect, test } from "@jest/globals";
import { shellWord } from "../src/index.ts";

test.each(["plain/path-1.txt", "", "two words", "it's", "$HOME `id` $(id)", "a;b|c&d", "*?[x]", 'quo"te', "a\\b", "~"])(
  "a shell takes %j as one word, as it is",
  (text) => {
    const { stdout } = spawnSync("/bin/sh", ["-c", `printf '[%s]' ${shellWord(text)}`], { encoding: "utf8" });
    expect(stdout).toBe(`[${text}]`);
  },
);
