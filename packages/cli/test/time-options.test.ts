import { describe, expect, test } from "@jest/globals";
import { durationText, parseDuration, parseExpiry } from "../src/terminal/time-options.ts";

describe("durations", () => {
  test.each([
    ["0s", 0, "0ms"],
    ["250ms", 250, "250ms"],
    ["90s", 90_000, "90s"],
    ["120s", 120_000, "2m"],
    ["24h", 86_400_000, "1d"],
    ["7d", 604_800_000, "1w"],
    ["1y", 31_536_000_000, "365d"],
  ])("%s is %i ms, said as %s", (text, ms, said) => {
    expect([parseDuration("--overlap", text), durationText(ms)]).toEqual([ms, said]);
  });

  test.each(["", "1", "h", "1 h", "-1h", "1.5h", "1H", "1d2h", "999999999999y", "0x10s"])("%j is none", (text) => {
    expect(() => parseDuration("--overlap", text)).toThrow("--overlap takes a duration");
  });
});

describe("an expiry", () => {
  const now = Date.parse("2026-11-21T00:00:00Z");

  test.each([
    ["never", 0],
    ["1d", now + 86_400_000],
    ["2026-11-21T00:00:00.001Z", now + 1],
    ["2026-11-21T01:30:00+01:00", now + 1_800_000],
    ["2028-02-29T00:00:00Z", Date.parse("2028-02-29T00:00:00Z")],
  ])("%s is a time to come, or none", (text, expiresMs) => {
    expect(parseExpiry("--expires", text, now)).toBe(expiresMs);
  });

  test.each([
    "2026-11-21T00:00:00Z",
    "2026-11-20T23:59:59Z",
    "2027-02-29T00:00:00Z",
    "2027-13-01T00:00:00Z",
    "2027-01-01T25:00:00Z",
    "2027-01-01",
    "2027-01-01T00:00:00",
    "0s",
    "9999y",
    "NEVER",
  ])("%s is refused", (text) => {
    expect(() => parseExpiry("--expires", text, now)).toThrow("--expires takes never");
  });
});
