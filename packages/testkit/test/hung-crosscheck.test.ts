import { afterEach, expect, test } from "@jest/globals";
import { CrosscheckProcess } from "../src/sdks/crosscheck-process.ts";

let program: CrosscheckProcess;
afterEach(() => program.end());

test("a program that answers nothing is named with the question, to all who wait and who ask later", async () => {
  const args = ["-e", "process.stdin.resume(); setInterval(() => {}, 1000)"];
  program = new CrosscheckProcess({ language: "Rust", program: process.execPath, args, environment: {} }, 500);
  const asked = [{ at: 1 }, { at: 2 }].map((question) => program.ask(question));
  const reason: unknown = expect.objectContaining({ message: 'Rust has not answered in 500 ms: {"at":1}' });
  expect(await Promise.allSettled(asked)).toEqual([
    { status: "rejected", reason },
    { status: "rejected", reason },
  ]);
  await expect(program.ask({ at: 3 })).rejects.toThrow('Rust has not answered in 500 ms: {"at":1}');
});
