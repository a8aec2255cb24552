import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { keptTimes } from "../src/keeping/retention.ts";

const DAY_MS = 86_400_000;
const at = (text: string): number => Date.parse(`${text}:00:00Z`);
const NONE = { last: 0, daily: 0, weekly: 0, monthly: 0 };

const kept = (times: readonly string[], wanted: Partial<typeof NONE>): readonly string[] => {
  const found = keptTimes(times.map(at), { ...NONE, ...wanted });
  return times.filter((time) => found.has(at(time)));
};

describe("what is kept", () => {
  const HOURLY = ["2026-11-22T21", "2026-11-22T22", "2026-11-23T01", "2026-11-23T02"];

  test.each([
    ["nothing", {}, []],
    ["the newest", { last: 2 }, ["2026-11-23T01", "2026-11-23T02"]],
    ["the last of a day, in UTC", { daily: 2 }, ["2026-11-22T22", "2026-11-23T02"]],
    ["the last of a week, which begins on Monday", { weekly: 2 }, ["2026-11-22T22", "2026-11-23T02"]],
    ["the last of a month", { monthly: 2 }, ["2026-11-23T02"]],
    ["what any of them keeps", { last: 3, daily: 2 }, ["2026-11-22T22", "2026-11-23T01", "2026-11-23T02"]],
  ])("is %s", (_, wanted, expected) => {
    expect(kept(HOURLY, wanted)).toEqual(expected);
  });

  test("spans a pause: days without a backup do not count", () => {
    const times = ["2026-01-01T03", "2026-01-02T03", "2026-11-01T03", "2026-11-02T03"];
    expect(kept(times, { daily: 3 })).toEqual(times.slice(1));
    expect(kept(times, { monthly: 2 })).toEqual(["2026-01-02T03", "2026-11-02T03"]);
  });

  test("is seven days, five weeks and twelve months of a year of daily ones", () => {
    const times = Array.from({ length: 400 }, (_, day) => Date.parse("2026-11-23T03:00:00Z") - day * DAY_MS);
    const found = keptTimes(times, { last: 3, daily: 7, weekly: 5, monthly: 12 });
    const days = times.filter((time) => found.has(time)).map((time) => new Date(time).toISOString().slice(0, 10));
    expect(days.join(" ")).toBe(
      "2026-11-23 2026-11-22 2026-11-21 2026-11-20 2026-11-19 2026-11-18 2026-11-17 " +
        "2026-11-15 2026-11-08 2026-11-01 " +
        "2026-10-31 2026-09-30 2026-08-31 2026-07-31 2026-06-30 2026-05-31 2026-04-30 " +
        "2026-03-31 2026-02-28 2026-01-31 2025-12-31",
    );
  });

  test("is the newest one whenever anything is, and pruning twice removes nothing more", () => {
    const count = fc.nat({ max: 4 });
    const retention = fc.record({ last: count, daily: count, weekly: count, monthly: count });
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 4e12 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(times, retention, (all, wanted) => {
        const first = keptTimes(all, wanted);
        const isAny = Object.values(wanted).some((each) => each > 0);
        expect(first.has(Math.max(...all))).toBe(isAny);
        expect(keptTimes([...first], wanted)).toEqual(first);
      }),
    );
  });
});
