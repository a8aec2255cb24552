import { describe, expect, test } from "@jest/globals";
import { RFC_3339_MS_MAX, formatRfc3339, parseRfc3339 } from "@event-anchoring/api-contract";

test("agrees with the platform's own calendar on days all over it", () => {
  for (let timeMs = 0; timeMs <= RFC_3339_MS_MAX; timeMs += 86_400_000 * 97 + 12_345_678) {
    const text = formatRfc3339(timeMs);
    expect(text).toBe(new Date(timeMs).toISOString());
    expect(parseRfc3339(text)).toBe(timeMs);
  }
  expect(formatRfc3339(RFC_3339_MS_MAX)).toBe("9999-12-31T23:59:59.999Z");
});

describe("reads", () => {
  test.each([
    ["1970-01-01T00:00:00Z", 0],
    ["2024-02-29T23:59:59.999Z", Date.UTC(2024, 1, 29, 23, 59, 59, 999)],
    ["2026-11-21T01:02:03+02:30", Date.UTC(2026, 10, 20, 22, 32, 3)],
    ["2026-11-21T01:02:03-00:00", Date.UTC(2026, 10, 21, 1, 2, 3)],
    ["2026-11-21t01:02:03.5z", Date.UTC(2026, 10, 21, 1, 2, 3, 500)],
    ["2026-11-21T01:02:03.123456789Z", Date.UTC(2026, 10, 21, 1, 2, 3, 123)],
  ])("%s", (text, timeMs) => {
    expect(parseRfc3339(text)).toBe(timeMs);
  });
});

describe("refuses", () => {
  test.each([
    "",
    "2026-11-21",
    "2026-11-21T01:02:03",
    "2026-11-21 01:02:03Z",
    "2026-11-21T01:02Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-11-00T00:00:00Z",
    "2026-11-21T24:00:00Z",
    "2026-11-21T00:60:00Z",
    "2026-11-21T23:59:60Z",
    "2026-11-21T00:00:00+24:00",
    "2026-11-21T00:00:00+0000",
    "2026-11-21T00:00:00.Z",
    "2026-11-21T00:00:00,5Z",
    "+02026-11-21T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "2026-11-21T00:00:00Z\n",
    " 2026-11-21T00:00:00Z",
    "٢٠٢٦-11-21T00:00:00Z",
  ])("%j", (text) => {
    expect(parseRfc3339(text)).toBeNull();
  });

  test.each([-1, 0.5, RFC_3339_MS_MAX + 1, Number.NaN, Number.POSITIVE_INFINITY])("to write %d ms", (timeMs) => {
    expect(() => formatRfc3339(timeMs)).toThrow(RangeError);
  });
});
