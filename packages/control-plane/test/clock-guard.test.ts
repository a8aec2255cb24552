import { beforeEach, describe, expect, test } from "@jest/globals";
import { ClockGuard } from "../src/session/clock-guard.ts";
import { StepClock } from "./doubles.ts";

let clock: StepClock;
let guard: ClockGuard;
let voters: number;

beforeEach(() => {
  clock = new StepClock();
  voters = 3;
  guard = new ClockGuard(clock, () => voters);
});

/** Peers report clocks that differ from this node's by so much. */
function report(...offsetsMs: number[]): void {
  offsetsMs.forEach((offsetMs, at) => guard.onReport(`peer-${at}`, clock.wallMs() + offsetMs));
}

describe("the clock guard", () => {
  test.each<[string, number[], number]>([
    ["nobody reports", [], 0],
    ["all agree", [0, 0], 0],
    ["this clock is behind", [9000, 9000], 0],
    ["one of two others is far behind", [-60_000, 0], 0],
    ["both others are behind", [-6000, -7000], 6000],
    ["the only other is behind: of two clocks the lower one counts", [-6000], 6000],
    ["the only other is ahead", [60_000], 0],
    ["two of four others are behind", [-9000, -9000, 0, 0], 0],
    ["three of four others are behind", [-9000, -8000, -7000, 0], 7000],
  ])("%s", (_what, offsets, aheadMs) => {
    report(...offsets);
    expect(guard.aheadOfMedianMs()).toBe(aheadMs);
  });

  test("lets a clock stamp that is exactly 5 s ahead, and none beyond", () => {
    report(-5000, -5000);
    expect(guard.isSafe()).toBe(true);
    report(-5001, -5001);
    expect(guard.isSafe()).toBe(false);
  });

  test("believes reports for 2 s", () => {
    report(-6000, -6000);
    clock.advance(2000);
    expect(guard.aheadOfMedianMs()).toBe(6000);
    clock.advance(1);
    expect(guard.aheadOfMedianMs()).toBe(0);
  });

  test("forgets a peer that is gone", () => {
    report(-6000);
    guard.onPeerDown("peer-0");
    expect(guard.aheadOfMedianMs()).toBe(0);
  });

  test.each<[number, number, boolean]>([
    [1, 0, true],
    [2, 0, false],
    [2, 1, true],
    [3, 0, false],
    [3, 1, true],
    [4, 1, false],
    [4, 2, true],
    [5, 1, false],
    [5, 2, true],
  ])("of %i voters, with %i others heard: may it stamp? %s", (count, heard, isSafe) => {
    voters = count;
    report(...Array.from({ length: heard }, () => 0));
    expect(guard.isSafe()).toBe(isSafe);
  });

  test("lets no clock stamp that nobody has confirmed for 2 s, until one is heard again", () => {
    report(0, 0);
    clock.advance(2000);
    expect(guard.isSafe()).toBe(true);
    clock.advance(1);
    expect(guard.isSafe()).toBe(false);
    report(0);
    expect(guard.isSafe()).toBe(true);
    guard.onPeerDown("peer-0");
    expect(guard.isSafe()).toBe(false);
  });

  test("sees a jump of the own clock at once, without new reports", () => {
    report(0, 0);
    clock.advance(500);
    expect(guard.aheadOfMedianMs()).toBe(0);
    clock.wall += 3_600_000;
    expect(guard.isSafe()).toBe(false);
    clock.wall -= 7_200_000;
    expect(guard.isSafe()).toBe(true);
  });
});
