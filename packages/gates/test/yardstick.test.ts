import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { DaySlices } from "../src/day/day-slices.ts";
import type { ProcessorTime } from "../src/day/judge.ts";
import { Yardstick } from "../src/day/yardstick.ts";

const WAIT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), "yardstick-"));
afterAll(() => rmSync(folder, { recursive: true }));

const describeHere = process.platform === "linux" ? describe : describe.skip;

describeHere("the yardstick's server", () => {
  test("says what its requests took of the processor", async () => {
    let answers = 0;
    const yardstick = await Yardstick.start(folder, () => (answers += 1));
    try {
      await until("ten answers", () => answers >= 10, WAIT_MS);
      const before = yardstick.processorMs();
      await until("ten more", () => answers >= 20, WAIT_MS);
      expect(yardstick.processorMs()).toBeGreaterThan(before);
    } finally {
      await yardstick.stop();
    }
  }, 300_000);
});

test("a slice has what was taken in it, and nothing if a process was down or began anew", async () => {
  const readings: readonly ProcessorTime[] = [
    { nodes: 100, yardstick: 10 },
    { nodes: 400, yardstick: 30 },
    { nodes: NaN, yardstick: 40 },
    { nodes: 20, yardstick: 5 },
  ];
  let at = 0;
  const slices = new DaySlices(
    () => Promise.resolve({}),
    () => readings[Math.min(at++, readings.length - 1)] ?? { nodes: NaN, yardstick: NaN },
  );
  await until("three slices", () => slices.slices.length >= 3, WAIT_MS);
  await slices.stop();
  expect(slices.slices.slice(0, 3).map(({ processor }) => processor)).toEqual([
    { nodes: 300, yardstick: 20 },
    { nodes: NaN, yardstick: 10 },
    { nodes: NaN, yardstick: NaN },
  ]);
}, 300_000);
