import { afterEach, expect, test } from "@jest/globals";
import { CrosscheckProcess } from "../src/sdks/crosscheck-process.ts";

let program: CrosscheckProcess;
afterEach(() => program.end());

function started(source: string): CrosscheckProcess {
  program = new CrosscheckProcess({
    language: "TypeScript",
    program: process.execPath,
    args: ["-e", source],
    environment: {},
  });
  return program;
}

const ECHO = `process.stdin.on("data", (line) => process.stdout.write('{"ok":' + String(line).trim() + '}\\n'))`;
const BREAKS = `process.stdin.once("data", () => { console.error("out of words"); process.exit(3); })`;

test("a question is answered by the program", async () => {
  expect(await started(ECHO).ask({ op: "echo" })).toEqual({ ok: { op: "echo" } });
});

test("a program that ends says so to who waits, and to who asks later", async () => {
  const ends = started(BREAKS);
  await expect(ends.ask({})).rejects.toThrow(/^TypeScript ended with 3: out of words/u);
  await expect(ends.ask({})).rejects.toThrow(/^TypeScript ended with 3: out of words/u);
});
