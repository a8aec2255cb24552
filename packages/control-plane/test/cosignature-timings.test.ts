import { describe, expect, test } from "@jest/globals";
import { CosignatureTimings } from "../src/observing/cosignature-timings.ts";

function timed(): { timings: CosignatureTimings; seen: [string, number][] } {
  const seen: [string, number][] = [];
  return { timings: new CosignatureTimings((peer, seconds) => seen.push([peer, seconds])), seen };
}

describe("a peer's cosignature", () => {
  test("is timed from this node's own decision", () => {
    const { timings, seen } = timed();
    timings.reached(5, 1000);
    timings.arrived("b", 5, 1250);
    timings.arrived("c", 5, 1500);
    expect(seen).toEqual([
      ["b", 0.25],
      ["c", 0.5],
    ]);
  });

  test("that was first took no time, however late this node is", () => {
    const { timings, seen } = timed();
    timings.arrived("b", 5, 1000);
    timings.reached(5, 9000);
    expect(seen).toEqual([["b", 0]]);
  });

  test("that is said again is not timed again", () => {
    const { timings, seen } = timed();
    timings.reached(5, 1000);
    for (const nowMs of [1010, 1060, 1110]) timings.arrived("b", 5, nowMs);
    expect(seen).toHaveLength(1);
  });

  test("of an entry decided twice counts from the first time", () => {
    const { timings, seen } = timed();
    timings.reached(5, 1000);
    timings.reached(5, 2000);
    timings.arrived("b", 5, 3000);
    expect(seen).toEqual([["b", 2]]);
  });

  test("of entries without end takes bounded room: the oldest are forgotten", () => {
    const { timings, seen } = timed();
    timings.reached(1, 1000);
    for (let index = 2; index < 2000; index++) timings.arrived("b", index, 1000);
    seen.length = 0;
    timings.arrived("c", 1, 3000);
    expect(seen).toEqual([["c", 0]]);
  });
});
