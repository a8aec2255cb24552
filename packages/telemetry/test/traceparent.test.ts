import { describe, expect, test } from "@jest/globals";
import { parseTraceparent } from "../src/index.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("traceparent", () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])("%s is continued", (header, isSampled) => {
    expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
  });

  test.each<[string, string | readonly string[] | undefined]>([
    ["nothing", undefined],
    ["an empty header", ""],
    ["two headers", [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
    ["two headers joined", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["version ff", `ff-${TRACE}-${SPAN}-01`],
    ["a short trace id", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["no flags", `00-${TRACE}-${SPAN}`],
    ["more than version 00 has", `00-${TRACE}-${SPAN}-01-more`],
    ["a version that is no hex", `0x-${TRACE}-${SPAN}-01`],
    ["spaces around it", ` 00-${TRACE}-${SPAN}-01 `],
    ["a line feed behind it", `00-${TRACE}-${SPAN}-01\n`],
    ["endless fields", `cc-${TRACE}-${SPAN}-01-${"x".repeat(10_000)}`],
  ])("%s is passed over", (_what, header) => {
    expect(parseTraceparent(header)).toBeNull();
  });
});
