import { expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { DaySlices } from "../src/day/day-slices.ts";

const WAIT_MS = 120_000;

test("a slice has what was taken in it, and nothing if a process was down or began anew", async () => {
  const readings = [100, 400, NaN, 20];
  let at = 0;
  const slices = new DaySlices(
    () => Promise.resolve({}),
    () => readings[Math.min(at++, readings.length - 1)] ?? NaN,
  );
  await until("three slices", () => slices.slices.length >= 3, WAIT_MS);
  await slices.stop();
  expect(slices.slices.slice(0, 3).map(({ processorMs }) => processorMs)).toEqual([300, NaN, NaN]);
}, 300_000);
