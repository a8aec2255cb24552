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

test("question and answer are a line each, whatever a reader of lines takes for an end", async () => {
  const question = { text: "a\u2028b\u2029c" };
  // As Node 24 reads: what is asked is not cut there, and what is answered is one line with them.
  const echo = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const parts = line.split(/[\\u2028\\u2029]/);
    process.stdout.write(JSON.stringify({ ok: JSON.parse(parts[0]) }) + "\\n");
  })`;
  expect(await started(echo).ask(question)).toEqual({ ok: question });
});
