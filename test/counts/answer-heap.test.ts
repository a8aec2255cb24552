import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { ANSWER_HEAP_BYTES_MAX } from "./bounds.ts";

const counts = dirname(fileURLToPath(import.meta.url));

test("a certified write takes no more heap than its bound, its client included", async () => {
  const typescript = join(counts, "../run/typescript.js");
  const program = join(counts, "answer-heap.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=source", "--import", typescript, program],
    { env: { ...process.env, NODE_OPTIONS: "" }, timeout: 100_000 },
  );
  expect(stdout).toMatch(/^\d+\n$/);
  const taken = Number(stdout);
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThanOrEqual(ANSWER_HEAP_BYTES_MAX);
});
