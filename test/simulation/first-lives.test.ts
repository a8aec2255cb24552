import { expect, test } from "@jest/globals";
import { livesOf, summaryOf } from "./lives.ts";

/** LIVES=150 lives as many; the long suites do. */
const LIVES = Number(process.env["LIVES"] ?? 40);

test(`every sentence holds in ${LIVES} lives: seeds 1 to ${LIVES}`, async () => {
  const startedMs = performance.now();
  const { stories, results } = await livesOf(1, LIVES);
  process.stdout.write(`${summaryOf(results, performance.now() - startedMs)}\n`);
  expect(stories).toEqual([]);
  expect(results.filter(({ nodes }) => nodes === 5).length).toBeGreaterThan(LIVES / 30);
  expect(results.filter(({ acknowledged }) => acknowledged > 0)).toHaveLength(LIVES);
}, 600_000);
