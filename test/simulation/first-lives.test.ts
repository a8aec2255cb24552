import { expect, test } from "@jest/globals";
import { livesOf, summaryOf } from "./lives.ts";

test("every sentence holds in 150 lives: seeds 1 to 150", async () => {
  const startedMs = performance.now();
  const { stories, results } = await livesOf(1, 150);
  process.stdout.write(`${summaryOf(results, performance.now() - startedMs)}\n`);
  expect(stories).toEqual([]);
  expect(results.filter(({ nodes }) => nodes === 5).length).toBeGreaterThan(5);
  expect(results.filter(({ acknowledged }) => acknowledged > 0)).toHaveLength(150);
}, 600_000);
