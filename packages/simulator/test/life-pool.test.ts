import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "@jest/globals";
import { LifeError } from "@event-anchoring/simulator";
import { liveMany } from "../src/lives/life-pool.ts";

const BUILT = new URL("../dist/lives/life-pool.js", import.meta.url).href;
const ENDLESS = 1000;

const folder = mkdtempSync(join(tmpdir(), "life-pool-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Lives in two threads of the build: seed 4 does what `atFour` says. */
async function inThreads(atFour: string): Promise<{ results: number[]; seed: number; message: string }> {
  const body = join(folder, "body.mjs");
  writeFileSync(
    body,
    `import { parentPort } from "node:worker_threads";
    parentPort.on("message", (seed) => {
      if (seed === 4) ${atFour};
      else setTimeout(() => parentPort.postMessage(seed), 5);
    });`,
  );
  const program = `import { liveMany } from ${JSON.stringify(BUILT)};
    const results = [];
    const series = { from: 1, count: ${ENDLESS}, jobs: 2, isOver: () => false, onResult: (seed) => results.push(seed) };
    const thread = { file: ${JSON.stringify(pathToFileURL(body).href)}, common: null };
    const error = await liveMany({ ...series, thread, live: () => { throw new Error("not here"); } }).catch((e) => e);
    console.log(JSON.stringify({ results, seed: error.seed, message: error.message }));`;
  const script = join(folder, "lives.mjs");
  writeFileSync(script, program);
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 60_000 });
  return JSON.parse(stdout) as { results: number[]; seed: number; message: string };
}

describe("after an error of a life", () => {
  test("no other begins, and those that run have their results", async () => {
    const results: number[] = [];
    const lives = liveMany({
      from: 1,
      count: ENDLESS,
      jobs: 1,
      isOver: () => false,
      live: async (seed) => {
        if (seed === 4) throw new Error("it does not end well");
        return seed;
      },
      thread: { file: "", common: null },
      onResult: (seed) => results.push(seed),
    });
    const error = new LifeError(4, new Error("it does not end well"));
    await expect(lives).rejects.toThrow(error);
    expect(results).toEqual([1, 2, 3]);
  });

  test.each([
    ["an error in a thread", `throw new Error("it does not end well")`, /seed 4 ended: Error: it does not end well/],
    ["a thread that ends without one", "process.exit(3)", /seed 4 ended: Error: its thread ended with exit code 3/],
  ])(
    "the same with %s",
    async (_what, atFour, message) => {
      const told = await inThreads(atFour);
      expect(told.message).toMatch(message);
      expect(told.seed).toBe(4);
      expect(told.results).toEqual(expect.arrayContaining([1, 2, 3]));
      expect(told.results.length).toBeLessThan(7);
    },
    90_000,
  );
});
