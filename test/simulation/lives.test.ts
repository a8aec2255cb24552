import { expect, test } from "@jest/globals";
import { livesOf, summaryOf } from "./lives.ts";

/** `test:clusters` and `test:long` live more of them. */
const LIVES = Number(process.env["LIVES"] ?? 60);

test(`every sentence holds in ${LIVES} lives`, async () => {
  const startedMs = performance.now();
  const lives = await livesOf("--from", "1", "--seeds", String(LIVES), "--harm-seconds", "9");
  process.stdout.write(`${summaryOf(lives, performance.now() - startedMs)}\n`);
  expect(lives.flatMap(({ story }) => story ?? [])).toEqual([]);
  expect(lives.map(({ seed }) => seed)).toEqual(Array.from({ length: LIVES }, (_, at) => at + 1));
  expect(lives.filter(({ nodes }) => nodes === 5).length).toBeGreaterThanOrEqual(Math.floor(LIVES / 30));
  expect(lives.filter(({ acknowledged }) => acknowledged > 0)).toHaveLength(LIVES);
}, 3_600_000);

test("a life is the same one whatever lives beside it: twice the same traces, on one core and on three", async () => {
  const flags = ["--from", "7000", "--seeds", "9", "--harm-seconds", "3"];
  const alone = await livesOf(...flags, "--jobs", "1");
  const beside = await livesOf(...flags, "--jobs", "3");
  expect(beside.map(({ traceHash }) => traceHash)).toEqual(alone.map(({ traceHash }) => traceHash));
  expect(new Set(alone.map(({ traceHash }) => traceHash)).size).toBe(9);
}, 600_000);
