import { expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { DaySlices } from "../src/day/day-slices.ts";

const WAIT_MS = 120_000;

test("a slice has what was taken in it, and nothing if a process was down or began anew", async () => {
  const readings = [100, 400, NaN, 20].map((ms) => ({ api: ms, Postgres: 10 }));
  let at = 0;
  const slices = new DaySlices(
    () => Promise.resolve({}),
    () => readings[Math.min(at++, readings.length - 1)] ?? {},
  );
  await until("three slices", () => slices.slices.length >= 3, WAIT_MS);
  await slices.stop();
  const taken = [300, NaN, NaN].map((api) => ({ api, Postgres: 0 }));
  expect(slices.slices.slice(0, 3).map(({ processorMs }) => processorMs)).toEqual(taken);
}, 300_000);
